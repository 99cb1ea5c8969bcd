import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { PROFILE_GROUP } from '../api/clusters/profile-of-cluster.ts';
import type { ApiObject } from '../api/kind.ts';
import { fakeTiming } from '../client/script-server.fixture.ts';
import { Transport } from '../client/transport.ts';
import type { Cluster } from '../client/types.ts';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { servedVersion } from './api-version.ts';
import { applyTarget } from './apply-target.ts';
import {
  EXPORT_FIELD_MANAGER,
  EXPORTED_ANNOTATION,
  type ExportSettings,
  exportedState,
  exportOwnership,
  PROFILE_VERSIONS,
  profilesPath,
  withProfile,
} from './export-profiles.ts';
import { FakeHub, HUB_TOKEN } from './hub.fixture.ts';
import { Informer } from './informer.ts';
import { keyOf } from './plan.ts';
import { type DesiredState, Reconciler, type ReconcilerOptions, type SyncTarget } from './reconciler.ts';
import { Reporter, type SourceProblem } from './reporter.ts';
import { createSyncMetrics } from './sync-metrics.ts';
import { Wakeup } from './wakeup.ts';

const PROFILES = `${PROFILE_GROUP}/clusterprofiles`;
const SETTINGS: ExportSettings = {
  namespace: 'inventory',
  manager: 'clusterpass',
  provider: 'clusterpass',
  properties: ['region'],
  endpointFor: undefined,
  server: 'https://clusterpass.example',
};

const cluster = (name: string, labels: Record<string, string> = {}, address = 'https://10.0.0.1:6443'): Cluster => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, uid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8', creationTimestamp: '2026-01-01T00:00:00Z', labels },
  spec: { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }] } },
});

const hub = await new FakeHub({ [PROFILE_GROUP]: ['v1alpha1', 'v1alpha2'] }).start();
afterAll(() => hub.stop());
beforeEach(() => {
  hub.objects(PROFILES).clear();
  hub.writes.length = 0;
  hub.fault = () => undefined;
  hub.afterGet = () => {};
});

interface Options {
  readonly prune?: boolean;
  readonly maxDelete?: number;
  readonly timing?: Timing;
  /** Whether an earlier run may have deleted something. */
  readonly isRestarted?: boolean;
  readonly settings?: ExportSettings;
  readonly planOnly?: boolean;
}

/** An export into the hub, whose clusters the test sets. */
function newExport(options: Options = {}) {
  const { prune = true, maxDelete = 5, timing = realTiming, settings = SETTINGS } = options;
  const { isRestarted = false, planOnly = false } = options;
  const transport = new Transport({
    server: hub.url,
    tokenProvider: () => HUB_TOKEN,
    fetch: globalThis.fetch,
    userAgent: undefined,
    onWarning: undefined,
    timing,
  });
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const metrics = createSyncMetrics();
  const reporter = new Reporter({
    resource: 'profile',
    note: '',
    out: write,
    err: write,
    pruneWindow: '10m',
    now: timing.now,
    metrics,
  });
  const path = profilesPath('v1alpha2', settings.namespace);
  const wakeup = new Wakeup();
  const informer = new Informer({
    ...{ transport, path, timing },
    onChange: wakeup.set,
    onConnection: (problem) => reporter.setCondition('TargetConnected', problem === undefined, problem?.message),
  });
  const source = new Clusters(settings);
  const problems = new Map<string, SourceProblem>();
  const reconcilerOptions: ReconcilerOptions = {
    read: async () => ({ objects: source.objects, kept: new Set<string>(), problems }),
    target: applyTarget({ transport, path, informer, fieldManager: EXPORT_FIELD_MANAGER, dryRun: false }),
    isTargetSynced: () => informer.isSynced,
    ownership: exportOwnership(settings),
    ...{ prune, maxDelete, timing, reporter, planOnly },
    ...{ pruneWindowMs: 600_000, countsAlone: !isRestarted },
  };
  const reconciler = new Reconciler(reconcilerOptions);
  /** Reads the hub and reconciles once. */
  const reconcile = async () => {
    await informer.list();
    return reconciler.reconcile();
  };
  return {
    ...{ transport, source, problems, informer, reconciler, reporter, metrics, wakeup, lines, reconcile },
    options: reconcilerOptions,
  };
}

/** The clusters that an informer has read. */
class Clusters {
  readonly #settings: ExportSettings;
  readonly #clusters = new Map<string, ApiObject>();

  constructor(settings: ExportSettings) {
    this.#settings = settings;
  }

  put(each: Cluster): void {
    this.#clusters.set(each.metadata.name, withProfile(each as unknown as ApiObject, 'v1alpha2', this.#settings));
  }

  delete({ metadata }: Cluster): void {
    this.#clusters.delete(metadata.name);
  }

  get objects(): DesiredState['objects'] {
    return exportedState(this.#clusters.values()).objects;
  }
}

const profile = (name: string): ApiObject | undefined => hub.objects(PROFILES).get(`inventory/${name}`);

const foreign = (name: string, manager = 'other', extra: object = {}): ApiObject => ({
  apiVersion: `${PROFILE_GROUP}/v1alpha2`,
  kind: 'ClusterProfile',
  metadata: { name, namespace: 'inventory', labels: { 'x-k8s.io/cluster-manager': manager }, ...extra },
  spec: { clusterManager: { name: manager } },
});

describe('an export into a hub', () => {
  it('CP-87: takes the newest version that the hub has', async () => {
    const { transport } = newExport();
    expect(await servedVersion(transport, PROFILE_GROUP, PROFILE_VERSIONS)).toBe('v1alpha2');
    await expect(servedVersion(transport, PROFILE_GROUP, ['v9'])).rejects.toThrow('in v9: are its CRDs installed?');
    await expect(servedVersion(transport, 'none.example', ['v1'])).rejects.toThrow('does not serve none.example');
    hub.fault = () => ({ code: 403 });
    await expect(servedVersion(transport, PROFILE_GROUP, PROFILE_VERSIONS)).rejects.toMatchObject({ code: 403 });
  });

  it('CP-87: applies spec and status, then writes nothing until something changes', async () => {
    const { source, reconcile, lines } = newExport();
    source.put(cluster('a', { env: 'prod', region: 'eu' }));
    source.put(cluster('b'));
    await reconcile();
    expect(profile('a')).toMatchObject({
      metadata: {
        labels: { env: 'prod', 'x-k8s.io/cluster-manager': 'clusterpass' },
        annotations: { [EXPORTED_ANNOTATION]: SETTINGS.server },
      },
      spec: { displayName: 'a', clusterManager: { name: 'clusterpass' } },
      status: {
        properties: [{ name: 'region', value: 'eu' }],
        accessProviders: [{ name: 'clusterpass', cluster: { server: 'https://10.0.0.1:6443' } }],
      },
    });
    expect(hub.writes).toHaveLength(4);
    await reconcile();
    // Another process after a restart knows nothing of the first.
    const restarted = newExport();
    restarted.source.put(cluster('a', { env: 'prod', region: 'eu' }));
    restarted.source.put(cluster('b'));
    await restarted.reconcile();
    expect(hub.writes).toHaveLength(4);
    expect(lines).toContain('profile/inventory/a created');

    source.put(cluster('a', {}, 'https://10.0.0.2:6443'));
    await reconcile();
    expect(profile('a')?.metadata.labels).not.toHaveProperty('env');
    expect(profile('a')?.status).not.toHaveProperty('properties');
    expect(JSON.stringify(profile('a')?.status)).toContain('10.0.0.2');
    expect(hub.writes).toHaveLength(6);
  });

  it('CP-87: changes back what others changed in its fields, and leaves theirs', async () => {
    const { source, reconcile } = newExport();
    source.put(cluster('a', { env: 'prod' }));
    await reconcile();
    const found = profile('a') as ApiObject;
    const labels = { ...found.metadata.labels, env: 'dev', theirs: 'x' };
    hub.put(PROFILES, { ...found, metadata: { ...found.metadata, labels, finalizers: ['example.com/theirs'] } });
    await reconcile();
    expect(profile('a')?.metadata).toMatchObject({
      labels: { env: 'prod', theirs: 'x' },
      finalizers: ['example.com/theirs'],
    });
  });

  it('CP-87: never touches a profile of another manager or another server', async () => {
    const { source, reconcile, lines, reporter } = newExport();
    const others = [
      foreign('a'),
      foreign('b', 'clusterpass', { annotations: { [EXPORTED_ANNOTATION]: 'https://other.example' } }),
      // Prune needs the annotation as well.
      foreign('c', 'clusterpass'),
      { ...foreign('d', 'clusterpass', { annotations: { [EXPORTED_ANNOTATION]: SETTINGS.server } }), spec: {} },
      {
        ...foreign('e', 'other', { annotations: { [EXPORTED_ANNOTATION]: SETTINGS.server } }),
        spec: { clusterManager: { name: 'clusterpass' } },
      },
    ].map((object) => hub.put(PROFILES, object));
    source.put(cluster('a'));
    source.put(cluster('b'));
    await reconcile();
    await reconcile();
    expect([...hub.objects(PROFILES).values()]).toEqual(others);
    expect(hub.writes).toEqual([]);
    expect(reporter.isSynced).toBe(false);
    // Said once, not at every reconciliation.
    expect(lines.filter((line) => line.startsWith('inventory/a: '))).toEqual([
      'inventory/a: profile/inventory/a exists and is not of this synchronization',
    ]);
  });

  it.each(['SourceConnected', 'TargetConnected'] as const)(
    'is not synchronized, and writes nothing, while %s is false',
    async (side) => {
      let now = 1_000_000;
      const { source, reconcile, reporter, metrics, lines } = newExport({ timing: { ...realTiming, now: () => now } });
      const lastSync = async (): Promise<string | undefined> =>
        /^clusterpass_sync_last_success_timestamp_seconds (.*)$/m.exec(await metrics.registry.metrics())?.[1];
      source.put(cluster('a'));
      await reconcile();
      expect([reporter.isSynced, await lastSync()]).toEqual([true, '1000']);
      reporter.setCondition(side, false, 'connection refused');
      expect([reporter.isSynced, lines.at(-1)]).toEqual([false, `Synced=False: ${side} is false`]);
      hub.remove(PROFILES, 'inventory/a');
      now = 2_000_000;
      expect(await reconcile()).toBeUndefined();
      expect([profile('a'), reporter.isSynced, await lastSync()]).toEqual([undefined, false, '1000']);
      reporter.setCondition(side, true);
      // What changed in between is not known before the next reconciliation.
      expect(reporter.isSynced).toBe(false);
      await reconcile();
      expect([profile('a')?.kind, reporter.isSynced, await lastSync()]).toEqual(['ClusterProfile', true, '2000']);
    },
  );

  it('takes over nothing that another client creates at the same time', async () => {
    const { source, reconcile, lines } = newExport();
    source.put(cluster('a'));
    let isFirst = true;
    hub.afterGet = () => {
      if (isFirst) hub.put(PROFILES, { ...foreign('a'), spec: {}, metadata: { name: 'a', namespace: 'inventory' } });
      isFirst = false;
    };
    expect(await reconcile()).toMatchObject({ failed: 1 });
    expect(profile('a')?.metadata.annotations ?? {}).toEqual({});
    expect(profile('a')?.metadata.labels ?? {}).toEqual({});
    await reconcile();
    expect(lines.at(-1)).toContain('1 name taken');
  });

  it('CP-86: deletes what is gone within its bound, else nothing', async () => {
    const { source, reconcile, lines, reporter } = newExport({ maxDelete: 2 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) source.put(cluster(name));
    await reconcile();
    for (const name of ['a', 'b', 'c']) source.delete(cluster(name));
    await reconcile();
    expect(hub.objects(PROFILES).size).toBe(5);
    expect(reporter.isSynced).toBe(false);
    expect(lines).toContain(
      'PruneAllowed=False: 3 objects would be deleted, more than --max-delete 2: nothing is deleted',
    );
    source.put(cluster('c'));
    await reconcile();
    expect([...hub.objects(PROFILES).keys()].sort()).toEqual(['inventory/c', 'inventory/d', 'inventory/e']);
    // A fleet that disappears one by one is bounded, too.
    source.delete(cluster('c'));
    await reconcile();
    expect(hub.objects(PROFILES).size).toBe(3);
    expect(lines.at(-2)).toContain('1 object would be deleted, after 2 in the last 10m');
  });

  it('CP-86: counts a deletion whose answer was lost', async () => {
    const { source, reconcile } = newExport({ maxDelete: 1 });
    for (const name of ['a', 'b', 'c']) source.put(cluster(name));
    await reconcile();
    source.delete(cluster('a'));
    hub.fault = (method) => (method === 'DELETE' ? 'lose-answer' : undefined);
    expect(await reconcile()).toMatchObject({ failed: 1 });
    hub.fault = () => undefined;
    source.delete(cluster('b'));
    expect(await reconcile()).toMatchObject({ plan: { removals: [], held: ['inventory/b'] } });
    expect(hub.objects(PROFILES).size).toBe(2);
  });

  it('CP-86: a restart does not begin to count deletions again', async () => {
    let now = 0;
    const timing = { ...realTiming, now: () => now };
    const first = newExport({ maxDelete: 2 });
    for (const name of ['a', 'b', 'c']) first.source.put(cluster(name));
    await first.reconcile();
    const { source, reconcile, lines } = newExport({ maxDelete: 2, timing, isRestarted: true });
    source.put(cluster('b'));
    source.put(cluster('c'));
    now = 540_000;
    expect(await reconcile()).toMatchObject({ plan: { held: ['inventory/a'] }, retryInMs: 60_000 });
    expect(lines.find((line) => line.startsWith('PruneAllowed'))).toContain(
      '1 object would be deleted: nothing is deleted in the first 10m',
    );
    expect(hub.objects(PROFILES).size).toBe(3);
    now = 600_000;
    await reconcile();
    expect(hub.objects(PROFILES).size).toBe(2);
  });

  it('leaves a deleted profile to the finalizers of others, and deletes it once', async () => {
    const { source, reconcile } = newExport();
    source.put(cluster('a'));
    await reconcile();
    const found = profile('a') as ApiObject;
    hub.put(PROFILES, { ...found, metadata: { ...found.metadata, finalizers: ['argoproj.io/x'] } });
    source.delete(cluster('a'));
    hub.writes.length = 0;
    await reconcile();
    await reconcile();
    expect(profile('a')?.metadata).toMatchObject({
      finalizers: ['argoproj.io/x'],
      deletionTimestamp: expect.any(String),
    });
    expect(hub.writes).toHaveLength(1);
  });

  it.each([
    ['a 500', { code: 500 }],
    ['a conflict', { code: 409 }],
    ['a disconnect', 'disconnect'],
    ['a lost answer', 'lose-answer'],
  ] as const)('converges after %s for every other write', async (_, fault) => {
    const { source, reconcile } = newExport();
    for (let index = 0; index < 20; index++) source.put(cluster(`c-${index}`));
    let count = 0;
    hub.fault = (method) => (method === 'PATCH' && count++ % 2 === 0 ? fault : undefined);
    expect(await reconcile()).toMatchObject({ failed: expect.toSatisfy((failed: number) => failed > 0) });
    hub.fault = () => undefined;
    await reconcile();
    hub.writes.length = 0;
    expect(await reconcile()).toMatchObject({ failed: 0, plan: { unchanged: 20 } });
    expect(hub.writes).toEqual([]);
  });

  it('CP-26: writes an object at most ten times at once, then every 30 seconds', async () => {
    let now = 0;
    const { source, reconcile } = newExport({ timing: { ...realTiming, now: () => now } });
    const flap = async (index: number) => {
      source.put(cluster('a', { index: String(index) }));
      return reconcile();
    };
    for (let index = 0; index < 10; index++) expect(await flap(index)).toMatchObject({ retryInMs: 0 });
    expect(await flap(10)).toMatchObject({ retryInMs: 30_000 });
    expect(profile('a')?.metadata.labels).toMatchObject({ index: '9' });
    now = 30_000;
    await flap(11);
    expect(profile('a')?.metadata.labels).toMatchObject({ index: '11' });
  });

  it('CP-86: writes nothing before the hub was read, nor with a plan only', async () => {
    const unread = newExport();
    unread.source.put(cluster('a'));
    expect(await unread.reconciler.reconcile()).toBeUndefined();
    const { source, reconcile, lines } = newExport({ planOnly: true });
    source.put(cluster('a'));
    expect(await reconcile()).toMatchObject({ failed: 0, plan: { creates: { length: 1 } } });
    expect(hub.writes).toEqual([]);
    expect(lines).toContain('profile/inventory/a created');
  });

  describe('runs', () => {
    const state = (...clusters: readonly Cluster[]): DesiredState => {
      const source = new Clusters(SETTINGS);
      for (const each of clusters) source.put(each);
      return { objects: source.objects, kept: new Set(), problems: new Map() };
    };

    const exportedObject = (name: string): ApiObject =>
      foreign(name, 'clusterpass', { annotations: { [EXPORTED_ANNOTATION]: SETTINGS.server } });
    /** Records what is written, in order. */
    const recordingTarget = (calls: string[]): Omit<SyncTarget, 'objects'> => ({
      fieldManager: EXPORT_FIELD_MANAGER,
      create: async ({ object }) => void calls.push(`create ${object.metadata.name}`),
      update: async ({ actual }) => void calls.push(`update ${actual.metadata.name}`),
      remove: async ({ metadata }) => void calls.push(`delete ${metadata.name}`),
    });

    it('every minute, also while a deletion waits for longer', async () => {
      class RecordedWakeup extends Wakeup {
        readonly waits: number[] = [];
        override async wait(ms: number): Promise<void> {
          this.waits.push(ms);
        }
      }
      const gone = exportedObject('gone');
      for (const found of [[], [gone]]) {
        const stop = new AbortController();
        const wakeup = new RecordedWakeup();
        const { options } = newExport({ timing: fakeTiming(), isRestarted: true });
        const read = async (): Promise<DesiredState> => {
          if (wakeup.waits.length === 2) stop.abort();
          return state();
        };
        const objects = new Map(found.map((object) => [keyOf(object), object]));
        const target = { ...recordingTarget([]), objects };
        const reconciler = new Reconciler({ ...options, isTargetSynced: () => true, read, target });
        await reconciler.run(stop.signal, wakeup);
        expect(wakeup.waits).toEqual([0, 60_000]);
      }
    });

    it('creates in the order of the target, and deletes in the opposite one', async () => {
      const calls: string[] = [];
      const { options } = newExport();
      const objects = new Map(['x-2', 'x-1'].map((name) => [`inventory/${name}`, exportedObject(name)]));
      const order = ({ metadata: { name = '' } }: ApiObject): number => Number(name.slice(-1));
      const target = { ...recordingTarget(calls), objects, order };
      const read = async () => state(cluster('n-3'), cluster('n-1'), cluster('n-2'));
      await new Reconciler({ ...options, isTargetSynced: () => true, read, target }).reconcile();
      expect(calls).toEqual(['create n-1', 'create n-2', 'create n-3', 'delete x-2', 'delete x-1']);
    });
  });

  it('follows the hub across lost connections, a 410 and a restart', async () => {
    // Backoff without waiting.
    const timing = { ...realTiming, pause: (_: number, signal?: AbortSignal) => realTiming.pause(1, signal) };
    const { source, informer, reconciler, wakeup, reporter } = newExport({ timing });
    const stop = new AbortController();
    source.put(cluster('a', { env: 'prod' }));
    const running = [informer.run(stop.signal), reconciler.run(stop.signal, wakeup)];
    const restored = async (): Promise<void> => {
      while (profile('a')?.metadata.labels?.env !== 'prod' || !reporter.isSynced)
        await new Promise((resolve) => setTimeout(resolve, 2));
    };
    const breakIt = (): void => {
      const found = profile('a') as ApiObject;
      hub.put(PROFILES, { ...found, metadata: { ...found.metadata, labels: { ...found.metadata.labels, env: 'x' } } });
    };
    await restored();
    breakIt();
    await restored();
    hub.disconnectWatches();
    breakIt();
    await restored();
    breakIt();
    hub.forgetHistory();
    await restored();
    await hub.stop();
    breakIt();
    await hub.start();
    await restored();
    stop.abort();
    await Promise.all(running);
  });
});
