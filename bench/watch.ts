import { call, expectEqual, must, requestText } from './support/client.ts';
import { alternate, type Goal, type Round, type Row, rowOf, type Settings } from './support/compare.ts';
import type { Done } from './support/driver-process.ts';
import { clusterName, READER } from './support/fleet.ts';
import { type Desk, Driver, type Served, startDesk, startFloor } from './support/processes.ts';
import type { Report } from './support/report.ts';

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const MERGE = 'application/merge-patch+json';
const change = (note: string): object => ({ metadata: { annotations: { note } } });

/** Everything that is sent to watchers from now on, and no more. */
export async function watchRequest(desk: Desk, { token } = READER): Promise<string> {
  const { metadata } = await must<{ metadata: { resourceVersion: string } }>(
    call(desk, 'GET', '/auth/v1/clusters?limit=1', { token }),
  );
  return requestText('GET', `/auth/v1/clusters?watch=1&resourceVersion=${metadata.resourceVersion}`, { token });
}

interface Watched {
  readonly frames: number;
  readonly cutOff: number;
}

/** The driver that watches, and the one that changes: the second must not wait for the first. */
export interface WatchParts {
  readonly watchers: Driver;
  readonly writer: Driver;
}

/** Opens the watches, lets the work be done, and waits until everybody has heard of all of it. */
async function round(
  { watchers, writer }: WatchParts,
  side: Served,
  wanted: { watch: string; work: readonly [string, string?]; count: number; changes: number; writers: number },
): Promise<Round> {
  const { watch, work, count, changes, writers } = wanted;
  await watchers.order({ do: 'watch', port: side.port, connections: count, request: watch });
  await writer.order({ do: 'connect', port: side.port, connections: writers });
  const begun = performance.now();
  const before = side.cpu();
  const heard = watchers.order({ do: 'frames', total: changes * count }) as Promise<Watched>;
  (await writer.order({ do: 'work', request: work, connections: writers, total: changes })) as Done;
  const { frames, cutOff } = await heard;
  const events = changes * count;
  const cpuPerUnit = (side.cpu() - before) / events;
  const rate = events / ((performance.now() - begun) / 1000);
  await writer.order({ do: 'close' });
  await watchers.order({ do: 'close' });
  expectEqual('watchers that were cut off', cutOff, 0);
  expectEqual('frames that arrived', frames, events);
  return { rate, cpuPerUnit };
}

/** One event as a watcher gets it, looked at. */
async function sampleFrame(desk: Desk): Promise<Buffer> {
  const name = clusterName(1);
  const sent = { body: change('00000000'), type: MERGE };
  await must(call(desk, 'PATCH', `${CLUSTERS}/${name}`, sent));
  const { body } = await call(desk, 'GET', `/auth/v1/clusters?fieldSelector=metadata.name%3D${name}`, READER);
  const { items } = JSON.parse(body.toString()) as { items: { metadata: object; spec: object }[] };
  expectEqual('fields of spec', Object.keys(items[0]?.spec ?? {}), ['orchestratorApiEndpoints']);
  return Buffer.from(`{"type":"MODIFIED","object":${JSON.stringify(items[0])}}\n`);
}

let rounds = 0;

/** Each request changes another cluster, and each round gives them another text. */
export function patches({ adminToken: token }: Desk): readonly [string, string] {
  const body = change(`round ${++rounds}`);
  const [before = '', after = ''] = requestText('PATCH', `${CLUSTERS}/c-########`, { token, body, type: MERGE }).split(
    '########',
  );
  return [before, after];
}

export interface WatchWork {
  readonly name: string;
  readonly watchers: number;
  readonly changes: number;
  /** 1: a change after the other; more: so many at once. */
  readonly writers: number;
  /** Rounds that are not counted, of both sides: the compiler goes on for thousands of changes, in threads whose time counts. */
  readonly warmUps: number;
  readonly goal: Goal;
}

export async function compareWatches(
  desk: Desk,
  parts: WatchParts,
  { name, watchers, changes, writers, warmUps, goal }: WatchWork,
  settings: Settings,
): Promise<Row> {
  const frame = await sampleFrame(desk);
  const floor = await startFloor('watch');
  const post = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${frame.length}\r\n\r\n${frame.toString()}`;
  const ours = async (): Promise<Round> =>
    round(parts, desk, {
      watch: await watchRequest(desk),
      work: patches(desk),
      count: watchers,
      changes,
      writers,
    });
  const least = (): Promise<Round> =>
    round(parts, floor, {
      watch: 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
      work: [post],
      count: watchers,
      changes,
      writers,
    });
  for (let done = 0; done < warmUps; done++) {
    await ours();
    await least();
  }
  const row = rowOf({ name, unit: 'events', goal }, await alternate(settings, ours, least));
  await floor.end();
  return row;
}

const SINGLE: Goal = { times: 1.2 };

export async function benchWatch(settings: Settings): Promise<Report> {
  const parts = { watchers: new Driver(), writer: new Driver() };
  const desk = await startDesk({ clusters: 1_000, bindings: 100 });
  const rows = [
    await compareWatches(
      desk,
      parts,
      { name: 'watch, 500', watchers: 500, changes: 20, writers: 1, warmUps: 1, goal: SINGLE },
      settings,
    ),
    await compareWatches(
      desk,
      parts,
      { name: 'watch, 2,000', watchers: 2_000, changes: 8, writers: 1, warmUps: 1, goal: SINGLE },
      settings,
    ),
  ];
  await desk.end();
  // Small clusters: 1,000 events are then less than a watcher may be behind, so that a driver that is slower than the
  // server is not cut off.
  const size = { clusters: 1_000, bindings: 100, clusterBytes: 1_200 };
  // One caller makes the burst, so its share of what is done at once must be all of it.
  const small = await startDesk(
    size,
    [],
    ['--max-mutating-requests-inflight', '1000', '--caller-concurrency-percent', '100'],
  );
  const burst = { name: 'watch, burst', watchers: 500, changes: 1_000, writers: 500, warmUps: 5, goal: { times: 0.4 } };
  rows.push(await compareWatches(small, parts, burst, settings));
  return { rows };
}
