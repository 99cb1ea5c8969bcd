import { slabCopy } from '../../lib/slab.ts';
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
import { ChangeFeed, type ReflectorLimits } from './change-feed.ts';
import { watchChanges } from './sqlite-watch.ts';
import { type QueuedWrite, WorkerChannel } from './worker-channel.ts';
import {
  NO_VALUE,
  type WireCall,
  type WireFailure,
  type WireOutcomes,
  type WireResult,
  type WireRows,
} from './worker-protocol.ts';

export interface SqliteStoreOptions {
  /** Its directory must exist. */
  readonly file: string;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
  /** The file grows no further; writes then fail with `unavailable` until compaction has made room. Default: no limit. */
  readonly maxBytes?: number;
  /** How far a watcher that does not consume may fall behind in memory. */
  readonly feedLimits?: ReflectorLimits;
}

/** Opens the embedded store, for this process alone. Rejects with `in-use`, `unreadable` or `unavailable`. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return SqliteStore.open(options);
}

type Rows = Extract<WireResult, { rows: unknown }>;
type Step = Exclude<WireResult, { rows: unknown } | { error: unknown }>;

class SqliteStore implements Store {
  readonly #channel: WorkerChannel;
  readonly #changeFeed: ChangeFeed;
  #oldest: Revision;
  #compaction: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  private constructor(channel: WorkerChannel, changeFeed: ChangeFeed, oldest: Revision) {
    this.#channel = channel;
    this.#changeFeed = changeFeed;
    this.#oldest = oldest;
  }

  static async open({ file, logger, maxBytes, feedLimits }: SqliteStoreOptions): Promise<Store> {
    let changeFeed: ChangeFeed | undefined;
    let failing = false;
    const opened = await WorkerChannel.open(
      { file, maxBytes },
      {
        written(writes, outcomes, revision, error) {
          if (changeFeed === undefined) return;
          const changes = outcomes === undefined ? [] : toChanges(writes, outcomes);
          // Each change is one revision. One too many was rejected and happened all the same, as the contract allows;
          // a watch must not miss it.
          if (revision - changeFeed.revision === changes.length) changeFeed.publish(changes, revision);
          else changeFeed.skipTo(revision);
          // Said when it begins and when it ends: a full disk fails a thousand batches a second.
          if (failing !== (error !== undefined)) {
            failing = error !== undefined;
            if (error === undefined) logger?.info({ file }, 'the store accepts writes again');
            else logger?.warn({ file, err: error }, 'the store does not accept writes');
          }
        },
        died(error) {
          logger?.warn({ file, err: error }, error.message);
          changeFeed?.end(error);
        },
      },
    );
    changeFeed = new ChangeFeed(opened.revision, feedLimits);
    logger?.info({ file, revision: opened.revision }, 'store opened');
    return new SqliteStore(opened.channel, changeFeed, opened.oldest);
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    const { rows } = await this.#read({ op: 'get', key, revision });
    return toKeyValues(rows)[0];
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    const { prefix, revision, after, limit } = request;
    const result = await this.#read({ op: 'list', prefix, revision, after, limit });
    return { items: toKeyValues(result.rows), revision: result.revision, more: result.more };
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    this.#requireOpen();
    // Our own copy: the writer may use its buffer again, and watchers are given these bytes.
    const owned = write.value === null ? write : { ...write, value: slabCopy(write.value) };
    const outcome = await new Promise<Revision | WireFailure>((resolve, reject) => {
      this.#channel.write({ write: owned, resolve, reject });
    });
    if (typeof outcome === 'number') return { ok: true, revision: outcome };
    return { ok: false, key: outcome.failedKey, current: outcome.current, revision: outcome.revision };
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    const readLog = async (from: string, position: Revision) => {
      if (this.#closed !== undefined) return undefined;
      const page = await this.#read({ op: 'changes', prefix: from, after: position });
      return { changes: toRowChanges(page.rows), revision: page.revision };
    };
    yield* watchChanges({ changeFeed: this.#changeFeed, readLog }, prefix, after, signal);
  }

  /**
   * No question to the database's thread, and linearizable all the same. Nobody else writes to the file, and
   * the feed moves before the writer of a batch is told. A commit that is in the file and not yet in the feed
   * has been shown to no one: answers leave that thread in the order of its work, so a read that saw the
   * commit arrives here after it.
   */
  async revision(): Promise<Revision> {
    this.#requireOpen();
    // What is asked of the store to see whether it is well must not be answered without it.
    if (this.#channel.dead !== undefined) throw this.#channel.dead;
    return this.#changeFeed.revision;
  }

  knownRevision(): Revision | undefined {
    return this.#closed === undefined && this.#channel.dead === undefined ? this.#changeFeed.revision : undefined;
  }

  async compactedRevision(): Promise<Revision> {
    this.#requireOpen();
    return this.#oldest - 1;
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    this.#requireOpen();
    // One at a time; and one that failed does not keep the next from its turn.
    const turn = this.#compaction.then(() => this.#compactNow(revision));
    this.#compaction = turn.catch(() => undefined);
    return turn;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    try {
      await this.#channel.close();
    } finally {
      this.#changeFeed.end();
    }
  }

  async #compactNow(revision: Revision): Promise<void> {
    // Nothing was before the first.
    if (revision <= 1) return;
    const begun = await this.#step({ op: 'compact-begin', revision });
    this.#oldest = begun.oldest;
    // Each step is a message of its own, and takes its place behind the writes that wait.
    while ((await this.#step({ op: 'compact-sweep' })).more);
    while ((await this.#step({ op: 'compact-vacuum' })).more);
    await this.#step({ op: 'compact-checkpoint' });
  }

  async #read(call: WireCall): Promise<Rows> {
    this.#requireOpen();
    return (await this.#channel.call(call)) as Rows;
  }

  async #step(call: WireCall): Promise<Step> {
    this.#requireOpen();
    return (await this.#channel.call(call)) as Step;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
  }
}

function toKeyValues(rows: WireRows): KeyValue[] {
  let offset = 0;
  return rows.keys.map((key, i) => {
    const size = rows.sizes[i] ?? 0;
    const value = rows.values.subarray(offset, offset + size);
    offset += size;
    return { key, value, modRevision: rows.revisions[i] ?? 0, createRevision: rows.created[i] ?? 0 };
  });
}

function toRowChanges(rows: WireRows): Change[] {
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

function toChanges(writes: readonly QueuedWrite[], outcomes: WireOutcomes): Change[] {
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
