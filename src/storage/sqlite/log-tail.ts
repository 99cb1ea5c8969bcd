import type { Change, Revision, StorageError, WatchBatch } from '../contract.ts';

/** A follower with more changes queued drops its queue and reads the log instead. */
export interface QueueLimits {
  readonly changes: number;
  readonly bytes: number;
}

const QUEUE_LIMITS: QueueLimits = { changes: 10_000, bytes: 64 * 1024 * 1024 };

/** The next changes; or `behind`: the follower has to read the log; or `ended`: there are no more. */
type Taken = { readonly batch: WatchBatch } | { readonly behind: true } | { readonly ended: true };

/** The end of the log, in memory: hands every committed change, in order of commit, to its followers. */
export class LogTail {
  readonly #followers = new Set<Follower>();
  readonly #limits: QueueLimits;
  #revision: Revision;
  #ended: { readonly error: StorageError | undefined } | undefined;

  constructor(revision: Revision, limits: QueueLimits = QUEUE_LIMITS) {
    this.#revision = revision;
    this.#limits = limits;
  }

  /** The revision of the last commit. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Followers of other keys get the revision too: a cache has to know that it is up to date. */
  append(changes: readonly Change[], revision: Revision): void {
    this.#revision = revision;
    for (const follower of this.#followers) follower.push(changes, revision);
  }

  /** The store has advanced by unknown changes: all followers have to read them from the log. */
  skipTo(revision: Revision): void {
    this.#revision = revision;
    for (const follower of this.#followers) follower.fallBehind();
  }

  /** Follows the changes after the current revision. */
  follow(prefix: string): Follower {
    const follower = new Follower(prefix, this.#limits, (gone) => this.#followers.delete(gone));
    if (this.#ended === undefined) this.#followers.add(follower);
    else follower.end(this.#ended.error);
    return follower;
  }

  /** Ends all followers; with an error, they throw it. */
  end(error?: StorageError): void {
    this.#ended ??= { error };
    for (const follower of this.#followers) follower.end(error);
  }
}

class Follower {
  readonly #prefix: string;
  readonly #limits: QueueLimits;
  readonly #leave: (self: Follower) => void;
  #changes: Change[] = [];
  #bytes = 0;
  /** The newest revision that was pushed and not taken yet. */
  #revision: Revision | undefined;
  #behind = false;
  #ended: { readonly error: StorageError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(prefix: string, limits: QueueLimits, leave: (self: Follower) => void) {
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

  /** Drops the queue. Its changes are in the log. */
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

  /** Waits for changes and takes all of them. One caller at a time. */
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

/** The next page of the log; undefined when the store is closed. */
type ReadLog = (prefix: string, after: Revision) => Promise<WatchBatch | undefined>;

/**
 * A watch has two sources, one at a time. While it is behind, it reads the log page by page; once its position is the
 * tail's revision, it follows the tail. The two are compared and the following begins in one tick, so no change is
 * missed and none comes twice.
 */
export async function* watchLog(
  { tail, readLog }: { tail: LogTail; readLog: ReadLog },
  prefix: string,
  after: Revision,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void, undefined> {
  let position = after;
  let follower: Follower | undefined;
  const stop = (): void => follower?.end();
  signal.addEventListener('abort', stop);
  try {
    while (!signal.aborted) {
      // A watch from a future revision also waits for the tail to reach it.
      if (follower === undefined && position >= tail.revision) follower = tail.follow(prefix);
      let batch: WatchBatch;
      if (follower !== undefined) {
        const taken = await follower.take();
        if ('ended' in taken || signal.aborted) return;
        if ('behind' in taken) {
          follower = undefined;
          continue;
        }
        batch = taken.batch;
      } else {
        const page = await readLog(prefix, position);
        if (page === undefined || signal.aborted) return;
        // Before the page is yielded: from here on the follower queues what the consumer has not reached yet.
        if (page.revision >= tail.revision) follower = tail.follow(prefix);
        batch = page;
      }
      if (batch.revision <= position) continue;
      const changes = dropUpTo(batch.changes, position);
      position = batch.revision;
      yield { changes, revision: position };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    follower?.end();
  }
}

/** Only a watch from a future revision has changes to drop. */
function dropUpTo(changes: readonly Change[], position: Revision): readonly Change[] {
  const first = changes[0];
  if (first === undefined || first.modRevision > position) return changes;
  return changes.filter(({ modRevision }) => modRevision > position);
}
