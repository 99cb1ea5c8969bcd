import type { Store, WatchBatch } from '../contract.ts';
import { serializeError } from '../serialize-error.ts';
import {
  type ClientMessage,
  type Link,
  type OwnerMessage,
  type Request,
  SendQueue,
  splitBatch,
} from './proxy-protocol.ts';

interface OpenWatch {
  readonly stop: AbortController;
  readonly batches: AsyncIterator<WatchBatch>;
  /** The rest of a batch that was split. */
  pieces: Iterator<WatchBatch> | undefined;
}

/**
 * Serves the store of this process to other processes, and elects a leader among them: the first that campaigned and is
 * still connected. A leader's writes come over the link with which its leadership ends, so none of them can arrive
 * after another process leads. No fence is needed.
 */
export class StoreOwner {
  readonly #store: Store;
  #candidates: SendQueue<OwnerMessage>[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  serve(link: Link): void {
    const sendQueue = new SendQueue<OwnerMessage>(link);
    const watches = new Map<number, OpenWatch>();
    const receive = (message: ClientMessage): void => {
      if ('method' in message) {
        this.#respond(message, watches).then(
          (value) => sendQueue.post({ id: message.id, value }),
          (error: unknown) => sendQueue.post({ id: message.id, error: serializeError(error) }),
        );
      } else if (message.notify === 'watch') {
        const stop = new AbortController();
        const batches = this.#store.watch(message.prefix, message.after, stop.signal)[Symbol.asyncIterator]();
        watches.set(message.watch, { stop, batches, pieces: undefined });
      } else if (message.notify === 'unwatch') {
        watches.get(message.watch)?.stop.abort();
        watches.delete(message.watch);
      } else if (message.notify === 'campaign') this.#campaign(sendQueue);
      else this.#resign(sendQueue);
    };
    link.onMessage((messages) => {
      for (const message of messages as readonly ClientMessage[]) receive(message);
    });
    link.onClose(() => {
      for (const { stop } of watches.values()) stop.abort();
      watches.clear();
      this.#resign(sendQueue);
    });
  }

  async #respond(request: Request, watches: ReadonlyMap<number, OpenWatch>): Promise<unknown> {
    switch (request.method) {
      case 'get':
        return this.#store.get(request.key, request.revision);
      case 'list':
        return this.#store.list(request.request);
      case 'write':
        return this.#store.write(request.write);
      case 'revision':
        return this.#store.revision();
      case 'compactedRevision':
        return this.#store.compactedRevision();
      case 'compact':
        return this.#store.compact(request.revision);
      case 'next':
        return nextBatch(watches.get(request.watch));
    }
  }

  #campaign(candidate: SendQueue<OwnerMessage>): void {
    this.#candidates.push(candidate);
    if (this.#candidates[0] === candidate) candidate.post({ leads: true });
  }

  #resign(candidate: SendQueue<OwnerMessage>): void {
    const [leader] = this.#candidates;
    this.#candidates = this.#candidates.filter((other) => other !== candidate);
    if (leader === candidate) this.#candidates[0]?.post({ leads: true });
  }
}

async function nextBatch(watch: OpenWatch | undefined): Promise<WatchBatch | undefined> {
  if (watch === undefined) return undefined;
  for (;;) {
    const piece = watch.pieces?.next();
    if (piece?.done === false) return piece.value;
    const batch = await watch.batches.next();
    if (batch.done === true) return undefined;
    watch.pieces = splitBatch(batch.value);
  }
}
