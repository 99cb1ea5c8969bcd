import type { Rpc } from '../../lib/worker-rpc.ts';
import type { Logger } from '../../observability/logger.ts';
import { checkKey, checkList, checkPrefix, checkRevision, checkWrite } from '../checks.ts';
import {
  type Change,
  type KeyValue,
  type ListRequest,
  type ListResult,
  type Revision,
  StorageError,
  type Store,
  type WatchBatch,
  type Write,
  type WriteResult,
} from '../contract.ts';
import { RevisionWaiters } from '../revision-waiters.ts';
import {
  type DatabaseMethods,
  NO_VALUE,
  type Rows,
  type WriteFailure,
  type WriteOutcomes,
} from './database-methods.ts';
import { type DatabaseThread, startDatabase } from './database-thread.ts';
import { type QueuedWrite, WriteQueue } from './write-queue.ts';

export interface SqliteStoreOptions {
  /** Its directory must exist. */
  readonly file: string;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
  /** Maximum size of the file. Beyond it writes fail with `unavailable` until a compaction. Default: no limit. */
  readonly maxBytes?: number;
  /** Rejects a file that does not exist. Default: a new store is created. */
  readonly existing?: boolean;
  /** Continues the revisions of a backup, so that none is given out twice. Default: a backup stays as it is. */
  readonly restoresBackup?: boolean;
  readonly tailLimits?: TailLimits;
}

/** Opens the embedded store. Only one process can. Rejects with `in-use`, `unreadable` or `unavailable`. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return SqliteStore.open(options);
}

class SqliteStore implements Store {
  readonly #thread: DatabaseThread;
  readonly #writes: WriteQueue;
  readonly #tail: LogTail;
  #compaction: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  private constructor(thread: DatabaseThread, writes: WriteQueue, tail: LogTail) {
    this.#thread = thread;
    this.#writes = writes;
    this.#tail = tail;
  }

  static async open({
    file,
    logger,
    maxBytes,
    tailLimits,
    existing = false,
    restoresBackup = false,
  }: SqliteStoreOptions): Promise<Store> {
    let tail: LogTail | undefined;
    let failing = false;
    const thread = await startDatabase(
      { file, maxBytes, existing, restoresBackup },
      {
        noBackups(message) {
          const err = new Error(message);
          logger?.warn({ file, err }, 'no backup can be made: the socket beside the database cannot be opened');
        },
        died(error) {
          logger?.warn({ file, err: error }, error.message);
          tail?.end();
        },
      },
    );
    const end = new LogTail(thread.revision, tailLimits);
    tail = end;
    const writes = new WriteQueue(thread.rpc, (written, outcomes, revision, error) => {
      const changes = outcomes === undefined ? [] : committedChanges(written, outcomes);
      // Each change is one revision. More revisions mean that a rejected write has happened, which the contract
      // allows; a watch must not miss it.
      if (revision - end.revision === changes.length) end.append(changes, revision);
      else end.skipTo(revision);
      // Logged when it begins and when it ends: with a full disk a thousand transactions fail each second.
      if (failing === (error !== undefined)) return;
      failing = error !== undefined;
      if (error === undefined) logger?.info({ file }, 'the store accepts writes again');
      else logger?.warn({ file, err: error }, 'the store does not accept writes');
    });
    logger?.info({ file, revision: thread.revision }, 'store opened');
    return new SqliteStore(thread, writes, end);
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    const { rows } = await this.#rpc.call('get', { key, revision });
    return toKeyValues(rows)[0];
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    const { prefix, revision, after, limit } = request;
    const result = await this.#rpc.call('list', { prefix, revision, after, limit });
    return { items: toKeyValues(result.rows), revision: result.revision, more: result.more };
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    this.#requireOpen();
    // Copied: the caller may reuse its buffer, and watches deliver these bytes.
    const owned = write.value === null ? write : { ...write, value: new Uint8Array(write.value) };
    const outcome = await new Promise<Revision | WriteFailure>((resolve, reject) => {
      this.#writes.write({ write: owned, resolve, reject });
    });
    if (typeof outcome === 'number') return { ok: true, revision: outcome };
    return { ok: false, key: outcome.failedKey, current: outcome.current, revision: outcome.revision };
  }

  /** A watch that is behind reads the log page by page. One from a future revision waits for it. */
  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    let position = after;
    for (;;) {
      if (position >= this.#tail.revision) await this.#advanceOf(position, signal);
      if (signal.aborted || this.#closed !== undefined) return;
      const batch = this.#tail.after(position, prefix) ?? (await this.#readLog(prefix, position));
      if (signal.aborted) return;
      position = batch.revision;
      yield batch;
    }
  }

  /** Resolves also when the store has ended, or at the signal. */
  async #advanceOf(position: Revision, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      signal.addEventListener('abort', end);
      void this.#tail.waitFor(position + 1).then(end);
    });
  }

  /** Throws when the thread has ended. */
  async #readLog(prefix: string, after: Revision): Promise<WatchBatch> {
    const { rows, revision } = await this.#rpc.call('changes', { prefix, after });
    return { changes: toChanges(rows), revision };
  }

  /**
   * Linearizable without a message to the database's thread. Only this process writes to the file, and the tail
   * advances before a writer gets its answer. A commit that is in the file and not yet in the tail has not been read by
   * any caller: the thread answers in order, so the result of a read that saw the commit arrives after it.
   */
  async revision(): Promise<Revision> {
    this.#requireOpen();
    // A health check calls this: it must fail when the thread is dead.
    if (this.#thread.rpc.lost !== undefined) throw this.#thread.rpc.lost;
    return this.#tail.revision;
  }

  knownRevision(): Revision | undefined {
    return this.#closed === undefined && this.#thread.rpc.lost === undefined ? this.#tail.revision : undefined;
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    this.#requireOpen();
    // One at a time. A compaction that fails does not keep the next from running.
    const compaction = this.#compaction.then(() => this.#compactNow(revision));
    this.#compaction = compaction.catch(() => undefined);
    return compaction;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    try {
      await this.#writes.settled();
      await this.#thread.close();
    } finally {
      this.#tail.end();
    }
  }

  async #compactNow(revision: Revision): Promise<void> {
    // There are no states before the first revision.
    if (revision <= 1) return;
    this.#tail.compact(await this.#rpc.call('compactBegin', revision));
    // Each step is a separate call, so that writes go in between.
    while (await this.#rpc.call('compactSweep', undefined));
    while (await this.#rpc.call('compactVacuum', undefined));
    await this.#rpc.call('compactCheckpoint', undefined);
  }

  get #rpc(): Rpc<DatabaseMethods> {
    this.#requireOpen();
    return this.#thread.rpc;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
  }
}

function toKeyValues(rows: Rows): KeyValue[] {
  let offset = 0;
  return rows.keys.map((key, i) => {
    const size = rows.sizes[i] ?? 0;
    const value = rows.values.subarray(offset, offset + size);
    offset += size;
    return { key, value, modRevision: rows.revisions[i] ?? 0, createRevision: rows.created[i] ?? 0 };
  });
}

function toChanges(rows: Rows): Change[] {
  let offset = 0;
  return rows.keys.map((key, i): Change => {
    const size = rows.sizes[i] ?? NO_VALUE;
    const modRevision = rows.revisions[i] ?? 0;
    if (size === NO_VALUE) return { type: 'delete', key, modRevision };
    const value = rows.values.subarray(offset, offset + size);
    offset += size;
    return { type: 'put', key, value, modRevision, createRevision: rows.created[i] ?? 0 };
  });
}

function committedChanges(writes: readonly QueuedWrite[], outcomes: WriteOutcomes): Change[] {
  const changes: Change[] = [];
  for (const [i, { write }] of writes.entries()) {
    const modRevision = outcomes.revisions[i] ?? 0;
    const createRevision = outcomes.created[i] ?? 0;
    if (modRevision === 0) continue;
    const { key, value } = write;
    if (value === null) changes.push({ type: 'delete', key, modRevision });
    else changes.push({ type: 'put', key, value, modRevision, createRevision });
  }
  return changes;
}

/** Of the changes in memory. */
interface TailLimits {
  readonly changes: number;
  readonly bytes: number;
}

/** More than commits between two ticks of the event loop, in which every watch takes what is new. */
const LIMITS: TailLimits = { changes: 1_000, bytes: 4 * 1024 * 1024 };

/** The end of the log, in memory: the last changes, for all watches that are not further behind. */
class LogTail extends RevisionWaiters {
  readonly #limits: TailLimits;
  /** All changes after the revision `#since`. */
  #changes: Change[] = [];
  #bytes = 0;
  #since: Revision;

  constructor(revision: Revision, limits: TailLimits = LIMITS) {
    super();
    this.#limits = limits;
    this.#since = revision;
    this.moveTo(revision);
  }

  append(changes: readonly Change[], revision: Revision): void {
    if (this.#changes.length >= this.#limits.changes || this.#bytes >= this.#limits.bytes) this.#forget(this.revision);
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += change.type === 'put' ? change.value.byteLength : 0;
    }
    this.moveTo(revision);
  }

  /** The store has advanced by unknown changes: all watches have to read them from the log. */
  skipTo(revision: Revision): void {
    this.#forget(revision);
    this.moveTo(revision);
  }

  /** A watch from an older revision has to fail, as in the log. */
  compact(oldest: Revision): void {
    this.#since = Math.max(this.#since, oldest);
  }

  /** The changes after a revision; undefined for a watch that has to read the log. */
  after(position: Revision, prefix: string): WatchBatch | undefined {
    if (position < this.#since || position >= this.revision) return undefined;
    const first = this.#changes.findLastIndex(({ modRevision }) => modRevision <= position) + 1;
    const changes = this.#changes.slice(first).filter(({ key }) => key.startsWith(prefix));
    return { changes, revision: this.revision };
  }

  #forget(since: Revision): void {
    this.#changes = [];
    this.#bytes = 0;
    this.#since = since;
  }
}
