/**
 * A20: floods of everything that once ended, filled or held up a server of this kind, one after the other against the real
 * program over TLS, while somebody with a good token asks for tokens. Says whether it is the same process, how much memory
 * it has more of, and how long the other one had to wait.
 *
 *   npm run bench -- floods [seconds of each] [attempts a second, 0 for as many as there can be] [word in the name]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFloods } from '../test/e2e/support/hostile-floods.ts';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { FloodJob, FloodOutcome } from './flood-client.ts';
import { cpuOf, memoryOf } from './support/cpu.ts';
import { at } from './support/numbers.ts';

const [seconds = '60', rate = '200', word = ''] = process.argv.slice(2);
const GROWTH_GOAL = 1.2;
const P99_GOAL = 2;
/** How often the one with the good token asks. */
const ASK_MS = 50;
/** Long enough for what a flood left behind to be collected. */
const SETTLE_MS = 5_000;
const WARM_SECONDS = 4;

const groups = ['system:masters'];
const users = { good: groups, bad: groups };
const args = ['--demo', '--log-level', 'error'];
const server = await startServer({ users, args, tls: true });
const port = Number(new URL(server.url).port);
const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const body = '{"spec":{"audiences":["bench"]}}';
const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });

function ask(again = true): Promise<number> {
  const headers = {
    Authorization: `Bearer ${tokenOf('good')}`,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  };
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: '127.0.0.1', method: 'POST', path, headers }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.once('error', (error: NodeJS.ErrnoException) => {
      // A kept connection may be closed by the server just as it is used again: whoever keeps connections asks once more.
      if (again && asked.reusedSocket && error.code === 'ECONNRESET') ask(false).then(resolve, reject);
      else reject(error);
    });
    asked.end(body);
  });
}

interface Asked {
  readonly p99: number;
  readonly failed: number;
  readonly count: number;
}

/** Asks until the other thing is over. Whoever has to wait does not ask less often because of it. */
async function askDuring(other: Promise<unknown>): Promise<Asked> {
  const times: number[] = [];
  let failed = 0;
  const asking = new Set<Promise<void>>();
  const timer = setInterval(() => {
    const from = performance.now();
    const one = ask()
      .then((code) => {
        times.push(performance.now() - from);
        if (code !== 201) failed += 1;
      })
      .catch(() => {
        failed += 1;
      })
      .finally(() => asking.delete(one));
    asking.add(one);
  }, ASK_MS);
  await other;
  clearInterval(timer);
  await Promise.all(asking);
  return { p99: at(times, 0.99), failed, count: times.length };
}

async function flood(place: number, forSeconds: number): Promise<FloodOutcome> {
  const child = fork(fileURLToPath(new URL('flood-client.ts', import.meta.url)));
  const outcome = once(child, 'message') as Promise<[FloodOutcome]>;
  const job: FloodJob = { port, token: tokenOf('bad'), flood: place, seconds: forSeconds, rate: Number(rate) };
  child.send(job);
  return (await outcome)[0];
}

const isThere = (): boolean => {
  try {
    return process.kill(server.pid, 0);
  } catch {
    return false;
  }
};

const floods = createFloods('').map(({ name }, place) => ({ name, place }));
const chosen = floods.filter(({ name }) => name.includes(word));
console.log(`A20, ${seconds} s of each at ${rate === '0' ? 'full speed' : `${rate} attempts a second`}`);
// A server that has just started compiles, and its heap finds its size: neither is what a flood leaves behind.
for (const { place } of chosen) await askDuring(flood(place, WARM_SECONDS));
await delay(SETTLE_MS);
const quietFrom = [performance.now(), cpuOf(server.pid)] as const;
const quiet = await askDuring(delay(Math.min(30, Number(seconds)) * 1000));
/** What the others cost, in microseconds for each millisecond. */
const quietCpu = (cpuOf(server.pid) - quietFrom[1]) / (performance.now() - quietFrom[0]);
const first = memoryOf(server.pid).now;
console.log(`without a flood: p99 ${quiet.p99.toFixed(1)} ms of ${quiet.count}, ${first.toFixed(0)} MB`);
console.log('| flood | attempts | how they ended | processor time for each | p99 of others | MB before, after | |');
console.log('|---|---|---|---|---|---|---|');
let allHold = true;
for (const { name, place } of chosen) {
  const before = memoryOf(server.pid).now;
  const from = [performance.now(), cpuOf(server.pid)] as const;
  const flooding = flood(place, Number(seconds));
  const others = await askDuring(flooding);
  const { attempts, ends } = await flooding;
  if (!isThere()) {
    console.log(`| ${name} | ${attempts} | THE SERVER ENDED | | | | |\n${server.output.stderr}`);
    process.exit(1);
  }
  const cost = (cpuOf(server.pid) - from[1] - quietCpu * (performance.now() - from[0])) / attempts;
  await delay(SETTLE_MS);
  const after = memoryOf(server.pid).now;
  const problems = [
    ...(others.failed > 0 ? [`${others.failed} of ${others.count} others failed`] : []),
    ...(others.p99 > quiet.p99 * P99_GOAL ? [`p99 ${(others.p99 / quiet.p99).toFixed(1)} times`] : []),
    // A heap that shrank since the beginning may grow to where it was.
    ...(after > Math.max(before, first) * GROWTH_GOAL ? [`memory ${(after / first).toFixed(2)} times`] : []),
  ];
  if (problems.length > 0) allHold = false;
  const how = Object.entries(ends).map(([end, count]) => `${end}: ${count}`);
  const cells = [
    attempts,
    how.join(', '),
    `${Math.max(0, cost).toFixed(0)} µs`,
    `${others.p99.toFixed(1)} ms`,
    `${before.toFixed(0)}, ${after.toFixed(0)}`,
  ];
  console.log(`| ${[name, ...cells, problems.length === 0 ? 'holds' : problems.join(', ')].join(' | ')} |`);
}
const last = memoryOf(server.pid).now;
const total = last / first;
if (total > GROWTH_GOAL) allHold = false;
console.log(`after all of them: the same process, ${last.toFixed(0)} MB, ${total.toFixed(2)} times what it was`);
console.log(
  allHold ? 'holds' : `does not hold (p99 at most ${P99_GOAL} times, memory ${GROWTH_GOAL} times, no failure)`,
);
agent.destroy();
await server.destroy();
process.exit(allHold ? 0 : 1);
