import type { Store, WatchBatch } from '../contract.ts';
import {
  inPieces,
  type Link,
  type Question,
  SendQueue,
  type ToAsker,
  type ToOwner,
  toWireError,
} from './proxy-protocol.ts';

interface OpenWatch {
  readonly stop: AbortController;
  readonly batches: AsyncIterator<WatchBatch>;
  /** Pieces of a batch that were not asked for yet. */
  pieces: Iterator<WatchBatch> | undefined;
}

/**
 * Lets other processes use the store of this one, and says which of them leads: whoever stood first and is still
 * there. A leader's writes come over the link that its leadership ends with, so none of them can arrive after
 * another has been told that it leads; there is no need for a fence.
 */
export class StoreOwner {
  readonly #store: Store;
  #candidates: SendQueue<ToAsker>[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  serve(link: Link): void {
    const sendQueue = new SendQueue<ToAsker>(link);
    const watches = new Map<number, OpenWatch>();
    const receive = (message: ToOwner): void => {
      if ('ask' in message) {
        this.#answer(message, watches).then(
          (value) => sendQueue.post({ id: message.id, value }),
          (error: unknown) => sendQueue.post({ id: message.id, error: toWireError(error) }),
        );
      } else if (message.tell === 'watch') {
        const stop = new AbortController();
        const batches = this.#store.watch(message.prefix, message.after, stop.signal)[Symbol.asyncIterator]();
        watches.set(message.watch, { stop, batches, pieces: undefined });
      } else if (message.tell === 'unwatch') {
        watches.get(message.watch)?.stop.abort();
        watches.delete(message.watch);
      } else if (message.tell === 'stand') this.#stand(sendQueue);
      else this.#leave(sendQueue);
    };
    link.onMessage((messages) => {
      for (const message of messages as readonly ToOwner[]) receive(message);
    });
    link.onClose(() => {
      for (const { stop } of watches.values()) stop.abort();
      watches.clear();
      this.#leave(sendQueue);
    });
  }

  async #answer(question: Question, watches: ReadonlyMap<number, OpenWatch>): Promise<unknown> {
    switch (question.ask) {
      case 'get':
        return this.#store.get(question.key, question.revision);
      case 'list':
        return this.#store.list(question.request);
      case 'write':
        return this.#store.write(question.write);
      case 'revision':
        return this.#store.revision();
      case 'compactedRevision':
        return this.#store.compactedRevision();
      case 'compact':
        return this.#store.compact(question.revision);
      case 'next':
        return nextOf(watches.get(question.watch));
    }
  }

  #stand(candidate: SendQueue<ToAsker>): void {
    this.#candidates.push(candidate);
    if (this.#candidates[0] === candidate) candidate.post({ leads: true });
  }

  #leave(candidate: SendQueue<ToAsker>): void {
    const [leader] = this.#candidates;
    this.#candidates = this.#candidates.filter((other) => other !== candidate);
    if (leader === candidate) this.#candidates[0]?.post({ leads: true });
  }
}

async function nextOf(watch: OpenWatch | undefined): Promise<WatchBatch | undefined> {
  if (watch === undefined) return undefined;
  for (;;) {
    const piece = watch.pieces?.next();
    if (piece?.done === false) return piece.value;
    const batch = await watch.batches.next();
    if (batch.done === true) return undefined;
    watch.pieces = inPieces(batch.value);
  }
}
