import type { Change, Revision, StorageError, WatchBatch } from '../contract.ts';

/** How far a follower may fall behind before its queue is dropped and it has to read the log instead. */
export interface ReflectorLimits {
  readonly changes: number;
  readonly bytes: number;
}

const FEED_LIMITS: ReflectorLimits = { changes: 10_000, bytes: 64 * 1024 * 1024 };

/** What a follower finds: the next changes, or that it must go back to the log, or that there is no more. */
export type Taken = { readonly batch: WatchBatch } | { readonly behind: true } | { readonly ended: true };

/** Hands every committed change, in order of commit, to everybody who follows. */
export class ChangeFeed {
  readonly #followers = new Set<Follower>();
  readonly #limits: ReflectorLimits;
  #revision: Revision;
  #ended: { readonly error: StorageError | undefined } | undefined;

  constructor(revision: Revision, limits: ReflectorLimits = FEED_LIMITS) {
    this.#revision = revision;
    this.#limits = limits;
  }

  /** The revision of the last change that was published. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Everybody hears of the revision, also who does not follow these keys: a cache needs to know it is up to date. */
  publish(changes: readonly Change[], revision: Revision): void {
    this.#revision = revision;
    for (const follower of this.#followers) follower.push(changes, revision);
  }

  /** The store has moved on and we do not know how. The log does: everybody is sent there. */
  skipTo(revision: Revision): void {
    this.#revision = revision;
    for (const follower of this.#followers) follower.fallBehind();
  }

  /** From now on, so after exactly `revision`. */
  follow(prefix: string): Follower {
    const follower = new Follower(prefix, this.#limits, (gone) => this.#followers.delete(gone));
    if (this.#ended === undefined) this.#followers.add(follower);
    else follower.end(this.#ended.error);
    return follower;
  }

  /** Quietly, or with an error that every follower gets to see. */
  end(error?: StorageError): void {
    this.#ended ??= { error };
    for (const follower of this.#followers) follower.end(error);
  }
}

export class Follower {
  readonly #prefix: string;
  readonly #limits: ReflectorLimits;
  readonly #leave: (self: Follower) => void;
  #changes: Change[] = [];
  #bytes = 0;
  /** The newest revision heard of and not taken yet. */
  #revision: Revision | undefined;
  #behind = false;
  #ended: { readonly error: StorageError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(prefix: string, limits: ReflectorLimits, leave: (self: Follower) => void) {
    this.#prefix = prefix;
    this.#limits = limits;
    this.#leave = leave;
  }

  push(changes: readonly Change[], revision: Revision): void {
    this.#revision = revision;
    for (const change of changes) {
      if (!change.key.startsWith(this.#prefix)) continue;
      this.#changes.push(change);
      this.#bytes += change.type === 'put' ? change.value.byteLength : 0;
    }
    if (this.#changes.length > this.#limits.changes || this.#bytes > this.#limits.bytes) this.fallBehind();
    this.#wake?.();
  }

  /** Forgets the queue. What was in it is still in the log. */
  fallBehind(): void {
    this.#behind = true;
    this.#changes = [];
    this.#leave(this);
    this.#wake?.();
  }

  end(error?: StorageError): void {
    this.#ended ??= { error };
    this.#leave(this);
    this.#wake?.();
  }

  /** Everything queued, as soon as there is anything; then the end, or the error that the feed ended with. One caller at a time. */
  async take(): Promise<Taken> {
    if (this.#revision === undefined && !this.#behind && this.#ended === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    if (this.#behind) return { behind: true };
    if (this.#revision === undefined) {
      if (this.#ended?.error !== undefined) throw this.#ended.error;
      return { ended: true };
    }
    const batch = { changes: this.#changes, revision: this.#revision };
    this.#changes = [];
    this.#bytes = 0;
    this.#revision = undefined;
    return { batch };
  }
}
