import { createRequire } from 'node:module';
import type btree from 'sorted-btree';

// CommonJS with a `default` property: loaders differ in how they import it, but not in how they `require` it.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;

interface ScheduleOptions {
  readonly intervalMs: number;
  readonly maxConcurrent: number;
  /** In [0, 1). */
  readonly random: () => number;
}

interface Entry {
  readonly name: string;
  dueAt: number;
  /** Orders entries that are due at the same time. */
  sequence: number;
  /** The last probe failed, so the next one may take long. */
  failing: boolean;
  startedAt: number | undefined;
  /** The cluster changed during its probe. */
  repeat: boolean;
  removed: boolean;
}

type Queue = InstanceType<typeof BTree<Entry, true>>;

const byDueTime = (a: Entry, b: Entry): number =>
  a.dueAt === b.dueAt ? a.sequence - b.sequence : a.dueAt < b.dueAt ? -1 : 1;

/** Before every entry that is due. */
const IMMEDIATELY = Number.NEGATIVE_INFINITY;
/** Intervals vary by this share, so that clusters that were due together drift apart. */
const JITTER = 0.1;

/**
 * Decides which cluster is probed next. It knows neither clock nor network: callers pass the time. Every operation
 * takes logarithmic or constant time.
 *
 * Clusters whose last probe failed get at most half of the concurrent probes. A probe of a dead address lasts until its
 * timeout, and a region that is down must not delay the probes of the others.
 */
export class ProbeSchedule {
  readonly #options: ScheduleOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #healthy: Queue = new BTree<Entry, true>(undefined, byDueTime);
  readonly #failing: Queue = new BTree<Entry, true>(undefined, byDueTime);
  #lastSequence = 0;
  #running = 0;
  #failingRunning = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Due at a random time within the next interval: spreads a fleet that is added at once. */
  addWithinInterval(name: string, now: number): void {
    this.#add(name, now + this.#options.random() * this.#options.intervalMs);
  }

  /** Due before every other cluster. A cluster that is being probed is probed again afterwards. */
  addFirst(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      this.#add(name, IMMEDIATELY);
    } else if (entry.startedAt !== undefined) {
      entry.repeat = true;
    } else {
      this.#queueOf(entry).delete(entry);
      // The change may have repaired it.
      this.#enqueue(entry, IMMEDIATELY, false);
    }
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    entry.removed = true;
    if (entry.startedAt === undefined) this.#queueOf(entry).delete(entry);
  }

  /** The next cluster that is due, if there is one and a free slot. Every cluster that is taken must be finished. */
  take(now: number): { readonly name: string; finish(failed: boolean, now: number): void } | undefined {
    const entry = this.#first();
    if (entry === undefined || entry.dueAt > now) return undefined;
    this.#queueOf(entry).delete(entry);
    const wasFailing = entry.failing;
    entry.startedAt = now;
    this.#running++;
    if (wasFailing) this.#failingRunning++;
    return {
      name: entry.name,
      finish: (failed, at) => {
        this.#running--;
        if (wasFailing) this.#failingRunning--;
        if (entry.removed) return;
        const dueAt = entry.repeat ? IMMEDIATELY : Math.max(at, now + this.#interval());
        entry.startedAt = undefined;
        this.#enqueue(entry, dueAt, failed && !entry.repeat);
        entry.repeat = false;
      },
    };
  }

  /** When the next cluster is due; undefined when none can start before a probe finishes or a cluster is added. */
  nextAt(): number | undefined {
    return this.#first()?.dueAt;
  }

  #first(): Entry | undefined {
    const { maxConcurrent } = this.#options;
    if (this.#running >= maxConcurrent) return undefined;
    const healthy = this.#healthy.minKey();
    const failing = this.#failingRunning < Math.ceil(maxConcurrent / 2) ? this.#failing.minKey() : undefined;
    if (healthy === undefined || failing === undefined) return healthy ?? failing;
    return byDueTime(healthy, failing) < 0 ? healthy : failing;
  }

  #add(name: string, dueAt: number): void {
    if (this.#entries.has(name)) return;
    const entry: Entry = {
      name,
      dueAt,
      sequence: 0,
      failing: false,
      startedAt: undefined,
      repeat: false,
      removed: false,
    };
    this.#entries.set(name, entry);
    this.#enqueue(entry, dueAt, false);
  }

  #enqueue(entry: Entry, dueAt: number, failing: boolean): void {
    entry.dueAt = dueAt;
    entry.sequence = ++this.#lastSequence;
    entry.failing = failing;
    this.#queueOf(entry).set(entry, true);
  }

  #queueOf({ failing }: Entry): Queue {
    return failing ? this.#failing : this.#healthy;
  }

  #interval(): number {
    const { intervalMs, random } = this.#options;
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }
}
