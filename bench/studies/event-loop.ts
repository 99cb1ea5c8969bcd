import { type Server, startServer } from '../../test/e2e/support/server.ts';
import type { CostlyRequest, CostlyRow } from '../support/costly-requests.ts';
import { costlyRows, GRANTER } from '../support/costly-requests.ts';
import type { Figure, Settings } from '../support/measure.ts';
import { tickTimes } from '../support/ticks.ts';

const LIMIT_MS = 50;

/** The status code; 0 when the server closed the connection, as it may for a request that breaks the rules of HTTP. */
async function send(server: Server, { method, path, body, token, type, headers }: CostlyRequest): Promise<number> {
  const options = {
    ...(body === undefined ? {} : { body }),
    ...(token === undefined ? {} : { token }),
    headers: { ...(type === undefined ? {} : { 'Content-Type': type }), ...headers },
    signal: AbortSignal.timeout(30_000),
  };
  return server.call(method, path, options).then(
    ({ code }) => code,
    () => 0,
  );
}

/** CPU time of the longest tick during the request, on a server that has just started. */
async function longestTick({ name, before = [], request, codes }: CostlyRow): Promise<number> {
  const ticks = await tickTimes();
  const env = { NODE_OPTIONS: ticks.nodeArgs.join('=') };
  const server = await startServer({ args: ['--demo'], users: { [GRANTER]: [] }, env });
  try {
    for (const each of before) {
      const code = await send(server, each);
      if (code >= 400) throw new Error(`${name}: a request that prepares it got ${code}`);
    }
    ticks.takeLongest();
    const code = await send(server, request);
    if (!codes.includes(code)) throw new Error(`${name}: status ${code}, expected ${codes.join(' or ')}`);
    return ticks.takeLongest();
  } finally {
    await server.destroy();
  }
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
