/**
 * What clients did and saw while things broke, and whether that can have been one store. It is judged as it happens:
 * one entry is kept for each write, and nothing for each watcher of it, so that a long run fits into memory.
 */

/** What can be wrong. A run that is right has none of these. */
export type ProblemKind =
  | 'lost write'
  | 'version given twice'
  | 'two winners'
  | 'no winner'
  | 'lost update'
  | 'stale read'
  | 'read of nothing'
  | 'missed event'
  | 'event twice or out of order'
  | 'different event'
  | 'watch not resumed'
  | 'replicas differ'
  | 'token refused'
  | 'token errors after a death'
  | 'slow recovery';

/** What an object became at a version. */
export interface Shown {
  readonly name: string;
  readonly content: string;
  readonly version: number;
}

/** A write on top of a version, that was acknowledged. */
export interface Acknowledged extends Shown {
  readonly base: number;
}

/**
 * A read that began after a write to the same object had been acknowledged. Each writer counts up in its own object.
 */
export interface FreshRead {
  readonly name: string;
  /** The newest that was acknowledged before the read began, and the newest that was tried before it ended. */
  readonly acknowledged: number;
  readonly tried: number;
  readonly seen: number;
  readonly replica: number;
}

interface Entry {
  readonly name: string;
  readonly content: string;
  /** Of the acknowledgement; undefined while only watches have shown it. */
  base?: number;
  /** By any watch. */
  shown?: true;
}

const EXAMPLES = 5;

export class Ledger {
  readonly #entries = new Map<number, Entry>();
  readonly #winners = new Map<string, number>();
  readonly #refused = new Map<string, { readonly name: string; readonly base: number }>();
  readonly #watchers: WatcherLog[] = [];
  readonly #problems = new Map<ProblemKind, { count: number; examples: string[] }>();
  /** Versions that not every watcher was held to yet. */
  #fresh: number[] = [];
  #settled = 0;
  readonly #checked = { writes: 0, contests: 0, reads: 0, events: 0, expectations: 0, resumed: 0, finalObjects: 0 };

  /** How much was looked at: a check of nothing finds nothing. */
  get checked(): Readonly<Record<string, number>> {
    return { ...this.#checked, watchers: this.#watchers.length };
  }

  get problems(): ReadonlyMap<ProblemKind, { readonly count: number; readonly examples: readonly string[] }> {
    return this.#problems;
  }

  problem(kind: ProblemKind, text: string): void {
    const known = this.#problems.get(kind) ?? { count: 0, examples: [] };
    known.count += 1;
    if (known.count <= EXAMPLES) known.examples.push(text);
    this.#problems.set(kind, known);
  }

  /** An object was made, before anybody watched. */
  born(name: string, version: number): void {
    this.#entries.set(version, { name, content: '', base: 0 });
  }

  acknowledged({ name, content, base, version }: Acknowledged): void {
    this.#checked.writes += 1;
    const text = `${name} ${content}`;
    if (version <= base) this.problem('lost update', `${text} at ${version} was written on top of ${base}`);
    const slot = `${name}@${base}`;
    const winner = this.#winners.get(slot);
    if (winner !== undefined) this.problem('two winners', `${winner} and ${version} are both on top of ${slot}`);
    this.#winners.set(slot, version);
    const entry = this.#entries.get(version);
    if (entry === undefined) {
      if (version <= this.#settled) this.problem('lost write', `${text} at ${version} was shown to nobody`);
      this.#enter(version, { name, content, base });
    } else if (entry.base !== undefined)
      this.problem('version given twice', `${version} to ${entry.name} and to ${name}`);
    else if (entry.name !== name || entry.content !== content)
      this.problem('different event', `${version} is ${text}, and was shown as ${entry.name} ${entry.content}`);
    else entry.base = base;
  }

  /** All who tried to write on top of this version were told that it is not the newest. So another one must be. */
  allRefused(name: string, base: number): void {
    this.#refused.set(`${name}@${base}`, { name, base });
  }

  contested(): void {
    this.#checked.contests += 1;
  }

  read({ name, acknowledged, tried, seen, replica }: FreshRead): void {
    this.#checked.reads += 1;
    const text = `replica ${replica} showed ${name} ${seen}`;
    if (seen < acknowledged) this.problem('stale read', `${text} after ${acknowledged} was acknowledged`);
    if (seen > tried) this.problem('read of nothing', `${text}, which nobody wrote`);
  }

  watcher(): WatcherLog {
    const log = new WatcherLog(this, this.#watchers.length);
    this.#watchers.push(log);
    return log;
  }

  /** Called by watchers. What one saw at a version, every other must see there. */
  shown({ name, content, version }: Shown): void {
    this.#checked.events += 1;
    const known = this.#entries.get(version);
    if (known === undefined) this.#enter(version, { name, content, shown: true });
    else if (known.name !== name || known.content !== content)
      this.problem('different event', `${version} is ${known.name} ${known.content}, and ${name} ${content}`);
    else known.shown = true;
  }

  resumed(): void {
    this.#checked.resumed += 1;
  }

  /** Holds every watcher to all that is known up to where the slowest of them is, and forgets what they saw of it. */
  settle(): void {
    const upTo = Math.min(...this.#watchers.map(({ position }) => position));
    if (!(upTo > this.#settled) || upTo === Number.POSITIVE_INFINITY) return;
    const due = this.#fresh.filter((version) => version <= upTo).toSorted((a, b) => a - b);
    this.#fresh = this.#fresh.filter((version) => version > upTo);
    this.#settled = upTo;
    for (const version of due) {
      const { name, content, shown } = this.#entries.get(version) ?? {};
      if (shown !== true) this.problem('lost write', `${name} ${content} at ${version} was shown to nobody`);
    }
    for (const watcher of this.#watchers) this.#checked.expectations += watcher.account(due, upTo);
  }

  /** What each replica shows when all is over. */
  compare(lists: readonly (readonly { readonly name: string; readonly version: number }[])[]): void {
    const newest = new Map<string, number>();
    for (const [version, { name }] of this.#entries) newest.set(name, Math.max(newest.get(name) ?? 0, version));
    for (const [replica, items] of lists.entries()) {
      const shown = new Map(items.map(({ name, version }) => [name, version]));
      for (const [name, version] of newest) {
        this.#checked.finalObjects += 1;
        if (shown.get(name) !== version)
          this.problem('replicas differ', `replica ${replica} has ${name} at ${shown.get(name)}, not at ${version}`);
      }
    }
  }

  /** What only the whole history shows: each acknowledged write is the next after the one that it was made on. */
  close(): void {
    this.settle();
    const previous = new Map<string, number>();
    const followed = new Set<string>();
    for (const [version, { name, base }] of [...this.#entries].toSorted(([a], [b]) => a - b)) {
      const before = previous.get(name);
      if (before !== undefined) {
        followed.add(`${name}@${before}`);
        if (base !== undefined && base !== before)
          this.problem('lost update', `${name} at ${version} was made of ${base}, over ${before}`);
      }
      previous.set(name, version);
    }
    for (const [slot, { name, base }] of this.#refused) {
      if (!followed.has(slot)) this.problem('no winner', `all writes to ${name} on top of ${base} were refused`);
    }
  }

  #enter(version: number, entry: Entry): void {
    this.#entries.set(version, entry);
    this.#fresh.push(version);
  }
}

/** One watch over all of its connections. */
export class WatcherLog {
  readonly #ledger: Ledger;
  readonly #id: number;
  #seen: number[] = [];
  /** Versions that a list has jumped over: up to the first of each pair was shown, and after the second. */
  #gaps: [number, number][] = [];
  #position: number | undefined;

  constructor(ledger: Ledger, id: number) {
    this.#ledger = ledger;
    this.#id = id;
  }

  /** Everything up to here was shown; 0 before the first list. */
  get position(): number {
    return this.#position ?? 0;
  }

  /** Begins after a list. Not the first time, that is a history with a hole: the watch could not be resumed. */
  listed(version: number): void {
    if (this.#position !== undefined)
      this.#ledger.problem('watch not resumed', `watch ${this.#id} had to list anew at ${this.#position}`);
    this.#gaps.push([this.#position ?? 0, version]);
    this.#position = version;
  }

  shown(event: Shown): void {
    const { position } = this;
    if (event.version <= position)
      this.#ledger.problem('event twice or out of order', `watch ${this.#id}: ${event.version} after ${position}`);
    this.#seen.push(event.version);
    this.#position = Math.max(position, event.version);
    this.#ledger.shown(event);
  }

  /** A bookmark: nothing more will come up to here. */
  reached(version: number): void {
    if (version < this.position)
      this.#ledger.problem('event twice or out of order', `watch ${this.#id}: back to ${version}`);
    this.#position = Math.max(this.position, version);
  }

  /** Whether all that was due has been seen; how much that was. */
  account(due: readonly number[], upTo: number): number {
    const seen = new Set(this.#seen);
    this.#seen = this.#seen.filter((version) => version > upTo);
    let expected = 0;
    for (const version of due) {
      if (this.#gaps.some(([from, to]) => version > from && version <= to)) continue;
      expected += 1;
      if (!seen.has(version)) this.#ledger.problem('missed event', `watch ${this.#id} missed ${version}`);
    }
    this.#gaps = this.#gaps.filter(([, to]) => to > upTo);
    return expected;
  }
}
