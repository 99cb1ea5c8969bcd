import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApiObject } from '../../src/api/kind.ts';
import type { ClusterStatus } from '../../src/api/kinds/cluster-spec.ts';
import type { Outcome } from '../../src/clusters/prober/outcome.ts';
import { createProber, type ProberOptions } from '../../src/clusters/prober/prober.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { at, catalog, type Gate, type Objects, openObjects } from './object-store.ts';

const MINUTE = 60_000;
const OK: Outcome = { ready: true, version: 'v1.36.4+k3s1' };
const DOWN: Outcome = { ready: false, fault: 'network', message: 'gone' };

/** A clock that the test advances. */
class ManualClock {
  time = 0;
  #tasks: { readonly at: number; readonly task: () => void }[] = [];
  readonly now = (): number => this.time;
  readonly wall = (): number => Date.UTC(2026, 0, 1) + this.time;
  readonly after = (ms: number, task: () => void): (() => void) => {
    const entry = { at: this.time + ms, task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  };

  /** Runs the due tasks one after the other, with a tick for each. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      await nextTick();
      const next = this.#tasks.reduce((least, { at: due }) => Math.min(least, due), Number.POSITIVE_INFINITY);
      if (next > end) break;
      this.time = Math.max(this.time, next);
      const due = this.#tasks.filter((entry) => entry.at <= this.time);
      this.#tasks = this.#tasks.filter((entry) => entry.at > this.time);
      for (const { task } of due) task();
    }
    this.time = end;
  }
}

interface World {
  readonly objects: Objects;
  readonly clock: ManualClock;
  readonly prober: ReturnType<typeof createProber>;
  /** The outcome of the next probes. */
  outcome: Outcome | ((cluster: ApiObject, signal: AbortSignal) => Promise<Outcome>);
  leads: boolean;
  /** The names of the probed clusters. */
  probes: string[];
  /** What the log gets. */
  revealed: string[];
  refreshTimes: number[];
  /** The names of the clusters that were to read their keys again. */
  refreshes: string[];
  answersRefresh: boolean;
  ready(name: string): { status?: string; reason?: string; lastHeartbeatTime?: string } | undefined;
  status(name: string): ClusterStatus;
  /** Waits until the condition holds. */
  until(holds: () => boolean): Promise<void>;
}

async function openWorld(gate?: Gate): Promise<World> {
  const objects = await openObjects(newDatabase(), gate);
  const clock = new ManualClock();
  const status = (name: string): ClusterStatus =>
    (objects.reader.find(catalog.clusters, at('', '', name))?.object().status ?? {}) as ClusterStatus;
  const options: ProberOptions = {
    intervalMs: 30_000,
    endpointsField: 'orchestratorApiEndpoints',
    clusters: objects.reader.cache(catalog.clusters),
    probe: async (cluster, signal, refreshKeys) => {
      world.probes.push(cluster.metadata.name ?? '');
      if (refreshKeys) world.refreshes.push(cluster.metadata.name ?? '');
      if (refreshKeys && world.outcome === OK) return { ...OK, refreshed: world.answersRefresh };
      return typeof world.outcome === 'function' ? world.outcome(cluster, signal) : world.outcome;
    },
    refreshTimes: () => world.refreshTimes,
    update: (name, uid, change) =>
      objects.writer.update(catalog.clusters, at('', '', name), change, {
        dryRun: false,
        part: 'status',
        preconditions: { uid },
      }),
    leads: () => world.leads,
    clock,
    random: () => 0.5,
    report: (problem) => {
      throw problem;
    },
    reveal: (name, reason, message) => world.revealed.push(`${name} ${reason} ${message}`),
  };
  const prober = createProber(options);
  objects.reflector.listen(prober);
  const world: World = {
    objects,
    clock,
    prober,
    outcome: OK,
    leads: true,
    probes: [],
    revealed: [],
    refreshTimes: [],
    refreshes: [],
    answersRefresh: true,
    status,
    ready: (name) => status(name).conditions?.find(({ type }) => type === 'Ready'),
    until: async (holds) => {
      while (!holds()) await nextTick();
    },
  };
  onTestFinished(() => prober.stop());
  return world;
}

async function startReady(world: World): Promise<void> {
  world.prober.start();
  await register(world, 'a');
  await world.clock.pass(10);
  await world.until(() => world.ready('a')?.status === 'True');
}

async function register({ objects }: World, name: string, address = 'https://10.0.0.1:6443'): Promise<void> {
  const cluster: ApiObject = {
    apiVersion: '',
    kind: '',
    metadata: { name },
    spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: address }] } },
  };
  await objects.writer.create(catalog.clusters, at('', '', ''), cluster, { dryRun: false });
}

/** As another program does. */
const change = ({ objects }: World, name: string, part: 'object' | 'status', edit: (cluster: ApiObject) => ApiObject) =>
  objects.otherWriter().update(catalog.clusters, at('', '', name), edit, { dryRun: false, part });

const setConditions = (world: World, name: string, conditions: ClusterStatus['conditions']) =>
  change(world, name, 'status', (cluster) => ({ ...cluster, status: { ...(cluster.status as object), conditions } }));

const annotate = (world: World, name: string, value: string) =>
  change(world, name, 'object', (cluster) => ({
    ...cluster,
    metadata: { ...cluster.metadata, annotations: { 'clusterpass.dev/probe': value } },
  }));

describe('the prober', () => {
  it('probes a new cluster at once, and writes condition, version and type', async () => {
    const world = await openWorld();
    await startReady(world);
    expect(world.status('a')).toMatchObject({ version: 'v1.36.4+k3s1', type: 'k3s' });
  });

  it('A11: tells nothing of what failed, nor when, for a cluster that was never ready', async () => {
    const world = await openWorld();
    // Refused at once, and no answer for five seconds: a closed port, and one behind a firewall.
    world.outcome = async (cluster) => {
      if (cluster.metadata.name === 'closed') return DOWN;
      await new Promise<void>((resolve) => world.clock.after(5_000, resolve));
      return { ready: false, fault: 'timeout', message: 'late' };
    };
    world.prober.start();
    for (const name of ['closed', 'silent']) await register(world, name);
    await world.clock.pass(59_000);
    expect(world.probes).toEqual(['closed', 'silent', 'closed', 'silent']);
    await world.clock.pass(8_000);
    await world.until(() => ['closed', 'silent'].every((name) => world.ready(name)?.status === 'False'));
    expect(world.ready('closed')).toEqual(world.ready('silent'));
    expect(world.ready('closed')?.reason).toBe('ProbeNotYetSucceeded');
    expect(world.revealed).toEqual(['closed ProbeNetworkFailed gone', 'silent ProbeTimedOut late']);
  });

  it('A11: a cluster with another address was never ready there', async () => {
    const world = await openWorld();
    await startReady(world);
    world.outcome = DOWN;
    await change(world, 'a', 'object', (cluster) => ({
      ...cluster,
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.2:22' }] } },
    }));
    expect(world.ready('a')).toMatchObject({ status: 'Unknown', reason: 'ProbePending' });
    await world.clock.pass(70_000);
    await world.until(() => world.ready('a')?.status === 'False');
    expect(world.ready('a')?.reason).toBe('ProbeNotYetSucceeded');
  });

  it('keeps conditions of other types, also one that is written concurrently', async () => {
    let between: (() => Promise<unknown>) | undefined;
    const gate: Gate = async (_, next) => {
      const first = between;
      between = undefined;
      await first?.();
      return next();
    };
    const world = await openWorld(gate);
    world.prober.start();
    await register(world, 'a');
    between = () => setConditions(world, 'a', [{ type: 'CredentialUsable', status: 'False', reason: 'Unconfirmed' }]);
    await world.clock.pass(10);
    await world.until(() => world.status('a').conditions?.length === 2);
    expect(world.status('a').conditions?.map(({ type }) => type)).toEqual(['CredentialUsable', 'Ready']);
  });

  it('does not probe a cluster with a Ready condition of another program, until it is enabled', async () => {
    const world = await openWorld();
    await register(world, 'a');
    await setConditions(world, 'a', [{ type: 'Ready', status: 'False', reason: 'NodesLost' }]);
    world.prober.start();
    await world.clock.pass(2 * MINUTE);
    expect([world.probes, world.ready('a')?.reason]).toEqual([[], 'NodesLost']);
    await annotate(world, 'a', 'enabled');
    await world.clock.pass(10);
    await world.until(() => world.ready('a')?.reason === 'ProbeSucceeded');
  });

  it('probes a changed address at once, and drops the running probe of the old one', async () => {
    const world = await openWorld();
    const old = Promise.withResolvers<Outcome>();
    world.outcome = () => old.promise;
    world.prober.start();
    await register(world, 'a');
    await world.clock.pass(10);
    world.outcome = { ready: true, version: 'v2' };
    await change(world, 'a', 'object', (cluster) => ({
      ...cluster,
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.2' }] } },
    }));
    old.resolve({ ready: true, version: 'v1' });
    await world.clock.pass(10);
    await world.until(() => world.status('a').version !== undefined);
    expect([world.probes, world.status('a').version]).toEqual([['a', 'a'], 'v2']);
  });

  it('A43: makes each cluster read its keys again at each of the given times, once', async () => {
    const world = await openWorld();
    world.prober.start();
    for (const name of ['a', 'b']) await register(world, name);
    await world.clock.pass(2 * MINUTE);
    expect(world.refreshes).toEqual([]);
    const now = world.clock.wall();
    world.refreshTimes = [now - 1, now + 10 * MINUTE];
    await world.clock.pass(9 * MINUTE);
    expect(world.refreshes.toSorted()).toEqual(['a', 'b']);
    await world.clock.pass(3 * MINUTE);
    expect(world.refreshes.toSorted()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('A43: tries again while a cluster does not answer, and a new leader does it once more', async () => {
    const world = await openWorld();
    world.answersRefresh = false;
    world.prober.start();
    await register(world, 'a');
    await world.clock.pass(10);
    world.refreshTimes = [world.clock.wall() - 1];
    await world.clock.pass(61_000);
    expect(world.refreshes).toEqual(['a', 'a']);
    world.answersRefresh = true;
    await world.clock.pass(3 * MINUTE);
    expect(world.refreshes).toEqual(['a', 'a', 'a']);
    world.leads = false;
    await world.clock.pass(MINUTE);
    world.leads = true;
    await world.clock.pass(2 * MINUTE);
    expect(world.refreshes).toEqual(['a', 'a', 'a', 'a']);
  });

  it('probes only while it leads', async () => {
    const world = await openWorld();
    world.leads = false;
    world.prober.start();
    await register(world, 'a');
    await world.clock.pass(2 * MINUTE);
    expect(world.probes).toEqual([]);
    world.leads = true;
    await world.clock.pass(40_000);
    expect(world.probes).toEqual(['a']);
    world.leads = false;
    await world.clock.pass(2 * MINUTE);
    expect(world.probes).toEqual(['a']);
  });
});
