import { SharedCall } from '../../lib/shared-call.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
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
import type { Leadership } from '../leadership.ts';
import type { ClientMethods, OwnerMethods } from './proxy-methods.ts';

/** The store that another process of this machine has open. It keeps the promises of that store. */
export class ProxyStore implements Store {
  readonly #owner: Rpc<OwnerMethods>;
  /** Every consistent read needs the revision: concurrent reads share one request. */
  readonly #revision = new SharedCall<Revision>(() => this.#open.call('revision', undefined));
  readonly #closing = new AbortController();
  #lastWatch = 0;
  #leads = false;
  #closed: Promise<void> | undefined;

  /** `owner` serves the methods of a StoreOwner. */
  constructor(owner: Rpc<OwnerMethods>) {
    this.#owner = owner;
  }

  /** What the owner calls. */
  readonly methods: ClientMethods = {
    lead: () => {
      this.#leads = true;
    },
  };

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
    this.#owner.tell('campaign', undefined);
    return {
      leads: () => this.#leads && this.#owner.lost === undefined,
      fence: () => undefined,
      close: async () => {
        this.#leads = false;
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
