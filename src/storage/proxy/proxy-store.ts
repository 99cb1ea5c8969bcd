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
import type { Leadership } from '../leadership.ts';
import { deserializeError } from '../serialize-error.ts';
import { type ClientMessage, type Link, type OwnerMessage, type Request, SendQueue } from './proxy-protocol.ts';

interface Pending {
  readonly method: Request['method'];
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  /** Resolves when the request succeeds or fails. */
  readonly settled: Promise<unknown>;
}

/** The store that another process of this machine has open. It keeps the promises of that store. */
export class ProxyStore implements Store {
  readonly #sendQueue: SendQueue<ClientMessage>;
  readonly #pending = new Map<number, Pending>();
  /** By watch: ends the wait for its next batch. */
  readonly #watches = new Map<number, () => void>();
  /** Every consistent read needs the revision: concurrent reads share one request. */
  readonly #revision = new SharedCall<Revision>(() => this.#request({ method: 'revision' }));
  #lastId = 0;
  #leads = false;
  #lost: StorageError | undefined;
  #closed: Promise<void> | undefined;

  constructor(link: Link) {
    this.#sendQueue = new SendQueue(link);
    link.onMessage((messages) => {
      for (const message of messages as readonly OwnerMessage[]) this.#receive(message);
    });
    link.onClose(() => this.#lose());
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    return this.#request({ method: 'get', key, revision });
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    return this.#request({ method: 'list', request });
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    // Copied: it is sent at the end of the tick, and the caller may reuse its buffer.
    const owned = write.value === null ? write : { ...write, value: new Uint8Array(write.value) };
    return this.#request({ method: 'write', write: owned });
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    const watch = ++this.#lastId;
    // Of the present wait only: in a race with one promise for the whole watch, every batch would leave a reaction.
    let endWait = (): void => {};
    const end = (): void => endWait();
    this.#watches.set(watch, end);
    signal.addEventListener('abort', end);
    this.#sendQueue.post({ notify: 'watch', watch, prefix, after });
    try {
      while (!signal.aborted && this.#closed === undefined) {
        const batch = await new Promise<WatchBatch | undefined>((resolve, reject) => {
          endWait = () => resolve(undefined);
          // The response of an ended watch is ignored, also when it is an error.
          this.#request<WatchBatch | undefined>({ method: 'next', watch }).then(resolve, reject);
        });
        if (batch === undefined || signal.aborted) return;
        yield batch;
      }
    } finally {
      signal.removeEventListener('abort', end);
      this.#watches.delete(watch);
      this.#sendQueue.post({ notify: 'unwatch', watch });
    }
  }

  async revision(): Promise<Revision> {
    this.#requireOpen();
    return this.#revision.call();
  }

  async compactedRevision(): Promise<Revision> {
    return this.#request({ method: 'compactedRevision' });
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    return this.#request({ method: 'compact', revision });
  }

  /** The owner keeps the store open for other processes. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  campaign(): Leadership {
    this.#sendQueue.post({ notify: 'campaign' });
    return {
      leads: () => this.#leads && this.#lost === undefined,
      fence: () => undefined,
      close: async () => {
        this.#leads = false;
        this.#sendQueue.post({ notify: 'resign' });
        this.#sendQueue.flush();
      },
    };
  }

  async #close(): Promise<void> {
    for (const end of this.#watches.values()) end();
    await Promise.all([...this.#pending.values()].map(({ settled }) => settled));
    this.#sendQueue.flush();
  }

  #request<T>(request: Request): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    try {
      this.#requireOpen();
    } catch (error) {
      reject(error);
      return promise;
    }
    const id = ++this.#lastId;
    this.#pending.set(id, { method: request.method, resolve, reject, settled: promise.catch(() => undefined) });
    this.#sendQueue.post({ ...request, id });
    return promise;
  }

  #receive(message: OwnerMessage): void {
    if ('leads' in message) {
      this.#leads = true;
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if ('error' in message) pending?.reject(deserializeError(message.error));
    else pending?.resolve(message.value as never);
  }

  #lose(): void {
    const lost = new StorageError('unavailable', 'the process that has the store open has ended');
    this.#lost = lost;
    for (const { method, reject } of this.#pending.values()) {
      reject(method === 'write' ? new StorageError('unknown-outcome', lost.message) : lost);
    }
    this.#pending.clear();
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
    if (this.#lost !== undefined) throw this.#lost;
  }
}
