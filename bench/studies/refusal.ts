/**
 * B15: CPU time of the server for a refused request (429), beside that for a token.
 *
 *   npm run bench -- refusal [seconds for each part] [rounds]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { honest, newTestKey, startTestSigner } from '../../src/tokens/external/signer.fixture.ts';
import { type Server, startServer } from '../../test/e2e/support/server.ts';
import { cpuOf } from '../support/cpu.ts';
import { DEMO_TOKEN_BODY, DEMO_TOKEN_PATH, demoTokenRequest } from '../support/demo-tokens.ts';
import { startLoad } from '../support/load.ts';
import { median } from '../support/numbers.ts';

const [seconds = '5', rounds = '3'] = process.argv.slice(2);
/** They occupy every seat of the full server. */
const HOLDERS = ['h0', 'h1', 'h2', 'h3'];
/** So many that the limit of refusals for one caller is not reached: beyond it, a refusal is delayed. */
const CALLERS = Array.from({ length: 60 }, (_, index) => `caller-${index}`);
const CONNECTIONS = 32;
const GOAL = 0.5;

const users = Object.fromEntries([...HOLDERS, ...CALLERS].map((name) => [name, ['system:masters']]));
const args = ['--demo', '--log-level', 'warn', '--queue-length-per-caller', '0'];
const open = await startServer({ users, args });
/** A signer that does not sign: a token request keeps its seat until the server gives up waiting. */
const folder = await mkdtemp(join(tmpdir(), 'clusterpass-refusal-'));
const respond = honest(newTestKey('key-1'));
const signer = await startTestSigner(join(folder, 'signer.sock'), (request) =>
  request.op === 'keys' ? respond(request) : undefined,
);
const seats = ['--max-token-requests-inflight', String(HOLDERS.length), '--external-signer', `unix:${signer.path}`];
const full = await startServer({ users, args: [...args, ...seats] });
const portOf = ({ url }: Server): number => Number(new URL(url).port);

/** Keeps one request in flight. */
function hold(user: string): () => void {
  let stopped = false;
  let current: Socket | undefined;
  const connectAgain = (): void => {
    if (stopped) return;
    const socket = connect(portOf(full), '127.0.0.1', () => socket.write(demoTokenRequest(user)));
    current = socket;
    // After a response the request does not occupy a seat any more.
    socket.on('data', () => socket.destroy()).on('error', () => {});
    socket.once('close', connectAgain);
  };
  connectAgain();
  return () => {
    stopped = true;
    current?.destroy();
  };
}

/** CPU time of the server for each response. Fails unless 99 % of the responses have this status. */
async function cost(server: Server, connections: number, status: string): Promise<number> {
  const before = cpuOf(server.pid);
  const { codes } = await startLoad({
    port: portOf(server),
    requests: CALLERS.map(demoTokenRequest),
    connections,
    seconds: Number(seconds),
  });
  const used = cpuOf(server.pid) - before;
  const count = codes[status] ?? 0;
  const others = Object.entries(codes).filter(([code, n]) => code !== status && n > 0.01 * count);
  if (others.length > 0) throw new Error(`expected only ${status}: ${JSON.stringify(codes)}`);
  return used / count;
}

const releases = HOLDERS.map(hold);
while ((await full.call('POST', DEMO_TOKEN_PATH, { body: DEMO_TOKEN_BODY })).code !== 429) await sleep(50);
// The first of each is the warm-up.
await cost(open, CONNECTIONS, '201');
await cost(full, CALLERS.length, '429');
const ratios: number[] = [];
console.log('B15, CPU time of the server');
for (let round = 0; round < Number(rounds); round += 1) {
  const token = await cost(open, CONNECTIONS, '201');
  const refusal = await cost(full, CALLERS.length, '429');
  ratios.push(refusal / token);
  console.log(`round ${round + 1}    token ${token.toFixed(0)} us, 429 ${refusal.toFixed(0)} us`);
}
const ratio = median(ratios);
const holds = ratio <= GOAL;
console.log(`a 429 costs ${ratio.toFixed(2)} of a token (median); goal at most ${GOAL}: ${holds ? 'holds' : 'MISSED'}`);
for (const release of releases) release();
await Promise.all([open.destroy(), full.destroy(), signer.close()]);
await rm(folder, { recursive: true, force: true });
process.exit(holds ? 0 : 1);
