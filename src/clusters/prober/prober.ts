import type { ApiObject } from '../../api/kind.ts';
import { toTimestamp } from '../../objects/prepare.ts';
import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { FeedListener } from '../../storage/cache/feed.ts';
import type { CacheEvent } from '../../storage/cache/kind-cache.ts';
import { afterProbe, afterSilence, beginHistory, type History, type Verdict } from './history.ts';
import type { Outcome } from './outcome.ts';
import {
  ABANDONED,
  identityOf,
  isAbandoned,
  isNews,
  isProbed,
  type Observation,
  storedHeartbeat,
  storedVerdict,
} from './readiness.ts';
import { ProbeSchedule } from './schedule.ts';
import { StatusWriter, type StatusWriterOptions } from './status-writer.ts';

export interface ProberClock {
  /** Milliseconds that only ever grow: a wall clock that is set forward would make every cluster silent. */
  now(): number;
  /** Milliseconds since 1970, for what is written. */
  wall(): number;
  /** Runs the task after that time, once; gives back how to prevent it. */
  after(ms: number, task: () => void): () => void;
}

export interface ProberOptions {
  readonly intervalMs: number;
  /** The name of the endpoints in `spec`. */
  readonly endpointsField: string;
  readonly clusters: ObjectCache;
  /** One look at a cluster. Rejects only when the signal aborts. */
  readonly probe: (cluster: ApiObject, signal: AbortSignal) => Promise<Outcome>;
  readonly update: StatusWriterOptions['update'];
  /** Whether this process is the one that looks. */
  readonly leads: () => boolean;
  readonly clock: ProberClock;
  readonly random: () => number;
  readonly report: (problem: unknown) => void;
}

interface Memory {
  history: History;
  /** What is stored has been read: not before the first look, so that a start costs nothing per cluster. */
  isRead: boolean;
  /** When the time of the last look is worth a write of its own. */
  heartbeatAt: number;
}

const AT_ONCE = 50;
/** A look begins with work on this thread; requests have their turn between two handfuls. */
const STARTS_PER_TURN = 4;
/** At least so long between two handfuls. */
const LEAST_WAIT_MS = 1;
/** How often a process that does not lead asks whether it does by now. */
const LEAD_CHECK_MS = 1_000;
/** Each is parsed, which takes some thirty microseconds. */
const SILENT_PER_TURN = 100;
const SWEEP_PAUSE_MS = 100;
const HEARTBEAT_MS = 5 * 60_000;
const HEARTBEAT_SPREAD_MS = 30_000;

/**
 * Looks at every cluster once in an interval and keeps its condition `Ready`, its version and its type. What is new
 * is written at once. That a cluster was looked at again is written every five minutes at most, because every write
 * wakes everyone who watches the cluster.
 */
export class Prober implements FeedListener<StoredObject> {
  readonly #options: ProberOptions;
  readonly #writer: StatusWriter;
  readonly #running = new Set<Promise<void>>();
  #memory = new Map<string, Memory>();
  #schedule: ProbeSchedule;
  #abort = new AbortController();
  #cancelTimer: () => void = () => {};
  #leading = false;
  #stopped = false;
  #sweepAt = 0;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({ update: options.update, report: options.report });
    this.#schedule = this.#newSchedule();
  }

  start(): void {
    this.#turn();
  }

  /** Ends the looks that are under way; resolves when nothing of them is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    this.#abort.abort();
    await Promise.all(this.#running);
    await this.#writer.stop();
  }

  onEvent({ cache, before, after }: CacheEvent<StoredObject>): void {
    if (cache !== this.#options.clusters || !this.#leading || this.#stopped) return;
    const name = (after ?? before)?.name ?? '';
    const cluster = after?.object();
    if (cluster === undefined || !this.#isProbed(cluster)) {
      this.#forget(name, cluster);
      return;
    }
    const isSame = before !== undefined && identityOf(before.object()) === identityOf(cluster);
    if (isSame && this.#schedule.has(name)) return;
    // What was found out about another address says nothing about this one.
    this.#remember(name);
    this.#schedule.addOrHurry(name);
    this.#arm();
  }

  onProgress(): void {}

  onReset(): void {
    if (this.#leading && !this.#stopped) this.#reload();
  }

  #newSchedule(): ProbeSchedule {
    const { intervalMs, random } = this.#options;
    return new ProbeSchedule({ intervalMs, atOnce: AT_ONCE, random });
  }

  #isProbed(cluster: ApiObject): boolean {
    return isProbed(cluster, this.#options.endpointsField);
  }

  #remember(name: string): void {
    const history = beginHistory(undefined, this.#options.clock.now());
    this.#memory.set(name, { history, isRead: false, heartbeatAt: 0 });
  }

  #forget(name: string, cluster: ApiObject | undefined): void {
    this.#memory.delete(name);
    this.#schedule.remove(name);
    if (cluster !== undefined && isAbandoned(cluster)) this.#put(name, cluster, ABANDONED, undefined);
  }

  /** Takes up what the cache holds and drops what it no longer does. */
  #reload(): void {
    const { clusters, clock } = this.#options;
    const present = new Set<string>();
    for (const { name } of clusters.current.scan(clusters.prefix)) {
      present.add(name);
      if (this.#schedule.has(name)) continue;
      this.#remember(name);
      this.#schedule.addSometime(name, clock.now());
    }
    for (const name of [...this.#schedule.names()]) if (!present.has(name)) this.#forget(name, undefined);
    this.#arm();
  }

  /** Another process may have begun or ceased to look. */
  #checkLead(): void {
    const leads = this.#options.leads();
    if (leads === this.#leading) return;
    this.#leading = leads;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#memory = new Map();
    this.#schedule = this.#newSchedule();
    this.#sweepAt = this.#options.clock.now() + this.#options.intervalMs;
    if (leads) this.#reload();
  }

  #turn(): void {
    if (this.#stopped) return;
    this.#checkLead();
    const now = this.#options.clock.now();
    if (this.#leading && now >= this.#sweepAt) this.#sweep(now);
    for (let started = 0; started < STARTS_PER_TURN; started++) {
      const taken = this.#schedule.take(now);
      if (taken === undefined) break;
      const look = this.#look(taken, this.#abort.signal);
      this.#running.add(look);
      void look.finally(() => {
        this.#running.delete(look);
        this.#arm();
      });
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const now = clock.now();
    const next = this.#leading ? Math.min(this.#schedule.nextAt() ?? Number.POSITIVE_INFINITY, this.#sweepAt) : now;
    const wait = this.#leading ? Math.max(next - now, LEAST_WAIT_MS) : LEAD_CHECK_MS;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(Math.min(wait, LEAD_CHECK_MS), () => this.#turn());
  }

  async #look(taken: NonNullable<ReturnType<ProbeSchedule['take']>>, signal: AbortSignal): Promise<void> {
    const { clock, probe, report } = this.#options;
    const { name } = taken;
    let failed = false;
    try {
      const cluster = this.#find(name);
      if (cluster === undefined || !this.#isProbed(cluster)) {
        this.#forget(name, cluster);
        return;
      }
      const outcome = await probe(cluster, signal);
      failed = !outcome.ready;
      if (!signal.aborted) this.#conclude(name, identityOf(cluster), outcome);
    } catch (error) {
      if (!signal.aborted) report(error);
    } finally {
      taken.finish(failed, clock.now());
    }
  }

  #find(name: string): ApiObject | undefined {
    const { clusters } = this.#options;
    return clusters.current.get(`${clusters.prefix}${name}`)?.object();
  }

  #conclude(name: string, identity: string, outcome: Outcome): void {
    const memory = this.#memory.get(name);
    const cluster = this.#find(name);
    // It was changed while we looked: the schedule has put it first in the queue again.
    if (memory === undefined || cluster === undefined || identityOf(cluster) !== identity) return;
    const now = this.#options.clock.now();
    this.#read(memory, cluster, now);
    memory.history = afterProbe(memory.history, outcome, now);
    this.#tell(name, cluster, memory, outcome.ready ? outcome.version : undefined);
  }

  #read(memory: Memory, cluster: ApiObject, now: number): void {
    if (memory.isRead) return;
    const { clock, random } = this.#options;
    const heartbeat = storedHeartbeat(cluster);
    const age = heartbeat === undefined ? HEARTBEAT_MS : Math.max(clock.wall() - heartbeat, 0);
    // After a pause the heartbeats of the whole fleet are overdue; they are spread over the time they have.
    const wait = age < HEARTBEAT_MS ? HEARTBEAT_MS - age : random() * HEARTBEAT_MS;
    memory.isRead = true;
    memory.heartbeatAt = now + wait;
    memory.history = beginHistory(storedVerdict(cluster), memory.history.knownAt);
  }

  #tell(name: string, cluster: ApiObject, memory: Memory, version: string | undefined): void {
    const { verdict } = memory.history;
    if (verdict === undefined) return;
    const now = this.#options.clock.now();
    if (now < memory.heartbeatAt && !isNews(cluster, { verdict, version })) return;
    memory.heartbeatAt = now + HEARTBEAT_MS + this.#options.random() * HEARTBEAT_SPREAD_MS;
    this.#put(name, cluster, verdict, version);
  }

  #put(name: string, { metadata }: ApiObject, verdict: Verdict, version: string | undefined): void {
    const observed: Observation = { verdict, version, at: toTimestamp(this.#options.clock.wall()) };
    this.#writer.put(name, metadata.uid ?? '', observed);
  }

  /** Says of clusters that it did not manage to look at that it does not know. */
  #sweep(now: number): void {
    const { intervalMs } = this.#options;
    this.#sweepAt = now + intervalMs;
    let found = 0;
    for (const [name, memory] of this.#memory) {
      const next = afterSilence(memory.history, now, intervalMs);
      if (next === memory.history) continue;
      if (++found > SILENT_PER_TURN) {
        this.#sweepAt = now + SWEEP_PAUSE_MS;
        return;
      }
      const cluster = this.#find(name);
      if (cluster === undefined || !this.#isProbed(cluster)) {
        this.#forget(name, cluster);
        continue;
      }
      this.#read(memory, cluster, now);
      memory.history = next;
      this.#tell(name, cluster, memory, undefined);
    }
  }
}
