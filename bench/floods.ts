/**
 * A20: floods of everything that once ended, filled or held up a server of this kind, one after the other against the real
 * program over TLS, while somebody with a good token asks for tokens. Says whether it is the same process, how much memory
 * it has more of, and how long the other one had to wait.
 *
 * Who floods, who asks and who serves share one machine here, so with a flood everybody also waits for a processor, whatever
 * the server does. Who floods therefore stands back for the others, as far as the system lets it, and what is left of that
 * is measured: for half of the time, in turns, the same flood goes to a second server beside the one that is asked. The wait
 * under a flood is compared with the wait beside one.
 *
 *   npm run bench -- floods [seconds of each] [attempts a second, 0 for as many as there can be] [word in the name]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFloods } from '../test/e2e/support/hostile-floods.ts';
import { type Server, startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { FloodJob, FloodOutcome } from './flood-client.ts';
import { cpuOf, memoryOf, yieldToOthers } from './support/cpu.ts';
import { Answers, GoodClient } from './support/good-client.ts';
import { at } from './support/numbers.ts';

const [seconds = '60', rate = '200', word = ''] = process.argv.slice(2);
const GROWTH_GOAL = 1.2;
const P99_GOAL = 2;
/** How often the one with the good token asks: often enough for a 99th percentile of a thousand within ten seconds. */
const ASK_MS = 10;
/** How long a flood goes to one server before it goes to the other: what else the machine does changes, and hits both. */
const SLICE_SECONDS = 10;
/** Before that it goes on for so long uncounted: in the beginning an address has what it saved up, and that is soon spent. */
const LEAD_SECONDS = 2;
/** Between the two: what was sent last is still on its way. */
const PAUSE_MS = 500;
/** Long enough for what a flood left behind to be collected. */
const SETTLE_MS = 5_000;
const WARM_SECONDS = 4;

const groups = ['system:masters'];
const options = {
  users: { good: groups, bad: groups },
  args: ['--demo', '--log-level', 'error'],
  tls: true,
  launcher: true,
};
const server = await startServer(options);
const other = await startServer(options);
const portOf = ({ url }: Server): number => Number(new URL(url).port);
const client = new GoodClient(portOf(server), 'good');
const flooder = fork(fileURLToPath(new URL('flood-client.ts', import.meta.url)));
await once(flooder, 'message');
for (const { pid = 0 } of [flooder, other]) yieldToOthers(pid);

async function flood(which: Server, place: number, forSeconds: number): Promise<FloodOutcome> {
  const outcome = once(flooder, 'message') as Promise<[FloodOutcome]>;
  const job: FloodJob = {
    port: portOf(which),
    token: tokenOf('bad'),
    flood: place,
    seconds: forSeconds,
    rate: Number(rate),
  };
  flooder.send(job);
  return (await outcome)[0];
}

const isThere = (): boolean => {
  try {
    return process.kill(server.pid, 0);
  } catch {
    return false;
  }
};

interface Measured {
  readonly beside: Answers;
  readonly under: Answers;
  readonly attempts: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Processor time that went into one attempt, in microseconds. */
  readonly cost: number;
}

async function askUnder(flooding: Promise<FloodOutcome>, answers: Answers): Promise<FloodOutcome> {
  await client.askFor(LEAD_SECONDS, ASK_MS, new Answers());
  return client.askDuring(flooding, ASK_MS, answers);
}

async function measure(place: number): Promise<Measured> {
  const beside = new Answers();
  const under = new Answers();
  const ends: Record<string, number> = {};
  let attempts = 0;
  let cost = 0;
  let rest = Number(seconds);
  while (rest > 0 && isThere()) {
    const slice = Math.min(rest, SLICE_SECONDS);
    rest -= slice;
    // What the others cost without a flood, in the same time.
    let from = cpuOf(server.pid);
    await askUnder(flood(other, place, LEAD_SECONDS + slice), beside);
    cost -= cpuOf(server.pid) - from;
    await delay(PAUSE_MS);
    from = cpuOf(server.pid);
    const outcome = await askUnder(flood(server, place, LEAD_SECONDS + slice), under);
    if (isThere()) cost += cpuOf(server.pid) - from;
    attempts += outcome.attempts;
    for (const [end, count] of Object.entries(outcome.ends)) ends[end] = (ends[end] ?? 0) + count;
    await delay(PAUSE_MS);
  }
  return { beside, under, attempts, ends, cost: Math.max(0, cost) / attempts };
}

const floods = createFloods('').map(({ name }, place) => ({ name, place }));
const chosen = floods.filter(({ name }) => name.includes(word));
console.log(`A20, ${seconds} s of each at ${rate === '0' ? 'full speed' : `${rate} attempts a second`}`);
// A server that has just started compiles, and its heap finds its size: neither is what a flood leaves behind.
for (const { place } of chosen) {
  for (const which of [server, other]) {
    await client.askDuring(flood(which, place, WARM_SECONDS), ASK_MS, new Answers());
  }
}
await delay(SETTLE_MS);
const quiet = new Answers();
await client.askFor(Math.min(30, Number(seconds)), ASK_MS, quiet);
const first = memoryOf(server.pid).now;
const p99 = ({ times }: Answers): number => at(times, 0.99);
console.log(`without a flood: p99 ${p99(quiet).toFixed(1)} ms of ${quiet.times.length}, ${first.toFixed(0)} MB`);
const HEAD = [
  'flood',
  'attempts',
  'how they ended',
  'processor time for each',
  'p99 of others beside it, ms',
  'under it, ms',
  'times',
  'MB before, after',
  '',
];
console.log(`| ${HEAD.join(' | ')} |\n|${'---|'.repeat(HEAD.length)}`);
let allHold = true;
for (const { name, place } of chosen) {
  const before = memoryOf(server.pid).now;
  const { beside, under, attempts, ends, cost } = await measure(place);
  if (!isThere()) {
    console.log(`| ${name} | ${attempts} | THE SERVER ENDED | | | | | | |\n${server.output.stderr}`);
    process.exit(1);
  }
  await delay(SETTLE_MS);
  const after = memoryOf(server.pid).now;
  const times = p99(under) / p99(beside);
  const problems = [
    ...(under.failed > 0 ? [`${under.failed} of ${under.times.length} others failed`] : []),
    ...(times > P99_GOAL ? ['p99'] : []),
    // A heap that shrank since the beginning may grow to where it was.
    ...(after > Math.max(before, first) * GROWTH_GOAL ? [`memory ${(after / first).toFixed(2)} times`] : []),
  ];
  if (problems.length > 0) allHold = false;
  const cells = [
    name,
    attempts,
    Object.entries(ends)
      .map(([end, count]) => `${end}: ${count}`)
      .join(', '),
    `${cost.toFixed(0)} µs`,
    p99(beside).toFixed(1),
    p99(under).toFixed(1),
    times.toFixed(1),
    `${before.toFixed(0)}, ${after.toFixed(0)}`,
    problems.length === 0 ? 'holds' : problems.join(', '),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
const last = memoryOf(server.pid).now;
const total = last / first;
if (total > GROWTH_GOAL) allHold = false;
console.log(`after all of them: the same process, ${last.toFixed(0)} MB, ${total.toFixed(2)} times what it was`);
console.log(
  allHold ? 'holds' : `does not hold (p99 at most ${P99_GOAL} times, memory ${GROWTH_GOAL} times, no failure)`,
);
client.close();
flooder.disconnect();
await Promise.all([server.destroy(), other.destroy()]);
process.exit(allHold ? 0 : 1);
