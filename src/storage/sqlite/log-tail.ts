import type { Change, Revision, StorageError, WatchBatch } from '../contract.ts';

/** A queue with more changes drops them, and its watch reads the log instead. */
export interface QueueLimits {
  readonly changes: number;
  readonly bytes: number;
}

const QUEUE_LIMITS: QueueLimits = { changes: 10_000, bytes: 64 * 1024 * 1024 };

/** The next changes; or `behind`: the watch has to read the log; or `ended`: there are no more. */
type Taken = { readonly batch: WatchBatch } | { readonly behind: true } | { readonly ended: true };

/** The end of the log, in memory: hands every committed change, in order of commit, to the queues of the watches. */
export class LogTail {
  readonly #queues = new Set<TailQueue>();
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

  /** Queues of other keys get the revision too: a cache has to know that it is up to date. */
  append(changes: readonly Change[], revision: Revision): void {
    this.#revision = revision;
    for (const queue of this.#queues) queue.push(changes, revision);
  }

  /** The store has advanced by unknown changes: all watches have to read them from the log. */
  skipTo(revision: Revision): void {
    this.#revision = revision;
    for (const queue of this.#queues) queue.fallBehind();
  }

  /** A queue of the changes after the current revision. */
  follow(prefix: string): TailQueue {
    const queue = new TailQueue(prefix, this.#limits, (gone) => this.#queues.delete(gone));
    if (this.#ended === undefined) this.#queues.add(queue);
    else queue.end(this.#ended.error);
    return queue;
  }

  /** Ends all queues; with an error, they throw it. */
  end(error?: StorageError): void {
    this.#ended ??= { error };
    for (const queue of this.#queues) queue.end(error);
  }
}

/** The changes that a watch has not taken yet. */
class TailQueue {
  readonly #prefix: string;
  readonly #limits: QueueLimits;
  readonly #leave: (self: TailQueue) => void;
  #changes: Change[] = [];
  #bytes = 0;
  /** The newest revision that was pushed and not taken yet. */
  #revision: Revision | undefined;
  #behind = false;
  #ended: { readonly error: StorageError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(prefix: string, limits: QueueLimits, leave: (self: TailQueue) => void) {
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
  let queue: TailQueue | undefined;
  const stop = (): void => queue?.end();
  signal.addEventListener('abort', stop);
  try {
    while (!signal.aborted) {
      // A watch from a future revision also waits for the tail to reach it.
      if (queue === undefined && position >= tail.revision) queue = tail.follow(prefix);
      let batch: WatchBatch;
      if (queue !== undefined) {
        const taken = await queue.take();
        if ('ended' in taken || signal.aborted) return;
        if ('behind' in taken) {
          queue = undefined;
          continue;
        }
        batch = taken.batch;
      } else {
        const page = await readLog(prefix, position);
        if (page === undefined || signal.aborted) return;
        // Before the page is yielded: from here on the queue takes what the consumer has not reached yet.
        if (page.revision >= tail.revision) queue = tail.follow(prefix);
        batch = page;
      }
      if (batch.revision <= position) continue;
      const changes = dropUpTo(batch.changes, position);
      position = batch.revision;
      yield { changes, revision: position };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    queue?.end();
  }
}

/** Only a watch from a future revision has changes to drop. */
function dropUpTo(changes: readonly Change[], position: Revision): readonly Change[] {
  const first = changes[0];
  if (first === undefined || first.modRevision > position) return changes;
  return changes.filter(({ modRevision }) => modRevision > position);
}
