import type { ApiObject } from '../../api/kind.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';
import type { CacheEvent } from '../../storage/watch-cache.ts';
import { firstHeartbeat, nextHeartbeat } from './heartbeat.ts';
import { afterProbe, afterSilence, beginHistory, type History, type Verdict } from './history.ts';
import type { Outcome } from './outcome.ts';
import { ABANDONED, identityOf, isAbandoned, isNews, isProbed, type Observation, storedVerdict } from './readiness.ts';
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
const STARTS_PER_TURN = 8;
/** At least so long between two handfuls: each wakes both threads, so a few at a time cost less than one by one. */
const LEAST_WAIT_MS = 10;
/** How often a process that does not lead asks whether it does by now. */
const LEAD_CHECK_MS = 1_000;
const TAKEN_UP_PER_TURN = 1_000;
/** Each is parsed, which takes some thirty microseconds. */
const SILENT_PER_TURN = 100;
const SWEEP_PAUSE_MS = 100;

/**
 * Looks at every cluster once in an interval and keeps its condition `Ready`, its version and its type. What is new
 * is written at once. That a cluster was looked at again is written every five minutes at most, because every write
 * wakes everyone who watches the cluster.
 */
export class Prober implements ReflectorListener<StoredObject> {
  readonly #options: ProberOptions;
  readonly #writer: StatusWriter;
  readonly #running = new Set<Promise<void>>();
  #memory = new Map<string, Memory>();
  #schedule: ProbeSchedule;
  /** What the cache held when all of it had to be taken up, as far as that is not done yet. */
  #unread: Iterator<StoredObject> | undefined;
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

  /** Clusters that are gone without an event are forgotten when it is their turn. */
  #reload(): void {
    const { clusters } = this.#options;
    this.#unread = clusters.snapshot.scan(clusters.prefix);
    this.#arm();
  }

  /** Takes up some of what the cache holds; a large fleet in several turns, with requests in between. */
  #takeUp(now: number): void {
    for (let count = 0; count < TAKEN_UP_PER_TURN; count++) {
      const next = this.#unread?.next();
      if (next === undefined || next.done === true) {
        this.#unread = undefined;
        return;
      }
      const { name } = next.value;
      if (this.#schedule.has(name)) continue;
      this.#remember(name);
      this.#schedule.addSometime(name, now);
    }
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
    this.#unread = undefined;
    this.#sweepAt = this.#options.clock.now() + this.#options.intervalMs;
    if (leads) this.#reload();
  }

  #turn(): void {
    if (this.#stopped) return;
    this.#checkLead();
    const now = this.#options.clock.now();
    this.#takeUp(now);
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
    const nextLook = this.#unread === undefined ? (this.#schedule.nextAt() ?? Number.POSITIVE_INFINITY) : now;
    const next = Math.min(nextLook, this.#sweepAt);
    const wait = this.#leading ? Math.max(next - now, LEAST_WAIT_MS) : LEAD_CHECK_MS;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(Math.min(wait, LEAD_CHECK_MS), () => this.#turn());
  }

  async #look(taken: NonNullable<ReturnType<ProbeSchedule['take']>>, signal: AbortSignal): Promise<void> {
    const { clock, probe, report } = this.#options;
    const { name } = taken;
    let failed = false;
    try {
      const stored = this.#stored(name);
      const cluster = stored?.object();
      if (stored === undefined || cluster === undefined || !this.#isProbed(cluster)) {
        this.#forget(name, cluster);
        return;
      }
      const outcome = await probe(cluster, signal);
      failed = !outcome.ready;
      if (signal.aborted) return;
      const current = this.#stored(name);
      // Nearly always nothing has happened in between, and what was parsed serves once more.
      const now = current === stored ? cluster : current?.object();
      // What was found out about a cluster that has changed is void; the schedule has put it first in the queue.
      if (now === cluster || (now !== undefined && identityOf(now) === identityOf(cluster))) {
        this.#conclude(name, now, outcome);
      }
    } catch (error) {
      if (!signal.aborted) report(error);
    } finally {
      taken.finish(failed, clock.now());
    }
  }

  #stored(name: string): StoredObject | undefined {
    const { clusters } = this.#options;
    return clusters.current.get(`${clusters.prefix}${name}`);
  }

  #conclude(name: string, cluster: ApiObject, outcome: Outcome): void {
    const memory = this.#memory.get(name);
    if (memory === undefined) return;
    const now = this.#options.clock.now();
    this.#read(memory, cluster);
    memory.history = afterProbe(memory.history, outcome, now);
    this.#tell(name, cluster, memory, outcome.ready ? outcome.version : undefined);
  }

  #read(memory: Memory, cluster: ApiObject): void {
    if (memory.isRead) return;
    const { clock, random } = this.#options;
    memory.isRead = true;
    memory.heartbeatAt = firstHeartbeat(cluster, clock, random);
    memory.history = beginHistory(storedVerdict(cluster), memory.history.knownAt);
  }

  #tell(name: string, cluster: ApiObject, memory: Memory, version: string | undefined): void {
    const { verdict } = memory.history;
    if (verdict === undefined) return;
    const now = this.#options.clock.now();
    if (now < memory.heartbeatAt && !isNews(cluster, { verdict, version })) return;
    memory.heartbeatAt = nextHeartbeat(now, this.#options.random);
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
      const cluster = this.#stored(name)?.object();
      if (cluster === undefined || !this.#isProbed(cluster)) {
        this.#forget(name, cluster);
        continue;
      }
      this.#read(memory, cluster);
      memory.history = next;
      this.#tell(name, cluster, memory, undefined);
    }
  }
}
