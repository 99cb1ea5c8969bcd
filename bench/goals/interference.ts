import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { requestText } from '../support/client.ts';
import { clusterFleet, LIST, READER } from '../support/cluster-fleet.ts';
import { lowerPriority } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import { type Figure, median, percentile } from '../support/measure.ts';
import { CLUSTERS_PATH } from '../support/objects.ts';
import { startFleetServer } from '../support/processes.ts';
import { tickTimes } from '../support/ticks.ts';
import { oneAccountRequest } from '../support/token-requests.ts';
import { numberedPatch, watchRequest } from '../support/watching.ts';

const CLUSTERS = 100_000;
const WATCHERS = 2_000;
const CHANGES = 100;
const WRITERS = 50;
const CONNECTIONS = 4;
const REQUESTS = 1_000;
/** Medians of several rounds: one pause of the machine would decide a percentile of a thousand requests. */
const ROUNDS = 3;
const TICK_LIMIT_MS = 50;
const P99_LIMIT = 5;

/** A reader that takes at most 50 MB/s of the 260 MB, for about a second: longer than the token requests last. */
const SLOW_READS = 50;

/** A body of 3 MB, which the server parses and then refuses. */
const LARGE = { metadata: { name: 'large', annotations: { text: 'x'.repeat(3_000_000) } } };

/** How much a token request slows down while another client causes much work. */
export async function run(): Promise<Figure[]> {
  const ticks = await tickTimes();
  const fleet = clusterFleet({ clusters: CLUSTERS, bindings: 1_000 });
  const server = await startFleetServer(fleet, { nodeArgs: ticks.nodeArgs });
  const { port, adminToken } = server;
  const [tokens, other, writer] = [new Driver(), new Driver(), new Driver()];
  // Other clients run on other machines. Here they get the processor time that the server and the token client leave.
  for (const { pid } of [other, writer]) lowerPriority(pid);
  const { request } = await oneAccountRequest(server);

  /** The p99 of token requests in milliseconds, and the longest tick, while other work is done. */
  const during = async (work: () => Promise<void>): Promise<{ p99: number; tick: number }> => {
    const [p99s, longest]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      await tokens.send({ do: 'connect', port, connections: CONNECTIONS });
      ticks.takeLongest();
      const busy = work();
      const requests = { same: request };
      const { milliseconds } = await tokens.work({ requests, connections: CONNECTIONS, total: REQUESTS });
      await busy;
      longest.push(ticks.takeLongest());
      p99s.push(percentile(milliseconds, 0.99));
      await tokens.send({ do: 'close' });
    }
    return { p99: median(p99s), tick: Math.max(...longest) };
  };

  const nothing = async (): Promise<void> => {};
  await during(nothing);
  const quiet = await during(nothing);
  const figures: Figure[] = [
    { name: 'p99 of a token request, no other work', value: quiet.p99, unit: 'ms' },
    { name: 'longest tick, no other work', value: quiet.tick, unit: 'ms', limit: TICK_LIMIT_MS },
  ];
  const measure = async (name: string, work: () => Promise<void>): Promise<void> => {
    const { p99, tick } = await during(work);
    const times = p99 / quiet.p99;
    figures.push(
      { name: `p99 of a token request during ${name}`, value: times, unit: 'times no other work', limit: P99_LIMIT },
      { name: `longest tick during ${name}`, value: tick, unit: 'ms', limit: TICK_LIMIT_MS },
    );
  };

  await measure(`a list of ${CLUSTERS.toLocaleString('en')} clusters to a slow reader`, async () => {
    const slow = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }).pause();
    slow.write(requestText('GET', LIST, READER));
    for (let reads = 0; reads < SLOW_READS; reads++) {
      await sleep(20);
      slow.read(Math.min(1_000_000, slow.readableLength || 1));
    }
    slow.destroy();
  });
  await measure('bodies of 3 MB', async () => {
    await other.send({ do: 'connect', port, connections: 1 });
    const post = requestText('POST', `${CLUSTERS_PATH}?dryRun=All`, { token: adminToken, body: LARGE });
    // The server refuses the body, and the driver fails for a response that is not a success.
    await other.work({ requests: { same: post }, connections: 1, total: 4 }).catch(() => undefined);
    await other.send({ do: 'close' });
  });

  await other.send({ do: 'watch', port, connections: WATCHERS, request: await watchRequest(server) });
  await writer.send({ do: 'connect', port, connections: WRITERS });
  let bursts = 0;
  const burst = async (): Promise<void> => {
    bursts += 1;
    const received = other.send({ do: 'frames', total: bursts * CHANGES * WATCHERS });
    const requests = { numbered: numberedPatch(server) };
    await writer.work({ requests, connections: WRITERS, total: CHANGES });
    await received;
  };
  // Two bursts as a warm-up.
  await burst();
  await burst();
  await measure(`${CHANGES} changes to ${WATCHERS.toLocaleString('en')} watchers`, burst);
  return figures;
}
