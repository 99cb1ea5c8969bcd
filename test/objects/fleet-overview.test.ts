import { expect, it } from 'vitest';
import type { ApiObject, Kind } from '../../src/api/kind.ts';
import { startFleetHistory } from '../../src/clusters/fleet-history.ts';
import { createFleetOverview } from '../../src/clusters/fleet-overview.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { WorkQueue } from '../../src/lib/work-queue.ts';
import { at, catalog, type Objects, object, openObjects } from './object-store.ts';

/** The overview and its history, over a real store, with the clock of the test. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** After today: a CA that has ended by this clock can still be written. */
const START = Date.UTC(2048, 10, 16, 12);
interface Replica {
  leads: boolean;
  readonly tokens: { issued: number; refused: number };
  /** A record, after so many milliseconds. */
  record(ms?: number): Promise<void>;
  /** The last hours, each as its five numbers. */
  rows(): Promise<number[][]>;
}

interface World extends Objects {
  readonly clock: { now: number };
  readonly logged: object[];
  readonly readiness: { True: number; False: number; Unknown: number };
  replica(leads: boolean): Replica;
}

async function openWorld(): Promise<World> {
  const objects = await openObjects();
  const clock = { now: START };
  const readiness = { True: 8, False: 1, Unknown: 1 };
  const logged: object[] = [];
  const replica = (leads: boolean): Replica => {
    const state = { leads, tokens: { issued: 0, refused: 0 } };
    let act = (): void => {};
    const history = startFleetHistory({
      store: objects.store,
      leadership: { leads: () => state.leads },
      readiness: async () => readiness,
      tokens: async () => ({ ...state.tokens }),
      every: (_, task) => {
        act = task;
        return () => {};
      },
      now: () => clock.now,
      logger: { warn: (fields) => logged.push(fields) },
    });
    return Object.assign(state, {
      record: async (ms = 0) => {
        clock.now += ms;
        act();
        // It waits for the round that runs.
        await history.stop();
      },
      rows: async () => (await history.hours()).map(([, ...row]) => row),
    });
  };
  return { ...objects, clock, logged, readiness, replica };
}

it('keeps readiness as the leader sees it, and the tokens of every process, by hour', async () => {
  const { clock, replica, readiness } = await openWorld();
  const [leader, other] = [replica(true), replica(false)];
  Object.assign(leader.tokens, { issued: 5, refused: 1 });
  Object.assign(other.tokens, { issued: 2, refused: 0 });
  await leader.record();
  await other.record();
  await leader.record();
  leader.leads = false;
  expect(await other.rows()).toEqual([[16, 2, 2, 7, 1]]);
  readiness.False = 5;
  clock.now += HOUR;
  other.leads = true;
  other.tokens.issued = 3;
  await other.record();
  other.leads = false;
  expect(await leader.rows()).toEqual([
    [16, 2, 2, 7, 1],
    [8, 5, 1, 1, 0],
  ]);
});

const bundle = (notAfter: number) => Buffer.from(createAuthority('ca', { notAfter }).cert).toString('base64');
const ready = (status: string, reason: string) => ({ conditions: [{ type: 'Ready', status, reason }] });

it('counts reasons, versions, what ends within 30 days and what waits', async () => {
  const { reader, writer, clock } = await openWorld();
  const put = async (kind: Kind, name: string, { status, ...fields }: Omit<Partial<ApiObject>, 'metadata'>) => {
    const derive = (prepared: ApiObject) => (status === undefined ? prepared : { ...prepared, status });
    await writer.create(kind, at('', '', name), { ...object({ name }), ...fields }, { dryRun: false, derive });
  };
  const keys: [string, number][] = [];
  const overview = createFleetOverview({
    ...{ catalog, reader, work: new WorkQueue(), productName: 'orchestrator', now: () => clock.now },
    keyEnds: () => keys,
    certificateEnd: () => keys[0]?.[1],
    hours: async () => [],
  });
  const nothing = await overview.read();
  expect(nothing).toEqual({
    clusters: { True: 0, False: 0, Unknown: 0 },
    reasons: [],
    versions: {},
    ends: { clusterCAs: 0, certificates: 0, signingKeys: 0, bindings: 0, bootstrapTokens: 0 },
    waiting: { accessrequests: 0, passes: 0 },
    hours: [],
  });
  const spec = (end: number) => ({ orchestratorApiEndpoints: { caBundle: bundle(clock.now + end) } });
  const clusters: [string, object, object][] = [
    ['a', spec(31 * DAY), { ...ready('True', 'ProbeSucceeded'), version: 'v1.36.4-eks-1' }],
    ['b', spec(29 * DAY), { ...ready('False', 'two words'), version: '1.36.0' }],
    ['c', spec(-DAY), { ...ready('False', 'two words'), version: 'unreleased' }],
    ['d', {}, { version: 'v1.5.2' }],
  ];
  for (const [name, of, status] of clusters) await put(catalog.clusters, name, { spec: of, status });
  const always = { roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [], clusters: { all: true } };
  const until = (end: number) => ({ spec: { ...always, expiresAt: new Date(clock.now + end).toISOString() } });
  await put(catalog.fleetRoleBindings, 'soon', until(DAY));
  await put(catalog.fleetRoleBindings, 'later', until(40 * DAY));
  await put(catalog.fleetRoleBindings, 'never', { spec: always });
  const expirationTimestamp = new Date(clock.now + HOUR).toISOString();
  const tokenDigest = `sha256:${'0'.repeat(64)}`;
  await put(catalog.bootstrapTokens, 'token', { spec: { expirationTimestamp, tokenDigest, namePattern: 'a' } });
  const asked = { cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' } };
  await put(catalog.accessRequests, 'asked', { spec: { ...asked, reason: 'why' }, status: { phase: 'Pending' } });
  keys.push(['a', clock.now + DAY], ['b', clock.now + 60 * DAY]);
  await reader.catchUp();
  expect(await overview.read()).toEqual({
    clusters: { True: 1, False: 2, Unknown: 1 },
    reasons: [
      { status: 'False', reason: 'two words', count: 2 },
      { status: 'True', reason: 'ProbeSucceeded', count: 1 },
      { status: 'Unknown', reason: '', count: 1 },
    ],
    versions: { '1.36': 2, '': 1, '1.5': 1 },
    ends: { clusterCAs: 2, certificates: 1, signingKeys: 1, bindings: 1, bootstrapTokens: 1 },
    waiting: { accessrequests: 1, passes: 0 },
    hours: [],
  });
  // Who asks during a walk gets the next one, with what was written meanwhile, and shares it.
  const [walk, next, same] = [overview.counts(), overview.counts(), overview.counts()];
  expect([next === walk, same === next]).toEqual([false, true]);
  await next;
});
