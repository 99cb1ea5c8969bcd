/**
 * A20: floods of requests that have crashed, filled or blocked an API server, one after the other, against
 * the real program over TLS, while another client requests tokens. Prints whether the process survived, how its memory
 * grew, and how long the other client waited.
 *
 * Flood, client and server share one machine, so a flood takes processor time from the client, also when the server is
 * not affected. The flooding process therefore has the lowest priority, and the rest of the effect is measured: half of
 * the time, in alternation, the same flood goes to a second server. The latency under a flood is compared with that
 * beside one.
 *
 *   npm run bench -- floods [seconds of each] [attempts a second, 0 for as many as possible] [word in the name]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFloods } from '../../test/e2e/support/hostile-floods.ts';
import { type Server, startServer } from '../../test/e2e/support/server.ts';
import { cpuOf, lowerPriority, memoryOf } from '../support/cpu.ts';
import type { FloodOutcome } from '../support/flood-client.ts';
import { FLOODING_USER, Flooder, MEASURED_USER } from '../support/flooder.ts';
import { percentile } from '../support/numbers.ts';
import { Responses, SteadyClient } from '../support/steady-client.ts';

const [seconds = '60', rate = '200', word = ''] = process.argv.slice(2);
const GROWTH_GOAL = 1.2;
const P99_GOAL = 2;
/** Interval of the client's requests: a thousand in ten seconds, enough for a 99th percentile. */
const INTERVAL_MS = 10;
/** How long a flood goes to one server before it goes to the other. */
const SLICE_SECONDS = 10;
/** Start of each flood that is not counted: an address first spends the burst of its rate limit. */
const LEAD_SECONDS = 2;
/** Between two slices, for requests that are still under way. */
const PAUSE_MS = 500;
/** After a flood, for the garbage collector. */
const SETTLE_MS = 5_000;
const WARM_UP_SECONDS = 4;

const groups = ['system:masters'];
const options = {
  users: { [MEASURED_USER]: groups, [FLOODING_USER]: groups },
  args: ['--demo', '--log-level', 'error'],
  tls: true,
  launcher: true,
};
const server = await startServer(options);
const other = await startServer(options);
const portOf = ({ url }: Server): number => Number(new URL(url).port);
const client = new SteadyClient(portOf(server), MEASURED_USER);
const flooder = await Flooder.start();
lowerPriority(other.pid);

const flood = (target: Server, index: number, forSeconds: number): Promise<FloodOutcome> =>
  flooder.flood(portOf(target), { flood: index, seconds: forSeconds, rate: Number(rate) });

const isAlive = (): boolean => {
  try {
    return process.kill(server.pid, 0);
  } catch {
    return false;
  }
};

interface Measured {
  readonly beside: Responses;
  readonly under: Responses;
  readonly attempts: number;
  readonly ends: Readonly<Record<string, number>>;
  /** CPU time of the server for one attempt, in microseconds. */
  readonly cost: number;
}

async function sendDuring(flooding: Promise<FloodOutcome>, responses: Responses): Promise<FloodOutcome> {
  await client.sendFor(LEAD_SECONDS, INTERVAL_MS, new Responses());
  return client.sendDuring(flooding, INTERVAL_MS, responses);
}

async function measure(index: number): Promise<Measured> {
  const beside = new Responses();
  const under = new Responses();
  const ends: Record<string, number> = {};
  let attempts = 0;
  let cost = 0;
  let rest = Number(seconds);
  while (rest > 0 && isAlive()) {
    const slice = Math.min(rest, SLICE_SECONDS);
    rest -= slice;
    // CPU time of the client's requests alone, which is subtracted.
    let from = cpuOf(server.pid);
    await sendDuring(flood(other, index, LEAD_SECONDS + slice), beside);
    cost -= cpuOf(server.pid) - from;
    await sleep(PAUSE_MS);
    from = cpuOf(server.pid);
    const outcome = await sendDuring(flood(server, index, LEAD_SECONDS + slice), under);
    if (isAlive()) cost += cpuOf(server.pid) - from;
    attempts += outcome.attempts;
    for (const [end, count] of Object.entries(outcome.ends)) ends[end] = (ends[end] ?? 0) + count;
    await sleep(PAUSE_MS);
  }
  return { beside, under, attempts, ends, cost: Math.max(0, cost) / attempts };
}

const floods = createFloods('').map(({ name }, index) => ({ name, index }));
const chosen = floods.filter(({ name }) => name.includes(word));
console.log(`A20, ${seconds} s of each at ${rate === '0' ? 'full speed' : `${rate} attempts a second`}`);
// A warm-up for the compiler and the size of the heap.
for (const { index } of chosen) {
  for (const target of [server, other]) {
    await client.sendDuring(flood(target, index, WARM_UP_SECONDS), INTERVAL_MS, new Responses());
  }
}
await sleep(SETTLE_MS);
const quiet = new Responses();
await client.sendFor(Math.min(30, Number(seconds)), INTERVAL_MS, quiet);
const first = memoryOf(server.pid).now;
const p99 = ({ times }: Responses): number => percentile(times, 0.99);
console.log(`without a flood: p99 ${p99(quiet).toFixed(1)} ms of ${quiet.times.length}, ${first.toFixed(0)} MB`);
const HEAD = [
  'flood',
  'attempts',
  'how they ended',
  'CPU time of each',
  'p99 of the client beside it, ms',
  'under it, ms',
  'times',
  'MB before, after',
  'result',
];
console.log(`| ${HEAD.join(' | ')} |\n|${'---|'.repeat(HEAD.length)}`);
let allHold = true;
for (const { name, index } of chosen) {
  const before = memoryOf(server.pid).now;
  const { beside, under, attempts, ends, cost } = await measure(index);
  if (!isAlive()) {
    console.log(`| ${name} | ${attempts} | THE SERVER EXITED | | | | | | |\n${server.output.stderr}`);
    process.exit(1);
  }
  await sleep(SETTLE_MS);
  const after = memoryOf(server.pid).now;
  const times = p99(under) / p99(beside);
  const problems = [
    ...(under.failed > 0 ? [`${under.failed} of ${under.times.length} requests of the client failed`] : []),
    ...(times > P99_GOAL ? ['p99'] : []),
    // A heap that has shrunk since the start may grow back to that size.
    ...(after > Math.max(before, first) * GROWTH_GOAL ? [`memory ${(after / first).toFixed(2)} times`] : []),
  ];
  if (problems.length > 0) allHold = false;
  const cells = [
    name,
    attempts,
    Object.entries(ends)
      .map(([end, count]) => `${end}: ${count}`)
      .join(', '),
    `${cost.toFixed(0)} us`,
    p99(beside).toFixed(1),
    p99(under).toFixed(1),
    times.toFixed(1),
    `${before.toFixed(0)}, ${after.toFixed(0)}`,
    problems.length === 0 ? 'holds' : `MISSED: ${problems.join(', ')}`,
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
const last = memoryOf(server.pid).now;
const total = last / first;
if (total > GROWTH_GOAL) allHold = false;
console.log(`after all of them: the same process, ${last.toFixed(0)} MB, ${total.toFixed(2)} times the start`);
const goal = `p99 at most ${P99_GOAL} times, memory at most ${GROWTH_GOAL} times, no failed request`;
console.log(`goal: ${goal}: ${allHold ? 'holds' : 'MISSED'}`);
client.close();
flooder.end();
await Promise.all([server.destroy(), other.destroy()]);
process.exit(allHold ? 0 : 1);
