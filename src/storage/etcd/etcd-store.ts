import { setTimeout as delay } from 'node:timers/promises';
import { SharedCall } from '../../lib/shared-call.ts';
import { checkKey, checkList, checkPrefix, checkRevision, checkWrite } from '../checks.ts';
import {
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
import { isCompacted, isFuture, toStorageError } from './etcd-errors.ts';
import { watchStream } from './etcd-watch.ts';
import type { KeySpace } from './key-space.ts';
import type { Member } from './member.ts';
import type { Members, Patience } from './members.ts';
import { COMPACT, type Decoded, type EtcdKeyValue, RANGE, TXN } from './messages.ts';
import { RevisionHead } from './revision-head.ts';
import type { StoreMeta } from './store-meta.ts';
import { failedKey, transactionFor } from './transaction.ts';

export interface StoreLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * A question is soon put to another member; who asks waits for an answer. Each try has more time than the one before, so
 * that an etcd all of whose members are slow is slow, and not away.
 */
const QUESTION: Patience = { tryMs: 1_500, totalMs: 4_000 };
/** A page of a list is more work. */
const PAGE: Patience = { tryMs: 5_000, totalMs: 10_000 };
/** Whatever has not happened by then, e.g. because the leader hangs, is better begun anew by the caller. */
const WRITE_MS = 3_000;
const COMPACTION: Patience = { tryMs: 20_000, totalMs: 30_000 };
/** Items in one answer of etcd: some hundred kilobytes. */
const PAGE_ITEMS = 500;
const RESUME_MS = 100;
const DEAD_MS = { first: 3_000, most: 60_000 };

/** The contract on etcd. Several processes may have the same store open. */
export class EtcdStore implements Store {
  readonly #members: Members;
  readonly #space: KeySpace;
  readonly #meta: StoreMeta;
  readonly #logger: StoreLogger | undefined;
  readonly #head = new RevisionHead();
  readonly #closing = new AbortController();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #question: SharedCall<Revision>;
  readonly #stopFollowing: (() => void) | undefined;
  /** The newest revision known to be gone; others may have compacted further. */
  #compacted: Revision;
  #watchesAt: Member | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: {
    members: Members;
    space: KeySpace;
    meta: StoreMeta;
    logger?: StoreLogger;
    /** Called when the store closes. */
    stopFollowing?: () => void;
  }) {
    this.#members = parts.members;
    this.#space = parts.space;
    this.#meta = parts.meta;
    this.#logger = parts.logger;
    this.#stopFollowing = parts.stopFollowing;
    this.#compacted = Math.max(0, parts.meta.oldest - 1);
    this.#question = new SharedCall(() => this.#askRevision());
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    const { kvs } = await this.#range({ key: this.#space.key(key) }, revision, QUESTION);
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
      const page = await this.#range({ key: start, rangeEnd, limit: size }, at, PAGE);
      // All pages are of the state that the first one was.
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
    const request = TXN.request.encode(transactionFor(write, this.#space, this.#meta.modRevision));
    const { succeeded, header, responses } = await this.#track(
      this.#members.tell(TXN, request, WRITE_MS, 'take the write'),
    );
    const revision = this.#saw(header?.revision);
    if (succeeded) return { ok: true, revision };
    const found = responses.map((response) => response.range?.kvs[0]);
    const key = failedKey(write, found.slice(1), this.#space);
    if (key === undefined) {
      // Only what the engine itself demanded is left.
      this.#requireMeta(found[0]);
      throw new StorageError('unavailable', 'etcd refused a write without a reason');
    }
    const current = found.slice(1)[key.index];
    return { ok: false, key: key.key, current: current && this.#space.keyValue(current), revision };
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    let position = after;
    let deadMs = DEAD_MS.first;
    while (!ended.aborted) {
      if (position <= this.#compacted && this.#compacted > 0) throw this.#compactedError(position);
      try {
        const stream = watchStream({
          members: this.#members,
          space: this.#space,
          head: this.#head,
          prefix,
          after: position,
          signal: ended,
          prefer: this.#watchesAt,
          onOpen: (member) => {
            this.#watchesAt = member;
          },
          deadMs,
        });
        for await (const batch of stream) {
          position = batch.revision;
          deadMs = DEAD_MS.first;
          yield batch;
        }
      } catch (error) {
        if (ended.aborted) return;
        if (error instanceof StorageError && error.code === 'compacted') {
          this.#compacted = Math.max(this.#compacted, error.revision ?? 0);
          throw error;
        }
        // Taken up where it was: nothing is missed, and nobody above needs to know.
        this.#logger?.warn(
          { err: toStorageError(error, 'go on with the watch'), revision: position },
          'the watch is taken up again',
        );
        deadMs = Math.min(DEAD_MS.most, deadMs * 2);
        await delay(RESUME_MS, undefined, { signal: ended, ref: false }).catch(() => undefined);
      }
    }
  }

  async revision(): Promise<Revision> {
    this.#requireOpen();
    return this.#question.ask();
  }

  /**
   * etcd has no question for it. A watch from the beginning is refused, with the revision, if anything was compacted. If
   * nothing was, it would make etcd read all of its history, so a read at the beginning comes first, which costs nothing.
   */
  async compactedRevision(): Promise<Revision> {
    this.#requireOpen();
    const { metaKey } = this.#space;
    const asked = (await this.#hasBeginning()) ? 0 : await this.#members.oldestKept(metaKey, QUESTION);
    this.#compacted = Math.max(this.#compacted, asked === 0 ? 0 : this.#space.fromEtcd(asked) - 1);
    return this.#compacted;
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    this.#requireOpen();
    const at = this.#space.toEtcd(revision);
    if (at <= 1 || revision - 1 <= this.#compacted) return;
    try {
      await this.#members.ask(COMPACT, { revision: at }, COMPACTION, { doing: 'be compacted' });
    } catch (error) {
      if (isFuture(error)) throw await this.#futureError(revision);
      // Someone else was faster, and went further.
      if (!isCompacted(error)) throw this.#failure(error, 'be compacted');
      await this.compactedRevision();
    }
    this.#compacted = Math.max(this.#compacted, revision - 1);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopFollowing?.();
    await Promise.allSettled(this.#pending);
    this.#closing.abort();
    this.#members.close();
  }

  /** Whether etcd still has its first revision. */
  async #hasBeginning(): Promise<boolean> {
    const request = { key: this.#space.metaKey, revision: 1, keysOnly: true };
    try {
      await this.#members.ask(RANGE, request, QUESTION, { doing: 'be read', prefer: this.#watchesAt });
      return true;
    } catch (error) {
      if (isCompacted(error)) return false;
      throw this.#failure(error, 'say what it has compacted');
    }
  }

  async #askRevision(): Promise<Revision> {
    // At the member of the watch, if it is well: it then has what it says, and the watch soon has it, too.
    const answer = await this.#range({ key: this.#space.metaKey, keysOnly: true }, undefined, QUESTION);
    this.#requireMeta(answer.kvs[0]);
    return answer.revision;
  }

  async #range(
    request: { key: Uint8Array; rangeEnd?: Uint8Array; limit?: number; keysOnly?: boolean },
    at: Revision | undefined,
    patience: Patience,
  ): Promise<{ kvs: readonly EtcdKeyValue[]; more: boolean; revision: Revision }> {
    this.#requireOpen();
    if (at !== undefined && at <= this.#compacted) throw this.#compactedError(at);
    const asked = at === undefined ? request : { ...request, revision: this.#space.toEtcd(at) };
    let answer: Decoded<typeof RANGE.response>;
    try {
      answer = await this.#members.ask(RANGE, asked, patience, { doing: 'be read', prefer: this.#watchesAt });
    } catch (error) {
      if (at !== undefined && isFuture(error)) throw await this.#futureError(at);
      if (at !== undefined && isCompacted(error)) {
        await this.compactedRevision();
        throw this.#compactedError(at);
      }
      throw this.#failure(error, 'be read');
    }
    return { kvs: answer.kvs, more: answer.more, revision: this.#saw(answer.header?.revision) };
  }

  /** Every answer tells where the store is, and that moves the watches on. */
  #saw(etcdRevision = 0): Revision {
    const revision = this.#space.fromEtcd(etcdRevision);
    this.#head.saw(revision);
    return revision;
  }

  /** Another store was moved into this place, or this one was removed: our count of revisions is no longer right. */
  #requireMeta(kept: EtcdKeyValue | undefined): void {
    if (kept?.modRevision === this.#meta.modRevision) return;
    throw new StorageError(
      'unavailable',
      'the store in etcd has been replaced while it was open: restart this process',
    );
  }

  #compactedError(asked: Revision): StorageError {
    const oldest = this.#compacted + 1;
    return new StorageError('compacted', `revision ${asked} has been compacted: the oldest kept is ${oldest}`, {
      revision: this.#compacted,
    });
  }

  async #futureError(asked: Revision): Promise<StorageError> {
    const revision = await this.revision();
    return new StorageError('future', `revision ${asked} has not happened yet: the store is at ${revision}`, {
      revision,
    });
  }

  #failure(error: unknown, doing: string): StorageError {
    if (this.#closed !== undefined) return new StorageError('closed', 'the store is closed');
    return toStorageError(error, doing);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    const forget = (): void => {
      this.#pending.delete(work);
    };
    work.then(forget, forget);
    return work;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
  }
}

const later = (a: Uint8Array, b: Uint8Array): Uint8Array => (Buffer.compare(a, b) < 0 ? b : a);
