import { pause } from '../../lib/backoff.ts';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Logger } from '../../observability/logger.ts';
import { checkKey, checkList, checkPrefix, checkRevision, checkWrite } from '../checks.ts';
import {
  compactedError,
  futureError,
  type Guard,
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
import { MAX_READ_MS } from '../freshness.ts';
import { isCompacted, isFuture, toStorageError } from './etcd-errors.ts';
import { RevisionHead, watchStream } from './etcd-watch.ts';
import type { KeySpace } from './key-space.ts';
import type { Member } from './member.ts';
import type { CallTimeout, Members } from './members.ts';
import {
  COMPACT,
  CREATE_REVISION,
  type Decoded,
  type EtcdCompare,
  type EtcdKeyValue,
  type EtcdTxn,
  MOD_REVISION,
  RANGE,
  TXN,
} from './messages.ts';
import type { StoreMeta } from './store-meta.ts';

/** A read is sent to a second member soon. Attempts are long, so that reads succeed on slow members, too. */
const READ_TIMEOUT: CallTimeout = { attemptMs: 1_500, totalMs: MAX_READ_MS, hedgeMs: 250 };
const PAGE_TIMEOUT: CallTimeout = { attemptMs: 5_000, totalMs: 10_000, hedgeMs: 1_500 };
/** Reads of the revision share a call. After this time a further read starts another one. */
const OVERLAP_MS = 100;
/** A write that has not happened by then, e.g. because etcd's leader hangs, fails. */
const WRITE_MS = 2_400;
const COMPACTION_TIMEOUT: CallTimeout = { attemptMs: 20_000, totalMs: 30_000 };
/** Items in one response of etcd at most: a few megabytes. etcd counts all keys of the range for each response. */
const PAGE_ITEMS = 4_000;
const RESUME_MS = 100;
/**
 * How long a watch may be silent after a progress request: at least `first`, and twice as long as its slowest answer.
 * With the time until a request is sent, a watch leaves a member that hangs within a second.
 */
const DEAD_MS = { first: 450, most: 60_000 };
/** By this factor the time of the slowest response shrinks with each further response. */
const DECAY = 0.9;

interface EtcdStoreOptions {
  readonly members: Members;
  readonly space: KeySpace;
  readonly meta: StoreMeta;
  readonly logger?: Pick<Logger, 'warn'> | undefined;
  /** Called when the store closes. */
  readonly stopFollowing?: (() => void) | undefined;
}

/** The storage contract on etcd. Several processes may have the same store open. */
export class EtcdStore implements Store {
  readonly #options: EtcdStoreOptions;
  readonly #members: Members;
  readonly #space: KeySpace;
  readonly #head = new RevisionHead();
  readonly #closing = new AbortController();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #sharedRevision: SharedCall<Revision>;
  /** The member that serves the watches. */
  #watchMember: Member | undefined;
  #closed: Promise<void> | undefined;
  #isReplaced = false;

  constructor(options: EtcdStoreOptions) {
    this.#options = options;
    this.#members = options.members;
    this.#space = options.space;
    this.#sharedRevision = new SharedCall(() => this.#readRevision(), { overlapMs: OVERLAP_MS });
  }

  /** Whether another store was found in the place of this one. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    const { kvs } = await this.#range({ key: this.#space.key(key) }, revision, READ_TIMEOUT);
    return kvs[0] && this.#space.keyValue(kvs[0]);
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    const { prefix, revision, after, limit } = request;
    const rangeEnd = this.#space.end(prefix);
    const items: KeyValue[] = [];
    let start = this.#space.key(prefix);
    if (after !== undefined) start = later(start, this.#space.after(after));
    let at = revision;
    for (;;) {
      const size = Math.min(PAGE_ITEMS, (limit ?? Number.POSITIVE_INFINITY) - items.length);
      const page = await this.#range({ key: start, rangeEnd, limit: size }, at, PAGE_TIMEOUT);
      // All pages are read at the revision of the first.
      at ??= page.revision;
      for (const kv of page.kvs) items.push(this.#space.keyValue(kv));
      const last = items.at(-1);
      if (!page.more || last === undefined || items.length === limit) return { items, revision: at, more: page.more };
      start = this.#space.after(last.key);
    }
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    this.#requireOpen();
    // Encoded before anything is awaited: the writer may use its buffer again.
    const request = TXN.request.encode(transactionFor(write, this.#space, this.#options.meta.modRevision));
    const { succeeded, header, responses } = await this.#track(
      // The watch has just heard from its member, so that one does not hang.
      this.#members.callOnce(TXN, request, WRITE_MS, { doing: 'take the write', prefer: this.#watchMember }),
    );
    const revision = this.#advanceTo(header?.revision);
    if (succeeded) return { ok: true, revision };
    const found = responses.map((response) => response.range?.kvs[0]);
    const [meta, ...states] = found;
    const failed = demandsOf(write).findIndex(({ expect }, i) => !holds(expect, states[i], this.#space));
    const key = demandsOf(write)[failed]?.key;
    if (key === undefined) {
      // Only the comparison of the metadata is left.
      this.#requireMeta(meta);
      throw new StorageError('unavailable', 'etcd refused a write without a reason');
    }
    const current = states[failed];
    return { ok: false, key, current: current && this.#space.keyValue(current), revision };
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    let position = after;
    let slowestMs = 0;
    while (!ended.aborted) {
      if (position < this.#options.meta.oldest) throw compactedError(position);
      const deadMs = Math.min(DEAD_MS.most, Math.max(DEAD_MS.first, 2 * slowestMs));
      try {
        const stream = watchStream({
          members: this.#members,
          space: this.#space,
          head: this.#head,
          prefix,
          after: position,
          signal: ended,
          prefer: this.#watchMember,
          onOpen: (member) => {
            this.#watchMember = member;
          },
          deadMs,
          onAnswer: (ms) => {
            slowestMs = Math.max(ms, slowestMs * DECAY);
          },
        });
        for await (const batch of stream) {
          position = batch.revision;
          yield batch;
        }
      } catch (error) {
        if (ended.aborted) return;
        if (error instanceof StorageError && error.code === 'compacted') throw error;
        // Resumed at its position, so no change is missed.
        this.#options.logger?.warn(
          { err: toStorageError(error, 'continue the watch'), revision: position },
          'the watch of etcd is resumed',
        );
        slowestMs = deadMs;
        await pause(RESUME_MS, { signal: ended, ref: false });
      }
    }
  }

  async revision(): Promise<Revision> {
    this.#requireOpen();
    return this.#sharedRevision.call();
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    this.#requireOpen();
    const at = this.#space.toEtcd(revision);
    if (at <= 1) return;
    try {
      await this.#members.callIdempotent(COMPACT, { revision: at }, COMPACTION_TIMEOUT, { doing: 'be compacted' });
    } catch (error) {
      if (isFuture(error)) throw futureError(revision);
      // Another process may have compacted further.
      if (!isCompacted(error)) throw this.#failure(error, 'be compacted');
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#options.stopFollowing?.();
    await Promise.allSettled(this.#pending);
    this.#closing.abort();
    this.#members.close();
  }

  async #readRevision(): Promise<Revision> {
    const { revision: known } = this.#head;
    const { kvs, revision } = await this.#range({ key: this.#space.metaKey, keysOnly: true }, undefined, READ_TIMEOUT);
    this.#requireMeta(kvs[0]);
    // The read is linearizable. An etcd that goes back was restored: it gives revisions again that are known here.
    if (revision < known) throw this.#replaced();
    return revision;
  }

  /** Reads at the member of the watch if it answers: the watch of that member soon reaches the returned revision. */
  async #range(
    request: { key: Uint8Array; rangeEnd?: Uint8Array; limit?: number; keysOnly?: boolean },
    at: Revision | undefined,
    timeout: CallTimeout,
  ): Promise<{ kvs: readonly EtcdKeyValue[]; more: boolean; revision: Revision }> {
    this.#requireOpen();
    if (at !== undefined && at < this.#options.meta.oldest) throw compactedError(at);
    const atRevision = at === undefined ? request : { ...request, revision: this.#space.toEtcd(at) };
    let response: Decoded<typeof RANGE.response>;
    try {
      response = await this.#members.callIdempotent(RANGE, atRevision, timeout, {
        doing: 'be read',
        prefer: this.#watchMember,
      });
    } catch (error) {
      if (at !== undefined && isFuture(error)) throw futureError(at);
      if (at !== undefined && isCompacted(error)) throw compactedError(at);
      throw this.#failure(error, 'be read');
    }
    return { kvs: response.kvs, more: response.more, revision: this.#advanceTo(response.header?.revision) };
  }

  /** Every response carries the current revision; watches that are behind it request progress. */
  #advanceTo(etcdRevision = 0): Revision {
    const revision = this.#space.fromEtcd(etcdRevision);
    this.#head.advanceTo(revision);
    return revision;
  }

  /** After an import into the prefix, or its removal, our offset of revisions is wrong. */
  #requireMeta(found: EtcdKeyValue | undefined): void {
    if (found?.modRevision !== this.#options.meta.modRevision) throw this.#replaced();
  }

  #replaced(): StorageError {
    if (!this.#isReplaced) this.#options.logger?.warn({}, REPLACED);
    this.#isReplaced = true;
    return new StorageError('replaced', REPLACED);
  }

  #failure(error: unknown, doing: string): StorageError {
    if (this.#closed !== undefined) return new StorageError('closed', 'the store is closed');
    return toStorageError(error, doing);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    const remove = (): void => {
      this.#pending.delete(work);
    };
    work.then(remove, remove);
    return work;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
    // It stays replaced, although its revision may reach the one that is known here.
    if (this.#isReplaced) throw this.#replaced();
  }
}

const REPLACED = 'the store in etcd has been replaced while it was open: restart this process';

const later = (a: Uint8Array, b: Uint8Array): Uint8Array => (Buffer.compare(a, b) < 0 ? b : a);

/** A revision that no key has, for an expectation that cannot hold. */
const NEVER = -1;

/** The expectation of a write itself, then its guards. */
const demandsOf = ({ key, expect, guards = [] }: Write): readonly Guard[] => [{ key, expect }, ...guards];

/**
 * A write as one etcd transaction. It compares the engine's metadata first, then the write's expectation and its
 * guards. When a comparison fails, the transaction reads the same keys instead.
 */
function transactionFor(write: Write, space: KeySpace, metaRevision: number): EtcdTxn {
  const { key, value } = write;
  const demands = demandsOf(write);
  const etcdKey = space.key(key);
  return {
    compare: [
      { target: MOD_REVISION, key: space.metaKey, modRevision: metaRevision },
      ...demands.map((demand) => comparison(demand, space)),
    ],
    success: [value === null ? { delete: { key: etcdKey } } : { put: { key: etcdKey, value } }],
    failure: [
      { range: { key: space.metaKey } },
      ...demands.map((demand) => ({ range: { ...rangeOf(demand, space), limit: 1 } })),
    ],
  };
}

function rangeOf({ key, expect }: Guard, space: KeySpace): { key: Uint8Array; rangeEnd?: Uint8Array } {
  return { key: space.key(key), ...('empty' in expect ? { rangeEnd: space.end(key) } : {}) };
}

function comparison(demand: Guard, space: KeySpace): EtcdCompare {
  const { expect } = demand;
  // etcd compares every key of a range. In an empty range it compares a key that does not exist.
  if ('empty' in expect) return { target: CREATE_REVISION, ...rangeOf(demand, space), createRevision: 0 };
  const key = space.key(demand.key);
  if ('absent' in expect) return { target: CREATE_REVISION, key, createRevision: 0 };
  // An absent key has revision 0 in etcd, so a revision from before the import must not become 0.
  const toEtcd = (revision: number): number => (space.toEtcd(revision) > 0 ? space.toEtcd(revision) : NEVER);
  if ('modRevision' in expect) return { target: MOD_REVISION, key, modRevision: toEtcd(expect.modRevision) };
  return { target: CREATE_REVISION, key, createRevision: toEtcd(expect.createRevision) };
}

function holds(expect: Guard['expect'], found: EtcdKeyValue | undefined, space: KeySpace): boolean {
  if ('absent' in expect || 'empty' in expect) return found === undefined;
  if (found === undefined) return false;
  if ('modRevision' in expect) return space.fromEtcd(found.modRevision) === expect.modRevision;
  return space.fromEtcd(found.createRevision) === expect.createRevision;
}
