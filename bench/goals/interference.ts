import { requestText } from '../support/client.ts';
import { clusterFleet, READER } from '../support/cluster-fleet.ts';
import type { Settings } from '../support/compare.ts';
import { lowerPriority } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Done } from '../support/driver-process.ts';
import { median, percentile } from '../support/numbers.ts';
import { CLUSTERS_PATH } from '../support/objects.ts';
import { startFleetServer } from '../support/processes.ts';
import type { Figure, Report } from '../support/report.ts';
import { TickTimes } from '../support/tick-times.ts';
import { oneAccountRequest } from '../support/tokens.ts';
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

/** A body of 3 MB, which the server parses and then refuses. */
const LARGE = { metadata: { name: 'large', annotations: { text: 'x'.repeat(3_000_000) } } };

interface Measured {
  /** 99th percentile of the token requests, in milliseconds. */
  readonly p99: number;
  /** Longest tick of the event loop, in milliseconds of CPU time. */
  readonly tick: number;
}

/** How much a token request slows down while another client causes much work. */
export async function benchInterference(_: Settings): Promise<Report> {
  const ticks = await TickTimes.prepare();
  const fleet = clusterFleet({ clusters: CLUSTERS, bindings: 1_000 });
  const server = await startFleetServer(fleet, { nodeArgs: ticks.nodeArgs });
  const { port, adminToken } = server;
  const [tokens, other, writer] = [new Driver(), new Driver(), new Driver()];
  // Other clients run on other machines. Here they get the processor time that the server and the token client leave.
  for (const { pid } of [other, writer]) lowerPriority(pid);
  const { request } = await oneAccountRequest(server);

  const during = async (work: () => Promise<void>): Promise<Measured> => {
    await tokens.send({ do: 'connect', port, connections: CONNECTIONS });
    ticks.takeLongest();
    const busy = work();
    const requests = { same: request };
    const done = await tokens.send({ do: 'work', requests, connections: CONNECTIONS, total: REQUESTS });
    await busy;
    const tick = ticks.takeLongest();
    await tokens.send({ do: 'close' });
    return { p99: percentile((done as Done).milliseconds, 0.99), tick };
  };
  const inRounds = async (work: () => Promise<void>): Promise<Measured> => {
    const rounds: Measured[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await during(work));
    return { p99: median(rounds.map(({ p99 }) => p99)), tick: Math.max(...rounds.map(({ tick }) => tick)) };
  };

  const nothing = async (): Promise<void> => {};
  await inRounds(nothing);
  const quiet = await inRounds(nothing);
  const figures: Figure[] = [
    { name: 'p99 of a token request, no other work', value: quiet.p99, unit: 'ms' },
    { name: 'longest tick, no other work', value: quiet.tick, unit: 'ms', limit: TICK_LIMIT_MS },
  ];
  const measure = async (name: string, work: () => Promise<void>): Promise<void> => {
    const { p99, tick } = await inRounds(work);
    const times = p99 / quiet.p99;
    figures.push(
      { name: `p99 of a token request during ${name}`, value: times, unit: 'times no other work', limit: P99_LIMIT },
      { name: `longest tick during ${name}`, value: tick, unit: 'ms', limit: TICK_LIMIT_MS },
    );
  };

  await measure(`a list of ${CLUSTERS.toLocaleString('en')} clusters to a slow reader`, async () => {
    await other.send({ do: 'connect', port, connections: 1 });
    const list = requestText('GET', '/auth/v1/clusters', READER);
    await other.send({ do: 'trickle', request: list, bytes: 1_000_000, everyMs: 20 });
    await other.send({ do: 'close' });
  });
  await measure('bodies of 3 MB', async () => {
    await other.send({ do: 'connect', port, connections: 1 });
    const post = requestText('POST', `${CLUSTERS_PATH}?dryRun=All`, { token: adminToken, body: LARGE });
    // The server refuses the body, and the driver fails for a response that is not a success.
    await other.send({ do: 'work', requests: { same: post }, connections: 1, total: 4 }).catch(() => undefined);
    await other.send({ do: 'close' });
  });

  await other.send({ do: 'watch', port, connections: WATCHERS, request: await watchRequest(server) });
  await writer.send({ do: 'connect', port, connections: WRITERS });
  let bursts = 0;
  const burst = async (): Promise<void> => {
    bursts += 1;
    const received = other.send({ do: 'frames', total: bursts * CHANGES * WATCHERS });
    const requests = { numbered: numberedPatch(server) };
    await writer.send({ do: 'work', requests, connections: WRITERS, total: CHANGES });
    await received;
  };
  // Two bursts as a warm-up.
  await burst();
  await burst();
  await measure(`${CHANGES} changes to ${WATCHERS.toLocaleString('en')} watchers`, burst);
  return { figures };
}
