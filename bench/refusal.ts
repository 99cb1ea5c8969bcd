/**
 * B15: what a 429 costs the server, beside what a token costs it, in processor time: the same on a busy machine.
 *
 *   npm run bench -- refusal [seconds for each part] [rounds]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { Job, Outcome } from './overload-client.ts';
import { cpuOf } from './support/cpu.ts';
import { median } from './support/numbers.ts';

const [seconds = '5', rounds = '3'] = process.argv.slice(2);
/** They have all the places there are, and give none back. */
const HOLDERS = ['h0', 'h1', 'h2', 'h3'];
/** So many that none of them is refused more often than is answered at once. */
const ASKERS = Array.from({ length: 60 }, (_, index) => `asker-${index}`);
const GOAL = 0.5;

const users = Object.fromEntries([...HOLDERS, ...ASKERS].map((name) => [name, ['system:masters']]));
const args = ['--demo', '--log-level', 'warn', '--queue-length-per-caller', '0'];
const open = await startServer({ users, args });
const full = await startServer({ users, args: [...args, '--max-token-requests-inflight', String(HOLDERS.length)] });

const PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const body = '{"spec":{"audiences":["bench"]}}';
const request = (user: string, length: number): string =>
  [
    `POST ${PATH} HTTP/1.1`,
    'Host: bench',
    `Authorization: Bearer ${tokenOf(user)}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n');
const portOf = ({ url }: { url: string }): number => Number(new URL(url).port);

/** Asks with a body that never comes; when that has taken too long, again. */
function hold(user: string): () => void {
  let over = false;
  let socket: Socket | undefined;
  const ask = (): void => {
    if (over) return;
    const mine = connect(portOf(full), '127.0.0.1', () => mine.write(request(user, 1_000)));
    socket = mine;
    // Any answer means that it has no place.
    mine.on('data', () => mine.destroy()).on('error', () => {});
    mine.once('close', ask);
  };
  ask();
  return () => {
    over = true;
    socket?.destroy();
  };
}

async function cost(server: { url: string; pid: number }, connections: number, code: string): Promise<number> {
  const child = fork(fileURLToPath(new URL('overload-client.ts', import.meta.url)));
  const outcome = once(child, 'message') as Promise<[Outcome]>;
  const job: Job = {
    port: portOf(server),
    requests: ASKERS.map((name) => request(name, body.length) + body),
    connections,
    rate: 0,
    seconds: Number(seconds),
  };
  const before = cpuOf(server.pid);
  child.send(job);
  const [{ codes }] = await outcome;
  const used = cpuOf(server.pid) - before;
  const count = codes[code] ?? 0;
  const others = Object.entries(codes).filter(([other, n]) => other !== code && n > 0.01 * count);
  if (others.length > 0) throw new Error(`not only ${code}: ${JSON.stringify(codes)}`);
  return used / count;
}

const releases = HOLDERS.map(hold);
while ((await full.call('POST', PATH, { body })).code !== 429) await delay(50);
// The first of each only makes both warm.
await cost(open, 32, '201');
await cost(full, ASKERS.length, '429');
const ratios: number[] = [];
console.log('B15, processor time of the server');
for (let round = 0; round < Number(rounds); round += 1) {
  const token = await cost(open, 32, '201');
  const refusal = await cost(full, ASKERS.length, '429');
  ratios.push(refusal / token);
  console.log(`round ${round + 1}    token ${token.toFixed(0)} µs, 429 ${refusal.toFixed(0)} µs`);
}
const share = median(ratios);
console.log(`a 429 costs ${share.toFixed(2)} of a token (median of ${rounds}); the goal is at most ${GOAL}`);
for (const release of releases) release();
await Promise.all([open.destroy(), full.destroy()]);
process.exit(share <= GOAL ? 0 : 1);
