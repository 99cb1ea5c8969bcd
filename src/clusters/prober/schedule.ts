import { createRequire } from 'node:module';
import type btree from 'sorted-btree';

// CommonJS with a `default`: loaders disagree on what an import of that gives, and agree on `require`.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;

export interface ScheduleOptions {
  readonly intervalMs: number;
  /** How many may be looked at in the same moment. */
  readonly atOnce: number;
  /** From 0 to less than 1. */
  readonly random: () => number;
}

interface Entry {
  readonly name: string;
  dueAt: number;
  /** Makes the order among equals that in which they came. */
  turn: number;
  /** Its last look failed, and so the next one may take long. */
  failing: boolean;
  startedAt: number | undefined;
  /** Something about it changed while it was looked at. */
  again: boolean;
  removed: boolean;
}

type PriorityLevel = InstanceType<typeof BTree<Entry, true>>;

const sooner = (a: Entry, b: Entry): number => (a.dueAt === b.dueAt ? a.turn - b.turn : a.dueAt < b.dueAt ? -1 : 1);

/** Before everything that is due. */
const AT_ONCE = Number.NEGATIVE_INFINITY;
/** How far an interval may be off, either way: clusters that were due together drift apart. */
const JITTER = 0.1;

/**
 * Whose turn it is to be looked at. Knows neither clock nor network: it is told the time. Everything costs the
 * logarithm of the number of clusters, or nothing.
 *
 * Clusters whose last look failed may take half of the places at most. A look at a dead address takes its whole time
 * limit, and a region that went down must not keep the others from being looked at.
 */
export class ProbeSchedule {
  readonly #options: ScheduleOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #well: PriorityLevel = new BTree<Entry, true>(undefined, sooner);
  readonly #failing: PriorityLevel = new BTree<Entry, true>(undefined, sooner);
  #turns = 0;
  #running = 0;
  #failingRunning = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get running(): number {
    return this.#running;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  names(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Somewhere within the next interval: a whole fleet that is added in one moment is spread over it. */
  addSometime(name: string, now: number): void {
    this.#add(name, now + this.#options.random() * this.#options.intervalMs);
  }

  /** Before everything else that is due. Of one that is being looked at, the look is repeated when it has ended. */
  addOrHurry(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      this.#add(name, AT_ONCE);
    } else if (entry.startedAt !== undefined) {
      entry.again = true;
    } else {
      this.#priorityLevelOf(entry).delete(entry);
      // What made it fail may just have been mended.
      this.#enqueue(entry, AT_ONCE, false);
    }
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    entry.removed = true;
    if (entry.startedAt === undefined) this.#priorityLevelOf(entry).delete(entry);
  }

  /** The next one that is due, if there is one and a place for it. Every one taken must be finished. */
  take(now: number): { readonly name: string; finish(failed: boolean, now: number): void } | undefined {
    const entry = this.#first();
    if (entry === undefined || entry.dueAt > now) return undefined;
    this.#priorityLevelOf(entry).delete(entry);
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
        const dueAt = entry.again ? AT_ONCE : Math.max(at, now + this.#interval());
        entry.startedAt = undefined;
        this.#enqueue(entry, dueAt, failed && !entry.again);
        entry.again = false;
      },
    };
  }

  /** When to ask again; undefined when nothing can start before something ends or is added. */
  nextAt(): number | undefined {
    return this.#first()?.dueAt;
  }

  #first(): Entry | undefined {
    const { atOnce } = this.#options;
    if (this.#running >= atOnce) return undefined;
    const well = this.#well.minKey();
    const failing = this.#failingRunning < Math.ceil(atOnce / 2) ? this.#failing.minKey() : undefined;
    if (well === undefined || failing === undefined) return well ?? failing;
    return sooner(well, failing) < 0 ? well : failing;
  }

  #add(name: string, dueAt: number): void {
    if (this.#entries.has(name)) return;
    const entry: Entry = {
      name,
      dueAt,
      turn: 0,
      failing: false,
      startedAt: undefined,
      again: false,
      removed: false,
    };
    this.#entries.set(name, entry);
    this.#enqueue(entry, dueAt, false);
  }

  #enqueue(entry: Entry, dueAt: number, failing: boolean): void {
    entry.dueAt = dueAt;
    entry.turn = this.#turns++;
    entry.failing = failing;
    this.#priorityLevelOf(entry).set(entry, true);
  }

  #priorityLevelOf({ failing }: Entry): PriorityLevel {
    return failing ? this.#failing : this.#well;
  }

  #interval(): number {
    const { intervalMs, random } = this.#options;
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }
}
