import type { Conclusion } from '../../api/clusters/conditions.ts';
import type { ApiObject } from '../../api/kind.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { createKeyedWriter, type ObjectChange } from '../../objects/keyed-writer.ts';
import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { CacheEvent } from '../../storage/watch-cache.ts';
import { afterMissedProbes, afterProbe, beginHistory, type History, revealsInLog } from './history.ts';
import { FAULT_REASONS, type Outcome } from './outcome.ts';
import {
  changesStatus,
  DISABLED,
  firstHeartbeat,
  type HeartbeatClock,
  isProbed,
  needsDisabledVerdict,
  nextHeartbeat,
  type Observation,
  probeIdentity,
  storedVerdict,
  withObservation,
} from './readiness.ts';
import { createProbeSchedule, type ProbeSchedule } from './schedule.ts';

/** `now` is monotonic: a wall clock that is set forward would make every probe appear missed. */
export interface ProberClock extends HeartbeatClock {
  /** Runs the task once after that time; returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}

export interface ProberOptions {
  readonly intervalMs: number;
  /** The name of the endpoints in `spec`. */
  readonly endpointsField: string;
  readonly clusters: ObjectCache;
  /** With `refreshKeys` it makes the API server read its keys again. Rejects only when the signal aborts. */
  readonly probe: (cluster: ApiObject, signal: AbortSignal, refreshKeys: boolean) => Promise<Outcome>;
  /** Times at which every API server has to read its keys again: epoch milliseconds, past ones and future ones. */
  readonly refreshTimes: () => readonly number[];
  readonly update: (name: string, uid: string, change: ObjectChange) => Promise<unknown>;
  /** Whether this process is the leader, and so the one that probes. */
  readonly leads: () => boolean;
  readonly clock: ProberClock;
  readonly random: () => number;
  readonly report: (problem: unknown) => void;
  /** Called with the fault of a cluster that was never ready, which its condition does not show. */
  readonly reveal: (name: string, reason: string, message: string) => void;
}

interface ClusterState {
  history: History;
  /** The stored verdict is in `history`. It is parsed at the first probe, so that a start parses no objects. */
  isLoaded: boolean;
  /** From then on an unchanged condition is written as well. */
  heartbeatAt: number;
  /** When the API server was last made to read its keys again, in epoch milliseconds. */
  refreshedAt: number;
}

const MAX_CONCURRENT = 50;
/** A probe starts with work on this thread, so requests run between two handfuls of starts. */
const STARTS_PER_TICK = 8;
/** Between two ticks. Each wakes both threads, so a few starts at once cost less than one by one. */
const MIN_WAIT_MS = 10;
/** How often a process that is not the leader checks whether it has become the leader. */
const LEAD_CHECK_MS = 1_000;
const ADDED_PER_TICK = 1_000;
/** Each is parsed, which takes about thirty microseconds. */
const MISSED_PER_TICK = 100;
const MISSED_PAUSE_MS = 100;
/**
 * The condition of a cluster that was never ready is written this long after its probe began, longer than any probe
 * takes. Otherwise the time of the write would tell a closed port from one that does not answer.
 */
const CONCEAL_MS = 6_000;

/**
 * Probes every cluster once in an interval and keeps its condition `Ready`, its version and its type. A change is
 * written at once. An unchanged condition is written every five minutes at most, because every write wakes the watchers
 * of the cluster.
 */
export function createProber(options: ProberOptions) {
  const { clusters, clock, random, intervalMs } = options;
  const writer = createKeyedWriter(options.update, options.report);
  const running = new Set<Promise<void>>();
  let states = new Map<string, ClusterState>();
  let schedule = newSchedule();
  /** The rest of the clusters of the cache that are not scheduled yet, after a start or a reset. */
  let unscheduled: Iterator<StoredObject> | undefined;
  let abort = new AbortController();
  let cancelTimer: () => void = () => {};
  let isLeading = false;
  let isStopped = false;
  let nextMissedCheckAt = 0;

  /** Aborts the running probes; resolves when they and the writes have ended. */
  async function stop(): Promise<void> {
    isStopped = true;
    cancelTimer();
    abort.abort();
    await Promise.all(running);
    await writer.stop();
  }

  function onEvent({ cache, before, after }: CacheEvent<StoredObject>): void {
    if (cache !== clusters || !isLeading || isStopped) return;
    const name = (after ?? before)?.name ?? '';
    const cluster = after?.object();
    if (cluster === undefined || !isToProbe(cluster)) {
      remove(name, cluster);
      return;
    }
    const isSame = before !== undefined && probeIdentity(before.object()) === probeIdentity(cluster);
    if (isSame && schedule.has(name)) return;
    // The history of another address does not count.
    addState(name);
    schedule.addFirst(name);
    arm();
  }

  function onReset(): void {
    if (isLeading && !isStopped) reload();
  }

  function newSchedule() {
    return createProbeSchedule(intervalMs, MAX_CONCURRENT, random);
  }

  function isToProbe(cluster: ApiObject): boolean {
    return isProbed(cluster, options.endpointsField);
  }

  function addState(name: string): void {
    const history = beginHistory(undefined, clock.now());
    states.set(name, { history, isLoaded: false, heartbeatAt: 0, refreshedAt: Number.NEGATIVE_INFINITY });
  }

  function remove(name: string, cluster: ApiObject | undefined): void {
    states.delete(name);
    schedule.remove(name);
    if (cluster !== undefined && needsDisabledVerdict(cluster)) write(name, cluster, DISABLED, undefined);
  }

  /** Schedules the clusters of the cache. Those that were deleted without an event are removed when they are due. */
  function reload(): void {
    unscheduled = clusters.snapshot.scan(clusters.prefix);
    arm();
  }

  /** Schedules some of the clusters of the cache; a large fleet takes several ticks. */
  function addSome(now: number): void {
    for (let count = 0; count < ADDED_PER_TICK; count++) {
      const next = unscheduled?.next();
      if (next === undefined || next.done === true) {
        unscheduled = undefined;
        return;
      }
      const { name } = next.value;
      if (schedule.has(name)) continue;
      addState(name);
      schedule.addWithinInterval(name, now);
    }
  }

  /** Starts or stops probing when the leader has changed. */
  function checkLead(): void {
    const leads = options.leads();
    if (leads === isLeading) return;
    isLeading = leads;
    abort.abort();
    abort = new AbortController();
    states = new Map();
    schedule = newSchedule();
    unscheduled = undefined;
    nextMissedCheckAt = clock.now() + intervalMs;
    if (leads) reload();
  }

  function tick(): void {
    if (isStopped) return;
    checkLead();
    const now = clock.now();
    addSome(now);
    if (isLeading && now >= nextMissedCheckAt) checkMissed(now);
    for (let started = 0; started < STARTS_PER_TICK; started++) {
      const taken = schedule.take(now);
      if (taken === undefined) break;
      const probe = probeNext(taken, abort.signal);
      running.add(probe);
      void probe.finally(() => {
        running.delete(probe);
        arm();
      });
    }
    arm();
  }

  function arm(): void {
    if (isStopped) return;
    const now = clock.now();
    const nextProbe = unscheduled === undefined ? (schedule.nextAt() ?? Number.POSITIVE_INFINITY) : now;
    const next = Math.min(nextProbe, nextMissedCheckAt);
    const wait = isLeading ? Math.max(next - now, MIN_WAIT_MS) : LEAD_CHECK_MS;
    cancelTimer();
    cancelTimer = clock.after(Math.min(wait, LEAD_CHECK_MS), () => tick());
  }

  async function probeNext(taken: NonNullable<ReturnType<ProbeSchedule['take']>>, signal: AbortSignal): Promise<void> {
    const { name } = taken;
    const startedAt = clock.now();
    let failed = false;
    let isFinished = false;
    const finish = (): void => {
      if (!isFinished) taken.finish(failed, clock.now());
      isFinished = true;
    };
    try {
      const stored = storedAs(name);
      const cluster = stored?.object();
      if (stored === undefined || cluster === undefined || !isToProbe(cluster)) {
        remove(name, cluster);
        return;
      }
      const state = states.get(name);
      const wall = clock.wall();
      const outcome = await options.probe(cluster, signal, isRefreshDue(state, wall));
      failed = !outcome.ready;
      if (signal.aborted) return;
      if (state !== undefined && outcome.ready && outcome.refreshed === true) state.refreshedAt = wall;
      if (failed && !wasReady(name, cluster)) {
        // The slot is free meanwhile: a fleet with many dead clusters is probed as often as before.
        finish();
        arm();
        await until(startedAt + CONCEAL_MS, signal);
        if (signal.aborted) return;
      }
      const current = storedAs(name);
      // Most clusters have not changed meanwhile, and need not be parsed again.
      const now = current?.revision === stored.revision ? cluster : current?.object();
      // The outcome for a cluster that has changed is dropped; its event has scheduled it first.
      if (now === cluster || (now !== undefined && probeIdentity(now) === probeIdentity(cluster))) {
        conclude(name, now, outcome);
      }
    } catch (error) {
      if (!signal.aborted) options.report(error);
    } finally {
      finish();
    }
  }

  /** A time counts once for each cluster. A request that fails is sent again with the next probe. */
  function isRefreshDue(state: ClusterState | undefined, wall: number): boolean {
    if (state === undefined) return false;
    return options.refreshTimes().some((at) => at <= wall && at > state.refreshedAt);
  }

  /** Whether the cluster was ready before. Also records that a probe of it has finished. */
  function wasReady(name: string, cluster: ApiObject): boolean {
    const state = states.get(name);
    if (state === undefined) return false;
    load(state, cluster);
    state.history = { ...state.history, probedAt: clock.now() };
    return state.history.wasReady;
  }

  /** Resolves at that time, or when the signal aborts. */
  function until(at: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    const cancel = clock.after(Math.max(at - clock.now(), 0), end);
    signal.addEventListener('abort', end);
    return promise.finally(() => {
      cancel();
      signal.removeEventListener('abort', end);
    });
  }

  function storedAs(name: string): StoredObject | undefined {
    return clusters.get(`${clusters.prefix}${name}`);
  }

  function conclude(name: string, cluster: ApiObject, outcome: Outcome): void {
    const state = states.get(name);
    if (state === undefined) return;
    const now = clock.now();
    load(state, cluster);
    state.history = afterProbe(state.history, outcome, now);
    if (!outcome.ready && revealsInLog(state.history)) {
      options.reveal(name, FAULT_REASONS[outcome.fault], outcome.message);
    }
    writeIfNeeded(name, cluster, state, outcome.ready ? outcome.version : undefined);
  }

  function load(state: ClusterState, cluster: ApiObject): void {
    if (state.isLoaded) return;
    state.isLoaded = true;
    state.heartbeatAt = firstHeartbeat(cluster, clock, random);
    state.history = beginHistory(storedVerdict(cluster), state.history.probedAt);
  }

  function writeIfNeeded(name: string, cluster: ApiObject, state: ClusterState, version: string | undefined): void {
    const { verdict } = state.history;
    if (verdict === undefined) return;
    const now = clock.now();
    if (now < state.heartbeatAt && !changesStatus(cluster, { verdict, version })) return;
    state.heartbeatAt = nextHeartbeat(now, random);
    write(name, cluster, verdict, version);
  }

  function write(name: string, { metadata }: ApiObject, verdict: Conclusion, version: string | undefined): void {
    const observed: Observation = { verdict, version, at: toTimestamp(clock.wall()) };
    // If the write fails, the next probe finds that the store does not hold its result, and writes it.
    writer.put(name, metadata.uid ?? '', (current) => withObservation(current, observed));
  }

  /** Sets clusters to Unknown whose probes have not finished for too long. */
  function checkMissed(now: number): void {
    nextMissedCheckAt = now + intervalMs;
    let found = 0;
    for (const [name, state] of states) {
      const next = afterMissedProbes(state.history, now, intervalMs);
      if (next === state.history) continue;
      if (++found > MISSED_PER_TICK) {
        nextMissedCheckAt = now + MISSED_PAUSE_MS;
        return;
      }
      const cluster = storedAs(name)?.object();
      if (cluster === undefined || !isToProbe(cluster)) {
        remove(name, cluster);
        continue;
      }
      load(state, cluster);
      state.history = next;
      writeIfNeeded(name, cluster, state, undefined);
    }
  }

  return { start: tick, stop, onEvent, onReset };
}
