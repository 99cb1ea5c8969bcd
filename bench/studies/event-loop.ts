import { call } from '../support/client.ts';
import { type CostlyRequest, type CostlyRow, costlyRows, GRANTER } from '../support/costly-requests.ts';
import type { Figure, Settings } from '../support/measure.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import { tickTimes } from '../support/ticks.ts';

const LIMIT_MS = 50;

/** The status code; 0 when the server closed the connection, as it may for a request that breaks the rules of HTTP. */
const send = (server: FleetServer, { method, path, ...sent }: CostlyRequest): Promise<number> =>
  call(server, method, path, sent).then(
    ({ code }) => code,
    () => 0,
  );

/** CPU time of the longest tick during the request, on a server that has just started. */
async function longestTick({ name, before = [], request, codes }: CostlyRow): Promise<number> {
  const ticks = await tickTimes();
  const demo = { objects: () => [], callers: [GRANTER] };
  const server = await startFleetServer(demo, { nodeArgs: ticks.nodeArgs, serveArgs: ['--demo'] });
  for (const each of before) {
    const code = await send(server, each);
    if (code >= 400) throw new Error(`${name}: a request that prepares it got ${code}`);
  }
  ticks.takeLongest();
  const code = await send(server, request);
  if (!codes.includes(code)) throw new Error(`${name}: status ${code}, expected ${codes.join(' or ')}`);
  const longest = ticks.takeLongest();
  await server.end();
  return longest;
}

/**
 * How long does one costly request hold the event loop of a server that has just started? `--rows WORD`: only those
 * whose name contains the word. Requests that are wrong in many places are in test/fuzz/faults.test.ts, which holds the
 * same limit.
 */
export async function run({ rows, progress }: Settings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const row of costlyRows.filter(({ name }) => name.includes(rows))) {
    let value = await longestTick(row);
    // Up to three times, and the least counts: other work on the machine only adds.
    for (let more = 2; more > 0 && value >= LIMIT_MS; more--) value = Math.min(value, await longestTick(row));
    progress(`${row.name}: ${value} ms`);
    figures.push({ name: row.name, value, unit: 'ms of CPU', limit: LIMIT_MS });
  }
  return figures;
}
