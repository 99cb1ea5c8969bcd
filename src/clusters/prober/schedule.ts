import { createRequire } from 'node:module';
import type btree from 'sorted-btree';

// CommonJS with a `default` property: loaders differ in how they import it, but not in how they `require` it.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;

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
export function createProbeSchedule(intervalMs: number, maxConcurrent: number, random: () => number) {
  const entries = new Map<string, Entry>();
  const healthyQueue: Queue = new BTree<Entry, true>(undefined, byDueTime);
  const failingQueue: Queue = new BTree<Entry, true>(undefined, byDueTime);
  let lastSequence = 0;
  let running = 0;
  let failingRunning = 0;

  const has = (name: string): boolean => entries.has(name);

  /** Due at a random time within the next interval: spreads a fleet that is added at once. */
  function addWithinInterval(name: string, now: number): void {
    addEntry(name, now + random() * intervalMs);
  }

  /** Due before every other cluster. A cluster that is being probed is probed again afterwards. */
  function addFirst(name: string): void {
    const entry = entries.get(name);
    if (entry === undefined) {
      addEntry(name, IMMEDIATELY);
    } else if (entry.startedAt !== undefined) {
      entry.repeat = true;
    } else {
      queueOf(entry).delete(entry);
      // The change may have repaired it.
      enqueue(entry, IMMEDIATELY, false);
    }
  }

  function remove(name: string): void {
    const entry = entries.get(name);
    if (entry === undefined) return;
    entries.delete(name);
    entry.removed = true;
    if (entry.startedAt === undefined) queueOf(entry).delete(entry);
  }

  /** The next cluster that is due, if there is one and a free slot. Every cluster that is taken must be finished. */
  function take(now: number): { readonly name: string; finish(failed: boolean, now: number): void } | undefined {
    const entry = first();
    if (entry === undefined || entry.dueAt > now) return undefined;
    queueOf(entry).delete(entry);
    const wasFailing = entry.failing;
    entry.startedAt = now;
    running++;
    if (wasFailing) failingRunning++;
    return {
      name: entry.name,
      finish: (failed, at) => {
        running--;
        if (wasFailing) failingRunning--;
        if (entry.removed) return;
        const dueAt = entry.repeat ? IMMEDIATELY : Math.max(at, now + interval());
        entry.startedAt = undefined;
        enqueue(entry, dueAt, failed && !entry.repeat);
        entry.repeat = false;
      },
    };
  }

  /** When the next cluster is due; undefined when none can start before a probe finishes or a cluster is added. */
  function nextAt(): number | undefined {
    return first()?.dueAt;
  }

  function first(): Entry | undefined {
    if (running >= maxConcurrent) return undefined;
    const healthy = healthyQueue.minKey();
    const failing = failingRunning < Math.ceil(maxConcurrent / 2) ? failingQueue.minKey() : undefined;
    if (healthy === undefined || failing === undefined) return healthy ?? failing;
    return byDueTime(healthy, failing) < 0 ? healthy : failing;
  }

  function addEntry(name: string, dueAt: number): void {
    if (entries.has(name)) return;
    const entry: Entry = {
      name,
      dueAt,
      sequence: 0,
      failing: false,
      startedAt: undefined,
      repeat: false,
      removed: false,
    };
    entries.set(name, entry);
    enqueue(entry, dueAt, false);
  }

  function enqueue(entry: Entry, dueAt: number, failing: boolean): void {
    entry.dueAt = dueAt;
    entry.sequence = ++lastSequence;
    entry.failing = failing;
    queueOf(entry).set(entry, true);
  }

  function queueOf({ failing }: Entry): Queue {
    return failing ? failingQueue : healthyQueue;
  }

  function interval(): number {
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }

  return { has, addWithinInterval, addFirst, remove, take, nextAt };
}

export type ProbeSchedule = ReturnType<typeof createProbeSchedule>;
