import { expectEqual } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Requests } from '../support/driver.ts';
import { alternate, compared, type Figure, type Round, type Settings } from '../support/measure.ts';
import { type FleetServer, type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';
import { numberedPatch, sampleFrame, type WatchDrivers, watchDrivers, watchRequest } from '../support/watching.ts';

interface WatchWork {
  readonly name: string;
  readonly watchers: number;
  readonly changes: number;
  /** Changes at once. */
  readonly writers: number;
  /** Rounds of both sides before the measurement. */
  readonly warmUps: number;
  /** The share by CPU that is the goal. */
  readonly cpuShare: number;
}

/** One writer patches clusters, one after the other. At most 1.2 times the CPU time of the floor. */
const single = (watchers: number, changes: number): WatchWork => ({
  name: `single changes, ${watchers.toLocaleString('en')} watchers`,
  ...{ watchers, changes, writers: 1, warmUps: 1, cpuShare: 1 / 1.2 },
});

/**
 * 500 writers patch 1,000 clusters at once. At most 0.4 times the CPU time of the floor: events of a burst share
 * writes. V8 compiles for thousands of changes, in threads whose CPU time counts, so there are more warm-ups.
 */
const BURST: WatchWork = {
  name: 'burst of changes, 500 watchers',
  ...{ watchers: 500, changes: 1_000, writers: 500, warmUps: 5, cpuShare: 1 / 0.4 },
};

/** Opens the watches, makes the changes, and waits until every watcher has received every event. */
async function watchRound(
  { watchers, writer }: WatchDrivers,
  server: ServerProcess,
  work: WatchWork,
  { watch, changes }: { watch: string; changes: Requests },
): Promise<Round> {
  await watchers.send({ do: 'watch', port: server.port, connections: work.watchers, request: watch });
  await writer.send({ do: 'connect', port: server.port, connections: work.writers });
  const begun = performance.now();
  const before = server.cpu();
  const events = work.changes * work.watchers;
  const received = watchers.send({ do: 'frames', total: events });
  await writer.work({ requests: changes, connections: work.writers, total: work.changes });
  const arrived = await received;
  const cpuPerUnit = (server.cpu() - before) / events;
  const rate = events / ((performance.now() - begun) / 1000);
  await writer.send({ do: 'close' });
  await watchers.send({ do: 'close' });
  expectEqual('frames that arrived', arrived, { frames: events, cutOff: 0 });
  return { rate, cpuPerUnit };
}

/** The floor writes the same frame to each watcher, one write each. */
async function compareWatches(
  server: FleetServer,
  drivers: WatchDrivers,
  work: WatchWork,
  settings: Settings,
): Promise<Figure> {
  const frame = await sampleFrame(server);
  const floor = await startFloor('watch');
  const post = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${frame.length}\r\n\r\n${frame.toString()}`;
  const ours = async (): Promise<Round> => {
    const changes = { numbered: numberedPatch(server) };
    return watchRound(drivers, server, work, { watch: await watchRequest(server), changes });
  };
  const least = (): Promise<Round> => {
    const watch = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    return watchRound(drivers, floor, work, { watch, changes: { same: post } });
  };
  for (let done = 0; done < work.warmUps; done++) {
    await ours();
    await least();
  }
  const figure = compared(work.name, work.cpuShare, await alternate(settings, ours, least));
  await floor.end();
  return figure;
}

/** Events of changed clusters to many watchers. A unit is one event to one watcher. */
export async function run(settings: Settings): Promise<Figure[]> {
  const drivers = watchDrivers();
  const server = await startFleetServer(clusterFleet({ clusters: 1_000, bindings: 100 }));
  const figures = [];
  for (const work of [single(500, 20), single(2_000, 8)]) {
    figures.push(await compareWatches(server, drivers, work, settings));
  }
  await server.end();
  // Small clusters: 1,000 events are then less than a watcher may have pending, so that no watcher is cut off when the
  // driver is slower than the server.
  const small = clusterFleet({ clusters: 1_000, bindings: 100, clusterBytes: 1_200 });
  // One caller makes the burst, so it needs all seats for writes.
  const serveArgs = ['--max-mutating-requests-inflight', '1000', '--caller-concurrency-percent', '100'];
  figures.push(await compareWatches(await startFleetServer(small, { serveArgs }), drivers, BURST, settings));
  return figures;
}
