/**
 * Checks the history of what clients wrote and saw during faults: it must be a history of one linearizable store. It is
 * checked while it happens, with one entry for each write and none for each watch, so that a long run fits into memory.
 */

/** Violations. A correct run has none. */
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
  | 'late revocation'
  | 'granted after the end'
  | 'pass outlives its binding'
  | 'shown after the end'
  | 'two leaders'
  | 'slow takeover'
  | 'token errors after a death'
  | 'slow recovery';

/** The content of an object at a version. */
export interface Shown {
  readonly name: string;
  readonly content: string;
  readonly version: number;
}

/** An acknowledged write, with the version that it replaced. */
export interface Acknowledged extends Shown {
  readonly base: number;
}

/** A read that began after a write to the same object was acknowledged. Each writer counts up in its own object. */
export interface FreshRead {
  readonly name: string;
  /** The newest count acknowledged before the read began, and the newest tried before it ended. */
  readonly acknowledged: number;
  readonly tried: number;
  readonly seen: number;
  readonly replica: number;
}

interface Entry {
  readonly name: string;
  readonly content: string;
  /** Undefined while only watches have shown the version. */
  base?: number;
  /** True when any watch has shown it. */
  shown?: true;
}

const EXAMPLES = 5;

export class HistoryChecker {
  readonly #entries = new Map<number, Entry>();
  readonly #winners = new Map<string, number>();
  readonly #refused = new Map<string, { readonly name: string; readonly base: number }>();
  readonly #watchers: WatchHistory[] = [];
  readonly #problems = new Map<ProblemKind, { count: number; examples: string[] }>();
  /** Versions that have not been checked against every watch yet. */
  #unchecked: number[] = [];
  #settled = 0;
  readonly #checked = {
    writes: 0,
    contests: 0,
    reads: 0,
    events: 0,
    expectations: 0,
    resumed: 0,
    finalObjects: 0,
    revocations: 0,
    revokedTried: 0,
    endingPasses: 0,
    endedRefused: 0,
    endsFollowed: 0,
  };

  /** How much was checked. A run that checks nothing proves nothing. */
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

  /** An object was created, before the watches began. */
  created(name: string, version: number): void {
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
      if (version <= this.#settled) this.problem('lost write', `${text} at ${version} was shown by no watch`);
      this.#enter(version, { name, content, base });
    } else if (entry.base !== undefined)
      this.problem('version given twice', `${version} to ${entry.name} and to ${name}`);
    else if (entry.name !== name || entry.content !== content)
      this.problem('different event', `${version} is ${text}, and was shown as ${entry.name} ${entry.content}`);
    else entry.base = base;
  }

  /** All concurrent writes on top of this version got a conflict, so another write must have replaced it. */
  allRefused(name: string, base: number): void {
    this.#refused.set(`${name}@${base}`, { name, base });
  }

  contended(): void {
    this.#checked.contests += 1;
  }

  read({ name, acknowledged, tried, seen, replica }: FreshRead): void {
    this.#checked.reads += 1;
    const text = `replica ${replica} showed ${name} ${seen}`;
    if (seen < acknowledged) this.problem('stale read', `${text} after ${acknowledged} was acknowledged`);
    if (seen > tried) this.problem('read of nothing', `${text}, which was never written`);
  }

  watcher(): WatchHistory {
    const log = new WatchHistory(this, this.#watchers.length);
    this.#watchers.push(log);
    return log;
  }

  /** Called by watches. All watches must show the same content at a version. */
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

  /** A revocation was acknowledged. */
  revoked(): void {
    this.#checked.revocations += 1;
  }

  /** A revoked token was tried. */
  triedRevoked(): void {
    this.#checked.revokedTried += 1;
  }

  /** A pass was issued by a binding that ends. */
  endingPass(
    { expirationTimestamp }: { expirationTimestamp: string },
    { exp = 0 }: { exp?: number },
    endsAt: number,
  ): void {
    this.#checked.endingPasses += 1;
    const late = Math.max(Date.parse(expirationTimestamp), exp * 1_000) - endsAt;
    if (late > 0) this.problem('pass outlives its binding', `by ${late} ms`);
  }

  /** A request after the end of its binding was refused. */
  endedRefused(): void {
    this.#checked.endedRefused += 1;
  }

  /** A watcher was shown that it sees nothing any more. */
  endFollowed(): void {
    this.#checked.endsFollowed += 1;
  }

  /** Checks every watch up to the position of the slowest, and drops the checked events. */
  settle(): void {
    const upTo = Math.min(...this.#watchers.map(({ position }) => position));
    if (!(upTo > this.#settled) || upTo === Number.POSITIVE_INFINITY) return;
    const due = this.#unchecked.filter((version) => version <= upTo).toSorted((a, b) => a - b);
    this.#unchecked = this.#unchecked.filter((version) => version > upTo);
    this.#settled = upTo;
    for (const version of due) {
      const { name, content, shown } = this.#entries.get(version) ?? {};
      if (shown !== true) this.problem('lost write', `${name} ${content} at ${version} was shown by no watch`);
    }
    for (const watcher of this.#watchers) this.#checked.expectations += watcher.account(due, upTo);
  }

  /** Compares the final lists of the replicas. */
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

  /** Checks the whole history: each acknowledged write directly follows the version that it replaced. */
  close(): void {
    this.settle();
    const previous = new Map<string, number>();
    const followed = new Set<string>();
    for (const [version, { name, base }] of [...this.#entries].toSorted(([a], [b]) => a - b)) {
      const before = previous.get(name);
      if (before !== undefined) {
        followed.add(`${name}@${before}`);
        if (base !== undefined && base !== before)
          this.problem('lost update', `${name} at ${version} was based on ${base}, and replaced ${before}`);
      }
      previous.set(name, version);
    }
    for (const [slot, { name, base }] of this.#refused) {
      if (!followed.has(slot)) this.problem('no winner', `all writes to ${name} on top of ${base} were refused`);
    }
  }

  #enter(version: number, entry: Entry): void {
    this.#entries.set(version, entry);
    this.#unchecked.push(version);
  }
}

/** The history of one watch over all its connections. */
export class WatchHistory {
  readonly #checker: HistoryChecker;
  readonly #id: number;
  #seen: number[] = [];
  /** Versions that a list skipped: those after the first and up to the second of each pair. */
  #gaps: [number, number][] = [];
  #position: number | undefined;

  constructor(checker: HistoryChecker, id: number) {
    this.#checker = checker;
    this.#id = id;
  }

  /** All events up to this version were shown; 0 before the first list. */
  get position(): number {
    return this.#position ?? 0;
  }

  /** The watch starts after a list. Any but the first list means that the watch could not be resumed. */
  listed(version: number): void {
    if (this.#position !== undefined)
      this.#checker.problem('watch not resumed', `watch ${this.#id} had to list again at ${this.#position}`);
    this.#gaps.push([this.#position ?? 0, version]);
    this.#position = version;
  }

  shown(event: Shown): void {
    const { position } = this;
    if (event.version <= position)
      this.#checker.problem('event twice or out of order', `watch ${this.#id}: ${event.version} after ${position}`);
    this.#seen.push(event.version);
    this.#position = Math.max(position, event.version);
    this.#checker.shown(event);
  }

  /** A bookmark: no further events up to this version. */
  reached(version: number): void {
    if (version < this.position)
      this.#checker.problem('event twice or out of order', `watch ${this.#id}: back to ${version}`);
    this.#position = Math.max(this.position, version);
  }

  /** Reports the due versions that were not shown; returns how many were due. */
  account(due: readonly number[], upTo: number): number {
    const seen = new Set(this.#seen);
    this.#seen = this.#seen.filter((version) => version > upTo);
    let expected = 0;
    for (const version of due) {
      if (this.#gaps.some(([from, to]) => version > from && version <= to)) continue;
      expected += 1;
      if (!seen.has(version)) this.#checker.problem('missed event', `watch ${this.#id} missed ${version}`);
    }
    this.#gaps = this.#gaps.filter(([, to]) => to > upTo);
    return expected;
  }
}
