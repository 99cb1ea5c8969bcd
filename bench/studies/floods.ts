import { setTimeout as sleep } from 'node:timers/promises';
import { createFloods } from '../../test/e2e/support/hostile-floods.ts';
import { startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { requestText } from '../support/client.ts';
import { lowerPriority, memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { FloodOutcome } from '../support/flood.ts';
import { type Figure, percentile, type Settings } from '../support/measure.ts';
import { tokenPath } from '../support/objects.ts';
import { atEnd } from '../support/processes.ts';
import { watchFloods } from '../support/watch-floods.ts';

const GROWTH_GOAL = 1.2;
const P99_GOAL = 2;
const FLOOD_RATE = 200;
/** The client's requests a second: a thousand in ten seconds, enough for a 99th percentile. */
const CLIENT_RATE = 100;
const CLIENT_CONNECTIONS = 16;
/** How long a flood goes to one server before it goes to the other. */
const SLICE_SECONDS = 10;
/** Start of each flood that is not counted: an address first spends the burst of its rate limit. */
const LEAD_SECONDS = 2;
/** After a flood, for the garbage collector. */
const SETTLE_MS = 5_000;
const WARM_UP_SECONDS = 4;
/** The user of the client, and that of floods that need a token. */
const [MEASURED_USER, FLOODING_USER] = ['measured', 'flooder'];

async function startTarget() {
  const groups = ['system:masters'];
  const users = { [MEASURED_USER]: groups, [FLOODING_USER]: groups };
  const server = await startServer({ users, args: ['--demo', '--log-level', 'error'], tls: true, launcher: true });
  atEnd(() => server.destroy());
  return { pid: server.pid, port: Number(new URL(server.url).port) };
}
type Target = Awaited<ReturnType<typeof startTarget>>;

/** What a client gets while a flood goes to its server, or to the other. */
interface Slices {
  readonly times: number[];
  failed: number;
}

/**
 * A20: floods of requests that have crashed, filled or blocked an API server, one after the other, against the real
 * program over TLS, while another client requests tokens.
 *
 * Flood, client and server share one machine, so a flood takes processor time from the client, also when the server is
 * not affected. The flooding process therefore has the lowest priority, and the rest of the effect is measured: half of
 * the time, in alternation, the same flood goes to a second server. The latency under a flood is compared with that
 * beside one.
 *
 * Each flood takes ten times `--seconds`. `--rows WORD`: only those whose name contains the word.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  return [...(await watchFloods(settings)), ...(await requestFloods(settings))];
}

async function requestFloods({ seconds, rows, progress }: Settings): Promise<Figure[]> {
  const chosen = [...createFloods('').entries()].filter(([, { name }]) => name.includes(rows));
  if (chosen.length === 0) return [];
  const [server, other] = [await startTarget(), await startTarget()];
  const [client, flooder] = [new Driver(), new Driver()];
  for (const { pid } of [other, flooder]) lowerPriority(pid);
  const token = tokenOf(MEASURED_USER);
  const body = { spec: { audiences: ['bench'] } };
  const request = requestText('POST', tokenPath('prod-eu-1', 'ci', 'builder'), { token, body });

  const sendDuring = async (target: Target, flood: number, forSeconds: number, into: Slices): Promise<FloodOutcome> => {
    await client.send({ do: 'connect', port: server.port, connections: CLIENT_CONNECTIONS });
    const job = { port: target.port, token: tokenOf(FLOODING_USER), flood, rate: FLOOD_RATE };
    const flooding = flooder.send({ do: 'flood', ...job, seconds: LEAD_SECONDS + forSeconds });
    const requests = { same: request };
    const work = { requests, connections: CLIENT_CONNECTIONS, rate: CLIENT_RATE, seconds: LEAD_SECONDS + forSeconds };
    const { milliseconds, dueAt, codes } = await client.work(work);
    await client.send({ do: 'close' });
    into.times.push(...milliseconds.filter((_, index) => (dueAt[index] ?? 0) >= LEAD_SECONDS * 1000));
    into.failed += Object.entries(codes).reduce((sum, [code, count]) => sum + (code === '201' ? 0 : count), 0);
    return (await flooding) as FloodOutcome;
  };

  // A warm-up for the compiler and the size of the heap.
  for (const [index] of chosen) {
    for (const target of [server, other]) await sendDuring(target, index, WARM_UP_SECONDS, { times: [], failed: 0 });
  }
  await sleep(SETTLE_MS);
  const first = memoryOf(server.pid).now;
  const figures: Figure[] = [];
  for (const [index, { name }] of chosen) {
    const before = memoryOf(server.pid).now;
    const [beside, under]: Slices[] = [0, 0].map(() => ({ times: [], failed: 0 }));
    const ends: Record<string, number> = {};
    for (let rest = seconds * 10; rest > 0 && beside !== undefined && under !== undefined; rest -= SLICE_SECONDS) {
      const slice = Math.min(rest, SLICE_SECONDS);
      await sendDuring(other, index, slice, beside);
      const outcome = await sendDuring(server, index, slice, under);
      for (const [end, count] of Object.entries(outcome.ends)) ends[end] = (ends[end] ?? 0) + count;
    }
    await sleep(SETTLE_MS);
    // It reads /proc of the process, and so fails when a flood has ended the server.
    const after = memoryOf(server.pid).now;
    const [p99Beside, p99Under] = [beside, under].map((slices) => percentile(slices?.times ?? [], 0.99));
    const value = (p99Under ?? Number.NaN) / (p99Beside ?? Number.NaN);
    const note = `${p99Under?.toFixed(1)} ms, beside it ${p99Beside?.toFixed(1)} ms; ${JSON.stringify(ends)}`;
    progress(`${name}: ${value.toFixed(1)} times; ${note}`);
    figures.push(
      { name: `${name}: p99 of another client, by that beside the flood`, value, unit: 'times', limit: P99_GOAL, note },
      { name: `${name}: requests of the other client that failed`, value: under?.failed ?? 0, unit: '', limit: 0 },
      // A heap that has shrunk since the start may grow back to that size.
      { name: `${name}: memory`, value: after / Math.max(before, first), unit: 'times', limit: GROWTH_GOAL },
    );
  }
  const last = memoryOf(server.pid).now;
  figures.push({ name: 'memory after all of them', value: last / first, unit: 'times', limit: GROWTH_GOAL });
  return figures;
}
