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
import { fromWireError, type Link, type Question, SendQueue, type ToAsker, type ToOwner } from './proxy-protocol.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  /** Resolves either way. */
  readonly settled: Promise<unknown>;
}

/** A store that another process of this machine has open. Its promises are those of that store. */
export class ProxyStore implements Store {
  readonly #sendQueue: SendQueue<ToOwner>;
  readonly #waiting = new Map<number, Waiting>();
  /** By watch: lets whoever waits for its next batch go. */
  readonly #watches = new Map<number, () => void>();
  /** The store's revision is asked for by every consistent read: one question for all who ask at the same time. */
  readonly #revision = new SharedCall<Revision>(() => this.#ask({ ask: 'revision' }));
  #ids = 0;
  #leads = false;
  #lost: StorageError | undefined;
  #closed: Promise<void> | undefined;

  constructor(link: Link) {
    this.#sendQueue = new SendQueue(link);
    link.onMessage((messages) => {
      for (const message of messages as readonly ToAsker[]) this.#receive(message);
    });
    link.onClose(() => this.#lose());
  }

  async get(key: string, revision?: Revision): Promise<KeyValue | undefined> {
    checkKey(key);
    checkRevision(revision);
    return this.#ask({ ask: 'get', key, revision });
  }

  async list(request: ListRequest): Promise<ListResult> {
    checkList(request);
    return this.#ask({ ask: 'list', request });
  }

  async write(write: Write): Promise<WriteResult> {
    checkWrite(write);
    // Our own copy of the value: it is sent later in this tick, and the writer may use its buffer again.
    const owned = write.value === null ? write : { ...write, value: new Uint8Array(write.value) };
    return this.#ask({ ask: 'write', write: owned });
  }

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkPrefix(prefix);
    checkRevision(after);
    this.#requireOpen();
    const watch = ++this.#ids;
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    const end = (): void => resolve(undefined);
    this.#watches.set(watch, end);
    signal.addEventListener('abort', end);
    this.#sendQueue.post({ tell: 'watch', watch, prefix, after });
    try {
      while (!signal.aborted && this.#closed === undefined) {
        const next = this.#ask<WatchBatch | undefined>({ ask: 'next', watch });
        const batch = await Promise.race([next, ended]);
        // Whoever ended it does not wait for the answer, which may be an error of its own.
        if (batch === undefined || signal.aborted) return void next.catch(() => undefined);
        yield batch;
      }
    } finally {
      signal.removeEventListener('abort', end);
      this.#watches.delete(watch);
      this.#sendQueue.post({ tell: 'unwatch', watch });
    }
  }

  async revision(): Promise<Revision> {
    this.#requireOpen();
    return this.#revision.call();
  }

  async compactedRevision(): Promise<Revision> {
    return this.#ask({ ask: 'compactedRevision' });
  }

  async compact(revision: Revision): Promise<void> {
    checkRevision(revision);
    return this.#ask({ ask: 'compact', revision });
  }

  /** Ends the use of the store by this process; the owner keeps it open for others. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  campaign(): Leadership {
    this.#sendQueue.post({ tell: 'stand' });
    return {
      leads: () => this.#leads && this.#lost === undefined,
      fence: () => undefined,
      close: async () => {
        this.#leads = false;
        this.#sendQueue.post({ tell: 'leave' });
        this.#sendQueue.flush();
      },
    };
  }

  async #close(): Promise<void> {
    for (const end of this.#watches.values()) end();
    await Promise.all([...this.#waiting.values()].map(({ settled }) => settled));
    this.#sendQueue.flush();
  }

  #ask<T>(question: Question): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    try {
      this.#requireOpen();
    } catch (error) {
      reject(error);
      return promise;
    }
    const id = ++this.#ids;
    this.#waiting.set(id, { resolve, reject, settled: promise.catch(() => undefined) });
    this.#sendQueue.post({ ...question, id });
    return promise;
  }

  #receive(message: ToAsker): void {
    if ('leads' in message) {
      this.#leads = true;
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('error' in message) waiting?.reject(fromWireError(message.error));
    else waiting?.resolve(message.value as never);
  }

  #lose(): void {
    this.#lost = new StorageError('unavailable', 'the process that has the store open is gone');
    for (const { reject } of this.#waiting.values()) reject(this.#lost);
    this.#waiting.clear();
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new StorageError('closed', 'the store is closed');
    if (this.#lost !== undefined) throw this.#lost;
  }
}
