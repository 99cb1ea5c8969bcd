import { every } from '../../lib/rounds.ts';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
import { checkKey, checkList, checkPrefix, checkRevision, checkWrite } from '../checks.ts';
import {
  CAMPAIGN_MS,
  type KeyValue,
  LEADER_KEY,
  LEASE_MS,
  type Leadership,
  type ListRequest,
  type ListResult,
  MARGIN_MS,
  type Revision,
  StorageError,
  type Store,
  type WatchBatch,
  type Write,
  type WriteResult,
} from '../contract.ts';
import type { OwnerMethods } from './store-owner.ts';

/** The store that another process of this machine has open. It keeps the promises of that store. */
export class ProxyStore implements Store {
  readonly #owner: Rpc<OwnerMethods>;
  /** Every consistent read needs the revision: concurrent reads share one request. */
  readonly #revision = new SharedCall<Revision>(() => this.#open.call('revision', undefined));
  readonly #closing = new AbortController();
  #lastWatch = 0;
  #closed: Promise<void> | undefined;

  /** `owner` serves the methods of a StoreOwner. */
  constructor(owner: Rpc<OwnerMethods>) {
    this.#owner = owner;
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    return this.#open.call('get', { key, revision });
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    return this.#open.call('list', request);
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    // Copied: it is sent at the end of the tick, and the caller may reuse its buffer.
    const owned = write.value === null ? write : { ...write, value: new Uint8Array(write.value) };
    return this.#open.call('write', owned);
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    const watch = ++this.#lastWatch;
    this.#open.tell('watch', { watch, prefix, after });
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    try {
      while (!ended.aborted) {
        const batch = await this.#owner.call('next', watch, { signal: ended });
        if (batch === undefined || ended.aborted) return;
        yield batch;
      }
    } catch (error) {
      // The answer of an ended watch is ignored, also when it is an error.
      if (!ended.aborted) throw error;
    } finally {
      this.#owner.tell('unwatch', watch);
    }
  }

  async revision(): Promise<Revision> {
    // A call that is under way must not answer for a store that is closed.
    this.#requireOpen();
    return this.#revision.call();
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    return this.#open.call('compact', revision);
  }

  /** The owner keeps the store open for other processes. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  campaign(): Leadership {
    const ended = new AbortController();
    let term: { readonly createRevision: Revision; readonly validUntil: number } | undefined;
    const leads = (): boolean => performance.now() < (term?.validUntil ?? 0) && this.#owner.lost === undefined;
    const campaign = async (): Promise<void> => {
      const validUntil = performance.now() + LEASE_MS - MARGIN_MS;
      const createRevision = await this.#owner.call('campaign', undefined, ended).catch(() => undefined);
      if (createRevision !== undefined) term = { createRevision, validUntil };
    };
    const stop = every(CAMPAIGN_MS, campaign);
    void campaign();
    return {
      leads,
      fence: () => (term && leads() ? { key: LEADER_KEY, expect: { createRevision: term.createRevision } } : undefined),
      close: async () => {
        stop();
        ended.abort();
        term = undefined;
        this.#owner.tell('resign', undefined);
        this.#owner.flush();
      },
    };
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await this.#owner.settled();
    this.#owner.flush();
  }

  get #open(): Rpc<OwnerMethods> {
    this.#requireOpen();
    return this.#owner;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
  }
}
