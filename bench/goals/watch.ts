import { expectEqual } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { alternate, type Goal, type Round, rowOf, type Settings, type TableRow } from '../support/compare.ts';
import { Driver } from '../support/driver.ts';
import type { Requests } from '../support/driver-process.ts';
import { type FleetServer, type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';
import type { Report } from '../support/report.ts';
import { numberedPatch, sampleFrame, type WatchDrivers, watchRequest } from '../support/watching.ts';

interface WatchRound {
  readonly watch: string;
  readonly changes: Requests;
  readonly watchers: number;
  readonly total: number;
  readonly writers: number;
}

/** Opens the watches, makes the changes, and waits until every watcher has received every event. */
async function watchRound(
  { watchers, writer }: WatchDrivers,
  server: ServerProcess,
  { watch, changes, watchers: count, total, writers }: WatchRound,
): Promise<Round> {
  await watchers.send({ do: 'watch', port: server.port, connections: count, request: watch });
  await writer.send({ do: 'connect', port: server.port, connections: writers });
  const begun = performance.now();
  const before = server.cpu();
  const events = total * count;
  const received = watchers.send({ do: 'frames', total: events });
  await writer.send({ do: 'work', requests: changes, connections: writers, total });
  const { frames, cutOff } = (await received) as { frames: number; cutOff: number };
  const cpuPerUnit = (server.cpu() - before) / events;
  const rate = events / ((performance.now() - begun) / 1000);
  await writer.send({ do: 'close' });
  await watchers.send({ do: 'close' });
  expectEqual('watchers that were cut off', cutOff, 0);
  expectEqual('frames that arrived', frames, events);
  return { rate, cpuPerUnit };
}

interface WatchWork {
  readonly name: string;
  readonly about: string;
  readonly watchers: number;
  readonly changes: number;
  /** Changes at once. */
  readonly writers: number;
  /** Rounds of both sides before the measurement. */
  readonly warmUps: number;
  readonly goal: Goal;
}

async function compareWatches(
  server: FleetServer,
  drivers: WatchDrivers,
  { name, about, watchers, changes: total, writers, warmUps, goal }: WatchWork,
  settings: Settings,
): Promise<TableRow> {
  const frame = await sampleFrame(server);
  const floor = await startFloor('watch');
  const post = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${frame.length}\r\n\r\n${frame.toString()}`;
  const size = { watchers, total, writers };
  const ours = async (): Promise<Round> => {
    const changes = { numbered: numberedPatch(server) };
    return watchRound(drivers, server, { ...size, watch: await watchRequest(server), changes });
  };
  const least = (): Promise<Round> => {
    const watch = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    return watchRound(drivers, floor, { ...size, watch, changes: { same: post } });
  };
  for (let done = 0; done < warmUps; done++) {
    await ours();
    await least();
  }
  const row = rowOf({ name, unit: 'events', about, goal }, await alternate(settings, ours, least));
  await floor.end();
  return row;
}

const FLOOR = 'The floor writes the same frame to each watcher, one write each.';
/** At most 1.2 times the CPU time of the floor. */
const SINGLE: Goal = { cpuShare: 1 / 1.2 };
/** At most 0.4 times the CPU time of the floor: events of a burst share writes. */
const BURST: Goal = { cpuShare: 1 / 0.4 };

/** Events of changed clusters to many watchers. A unit is one event to one watcher. */
export async function benchWatch(settings: Settings): Promise<Report> {
  const drivers = { watchers: new Driver(), writer: new Driver() };
  const server = await startFleetServer(clusterFleet({ clusters: 1_000, bindings: 100 }));
  const single = (watchers: number, changes: number): WatchWork => ({
    name: `single changes, ${watchers.toLocaleString('en')} watchers`,
    about: `One writer patches ${changes} clusters, one after the other. ${FLOOR}`,
    watchers,
    changes,
    writers: 1,
    warmUps: 1,
    goal: SINGLE,
  });
  const rows = [
    await compareWatches(server, drivers, single(500, 20), settings),
    await compareWatches(server, drivers, single(2_000, 8), settings),
  ];
  await server.end();
  // Small clusters: 1,000 events are then less than a watcher may have pending, so that no watcher is cut off when the
  // driver is slower than the server.
  const small = clusterFleet({ clusters: 1_000, bindings: 100, clusterBytes: 1_200 });
  // One caller makes the burst, so it needs all seats for writes.
  const serveArgs = ['--max-mutating-requests-inflight', '1000', '--caller-concurrency-percent', '100'];
  const burst: WatchWork = {
    name: 'burst of changes, 500 watchers',
    about: `500 writers patch 1,000 clusters at once. ${FLOOR}`,
    watchers: 500,
    changes: 1_000,
    writers: 500,
    // V8 compiles for thousands of changes, in threads whose CPU time counts.
    warmUps: 5,
    goal: BURST,
  };
  rows.push(await compareWatches(await startFleetServer(small, { serveArgs }), drivers, burst, settings));
  return { rows };
}
