import type { Conclusion } from '../../api/clusters/conditions.ts';
import type { ApiObject } from '../../api/kind.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { KeyedWriter, type ObjectChange } from '../../objects/keyed-writer.ts';
import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';
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
import { ProbeSchedule } from './schedule.ts';

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
  /** Called when an API server has been made to. */
  readonly onRefreshed: () => void;
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
export class Prober implements ReflectorListener<StoredObject> {
  readonly #options: ProberOptions;
  readonly #writer: KeyedWriter;
  readonly #running = new Set<Promise<void>>();
  #states = new Map<string, ClusterState>();
  #schedule: ProbeSchedule;
  /** The rest of the clusters of the cache that are not scheduled yet, after a start or a reset. */
  #unscheduled: Iterator<StoredObject> | undefined;
  #abort = new AbortController();
  #cancelTimer: () => void = () => {};
  #isLeading = false;
  #isStopped = false;
  #nextMissedCheckAt = 0;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#writer = new KeyedWriter({ update: options.update, report: options.report });
    this.#schedule = this.#newSchedule();
  }

  start(): void {
    this.#tick();
  }

  /** Aborts the running probes; resolves when they and the writes have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#abort.abort();
    await Promise.all(this.#running);
    await this.#writer.stop();
  }

  onEvent({ cache, before, after }: CacheEvent<StoredObject>): void {
    if (cache !== this.#options.clusters || !this.#isLeading || this.#isStopped) return;
    const name = (after ?? before)?.name ?? '';
    const cluster = after?.object();
    if (cluster === undefined || !this.#isProbed(cluster)) {
      this.#remove(name, cluster);
      return;
    }
    const isSame = before !== undefined && probeIdentity(before.object()) === probeIdentity(cluster);
    if (isSame && this.#schedule.has(name)) return;
    // The history of another address does not count.
    this.#addState(name);
    this.#schedule.addFirst(name);
    this.#arm();
  }

  onReset(): void {
    if (this.#isLeading && !this.#isStopped) this.#reload();
  }

  #newSchedule(): ProbeSchedule {
    const { intervalMs, random } = this.#options;
    return new ProbeSchedule({ intervalMs, maxConcurrent: MAX_CONCURRENT, random });
  }

  #isProbed(cluster: ApiObject): boolean {
    return isProbed(cluster, this.#options.endpointsField);
  }

  #addState(name: string): void {
    const history = beginHistory(undefined, this.#options.clock.now());
    this.#states.set(name, { history, isLoaded: false, heartbeatAt: 0, refreshedAt: Number.NEGATIVE_INFINITY });
  }

  #remove(name: string, cluster: ApiObject | undefined): void {
    this.#states.delete(name);
    this.#schedule.remove(name);
    if (cluster !== undefined && needsDisabledVerdict(cluster)) this.#write(name, cluster, DISABLED, undefined);
  }

  /** Schedules the clusters of the cache. Those that were deleted without an event are removed when they are due. */
  #reload(): void {
    const { clusters } = this.#options;
    this.#unscheduled = clusters.snapshot.scan(clusters.prefix);
    this.#arm();
  }

  /** Schedules some of the clusters of the cache; a large fleet takes several ticks. */
  #addSome(now: number): void {
    for (let count = 0; count < ADDED_PER_TICK; count++) {
      const next = this.#unscheduled?.next();
      if (next === undefined || next.done === true) {
        this.#unscheduled = undefined;
        return;
      }
      const { name } = next.value;
      if (this.#schedule.has(name)) continue;
      this.#addState(name);
      this.#schedule.addWithinInterval(name, now);
    }
  }

  /** Starts or stops probing when the leader has changed. */
  #checkLead(): void {
    const leads = this.#options.leads();
    if (leads === this.#isLeading) return;
    this.#isLeading = leads;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#states = new Map();
    this.#schedule = this.#newSchedule();
    this.#unscheduled = undefined;
    this.#nextMissedCheckAt = this.#options.clock.now() + this.#options.intervalMs;
    if (leads) this.#reload();
  }

  #tick(): void {
    if (this.#isStopped) return;
    this.#checkLead();
    const now = this.#options.clock.now();
    this.#addSome(now);
    if (this.#isLeading && now >= this.#nextMissedCheckAt) this.#checkMissed(now);
    for (let started = 0; started < STARTS_PER_TICK; started++) {
      const taken = this.#schedule.take(now);
      if (taken === undefined) break;
      const probe = this.#probe(taken, this.#abort.signal);
      this.#running.add(probe);
      void probe.finally(() => {
        this.#running.delete(probe);
        this.#arm();
      });
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const now = clock.now();
    const nextProbe = this.#unscheduled === undefined ? (this.#schedule.nextAt() ?? Number.POSITIVE_INFINITY) : now;
    const next = Math.min(nextProbe, this.#nextMissedCheckAt);
    const wait = this.#isLeading ? Math.max(next - now, MIN_WAIT_MS) : LEAD_CHECK_MS;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(Math.min(wait, LEAD_CHECK_MS), () => this.#tick());
  }

  async #probe(taken: NonNullable<ReturnType<ProbeSchedule['take']>>, signal: AbortSignal): Promise<void> {
    const { clock, probe, report, onRefreshed } = this.#options;
    const { name } = taken;
    const startedAt = clock.now();
    let failed = false;
    let isFinished = false;
    const finish = (): void => {
      if (!isFinished) taken.finish(failed, clock.now());
      isFinished = true;
    };
    try {
      const stored = this.#stored(name);
      const cluster = stored?.object();
      if (stored === undefined || cluster === undefined || !this.#isProbed(cluster)) {
        this.#remove(name, cluster);
        return;
      }
      const state = this.#states.get(name);
      const wall = clock.wall();
      const outcome = await probe(cluster, signal, this.#isRefreshDue(state, wall));
      failed = !outcome.ready;
      if (signal.aborted) return;
      if (state !== undefined && outcome.ready && outcome.refreshed === true) {
        state.refreshedAt = wall;
        onRefreshed();
      }
      if (failed && !this.#wasReady(name, cluster)) {
        // The slot is free meanwhile: a fleet with many dead clusters is probed as often as before.
        finish();
        this.#arm();
        await this.#until(startedAt + CONCEAL_MS, signal);
        if (signal.aborted) return;
      }
      const current = this.#stored(name);
      // Most clusters have not changed meanwhile, and need not be parsed again.
      const now = current?.revision === stored.revision ? cluster : current?.object();
      // The outcome for a cluster that has changed is dropped; its event has scheduled it first.
      if (now === cluster || (now !== undefined && probeIdentity(now) === probeIdentity(cluster))) {
        this.#conclude(name, now, outcome);
      }
    } catch (error) {
      if (!signal.aborted) report(error);
    } finally {
      finish();
    }
  }

  /** A time counts once for each cluster. A request that fails is sent again with the next probe. */
  #isRefreshDue(state: ClusterState | undefined, wall: number): boolean {
    if (state === undefined) return false;
    return this.#options.refreshTimes().some((at) => at <= wall && at > state.refreshedAt);
  }

  /** Whether the cluster was ready before. Also records that a probe of it has finished. */
  #wasReady(name: string, cluster: ApiObject): boolean {
    const state = this.#states.get(name);
    if (state === undefined) return false;
    this.#load(state, cluster);
    state.history = { ...state.history, probedAt: this.#options.clock.now() };
    return state.history.wasReady;
  }

  /** Resolves at that time, or when the signal aborts. */
  #until(at: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    const cancel = clock.after(Math.max(at - clock.now(), 0), end);
    signal.addEventListener('abort', end);
    return promise.finally(() => {
      cancel();
      signal.removeEventListener('abort', end);
    });
  }

  #stored(name: string): StoredObject | undefined {
    const { clusters } = this.#options;
    return clusters.get(`${clusters.prefix}${name}`);
  }

  #conclude(name: string, cluster: ApiObject, outcome: Outcome): void {
    const state = this.#states.get(name);
    if (state === undefined) return;
    const now = this.#options.clock.now();
    this.#load(state, cluster);
    state.history = afterProbe(state.history, outcome, now);
    if (!outcome.ready && revealsInLog(state.history)) {
      this.#options.reveal(name, FAULT_REASONS[outcome.fault], outcome.message);
    }
    this.#writeIfNeeded(name, cluster, state, outcome.ready ? outcome.version : undefined);
  }

  #load(state: ClusterState, cluster: ApiObject): void {
    if (state.isLoaded) return;
    const { clock, random } = this.#options;
    state.isLoaded = true;
    state.heartbeatAt = firstHeartbeat(cluster, clock, random);
    state.history = beginHistory(storedVerdict(cluster), state.history.probedAt);
  }

  #writeIfNeeded(name: string, cluster: ApiObject, state: ClusterState, version: string | undefined): void {
    const { verdict } = state.history;
    if (verdict === undefined) return;
    const now = this.#options.clock.now();
    if (now < state.heartbeatAt && !changesStatus(cluster, { verdict, version })) return;
    state.heartbeatAt = nextHeartbeat(now, this.#options.random);
    this.#write(name, cluster, verdict, version);
  }

  #write(name: string, { metadata }: ApiObject, verdict: Conclusion, version: string | undefined): void {
    const observed: Observation = { verdict, version, at: toTimestamp(this.#options.clock.wall()) };
    // If the write fails, the next probe finds that the store does not hold its result, and writes it.
    this.#writer.put(name, metadata.uid ?? '', (current) => withObservation(current, observed));
  }

  /** Sets clusters to Unknown whose probes have not finished for too long. */
  #checkMissed(now: number): void {
    const { intervalMs } = this.#options;
    this.#nextMissedCheckAt = now + intervalMs;
    let found = 0;
    for (const [name, state] of this.#states) {
      const next = afterMissedProbes(state.history, now, intervalMs);
      if (next === state.history) continue;
      if (++found > MISSED_PER_TICK) {
        this.#nextMissedCheckAt = now + MISSED_PAUSE_MS;
        return;
      }
      const cluster = this.#stored(name)?.object();
      if (cluster === undefined || !this.#isProbed(cluster)) {
        this.#remove(name, cluster);
        continue;
      }
      this.#load(state, cluster);
      state.history = next;
      this.#writeIfNeeded(name, cluster, state, undefined);
    }
  }
}
