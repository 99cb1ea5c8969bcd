/**
 * A20: all floods of strangers at once, for as long as one likes, while somebody with a good token asks for tokens. Says whether
 * it is the same process, how much memory it has more of, whether anybody was refused, and how long they waited. `floods`
 * measures them one by one, and against what the machine takes; this is for what only shows after a while.
 *
 *   npm run bench -- flood-soak [seconds] [attempts a second of each]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFloods } from '../test/e2e/support/hostile-floods.ts';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { FloodJob, FloodOutcome } from './flood-client.ts';
import { memoryOf, yieldToOthers } from './support/cpu.ts';
import { Answers, GoodClient } from './support/good-client.ts';
import { at } from './support/numbers.ts';

const [seconds = '600', rate = '20'] = process.argv.slice(2);
const GROWTH_GOAL = 1.2;
const ASK_MS = 10;
const QUIET_SECONDS = 20;
/** In which the heap finds its size: that takes some 20,000 tokens, whether there are floods or not. */
const WARM = { seconds: 30, askMs: 1 };
const SETTLE_MS = 5_000;
const PROBE = new URL('support/collect-probe.mjs', import.meta.url).href;

const groups = ['system:masters'];
const users = { good: groups, bad: groups };
const server = await startServer({
  users,
  args: ['--demo', '--log-level', 'error'],
  tls: true,
  launcher: true,
  env: { NODE_OPTIONS: `--import ${PROBE}` },
});
const port = Number(new URL(server.url).port);
const client = new GoodClient(port, 'good');
// Those of somebody with a good token are within that caller's share, and not what this is about.
const floods = createFloods('').map(({ name }, place) => ({ name, place }));
const strangers = floods.filter(({ name }) => name.startsWith('A20') || name.startsWith('A21'));
const flooders = await Promise.all(
  strangers.map(async ({ place }) => {
    const child = fork(fileURLToPath(new URL('flood-client.ts', import.meta.url)));
    await once(child, 'message');
    yieldToOthers(child.pid ?? 0);
    return { child, place };
  }),
);

async function floodAll(forSeconds: number): Promise<number> {
  const outcomes = flooders.map(async ({ child, place }) => {
    const told = once(child, 'message') as Promise<[FloodOutcome]>;
    const job: FloodJob = { port, token: tokenOf('bad'), flood: place, seconds: forSeconds, rate: Number(rate) };
    child.send(job);
    return (await told)[0].attempts;
  });
  return (await Promise.all(outcomes)).reduce((sum, attempts) => sum + attempts, 0);
}

/** What stays: V8 has tens of megabytes lying around that nothing refers to any more, more or less of them from minute to minute. */
async function collectedMemory(): Promise<number> {
  process.kill(server.pid, 'SIGUSR2');
  await delay(SETTLE_MS);
  return memoryOf(server.pid).now;
}

const p99 = ({ times }: Answers): string => at(times, 0.99).toFixed(1);
console.log(`A20, ${strangers.length} floods together for ${seconds} s, ${rate} attempts a second of each`);
await client.askDuring(floodAll(WARM.seconds), WARM.askMs, new Answers());
await delay(SETTLE_MS);
const quiet = new Answers();
await client.askFor(QUIET_SECONDS, ASK_MS, quiet);
const before = await collectedMemory();
const under = new Answers();
const attempts = await client.askDuring(floodAll(Number(seconds)), ASK_MS, under);
await delay(SETTLE_MS);
const uncollected = memoryOf(server.pid).now;
const after = await collectedMemory();
console.log(`attempts   ${attempts}`);
console.log(
  `process    the same, ${before.toFixed(0)} MB before and ${after.toFixed(0)} MB after; ${uncollected.toFixed(0)} MB before what was garbage was collected`,
);
console.log(
  `others     ${under.times.length} tokens, ${under.failed} failed, p99 ${p99(under)} ms (${p99(quiet)} ms without floods)`,
);
for (const { child } of flooders) child.disconnect();
client.close();
await server.destroy();
const holds = under.failed === 0 && after <= before * GROWTH_GOAL;
console.log(holds ? 'holds' : `does not hold (memory at most ${GROWTH_GOAL} times, no failure)`);
process.exit(holds ? 0 : 1);
