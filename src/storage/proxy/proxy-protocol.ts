/**
 * Messages between the process that has the store open (the owner) and other processes of the machine (its clients).
 * Messages of one tick cross as one array, in both directions.
 */
import type { ListRequest, Revision, WatchBatch, Write } from '../contract.ts';
import type { SerializedError } from '../serialize-error.ts';

/** The connection to the other process. Messages arrive whole, once and in order, until the link closes. */
export interface Link {
  /** After the link has closed, messages are dropped. */
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  onClose(listener: () => void): void;
}

export type Request =
  | { readonly method: 'get'; readonly key: string; readonly revision: Revision | undefined }
  | { readonly method: 'list'; readonly request: ListRequest }
  | { readonly method: 'write'; readonly write: Write }
  | { readonly method: 'revision' }
  | { readonly method: 'compactedRevision' }
  | { readonly method: 'compact'; readonly revision: Revision }
  /** The next batch of a watch, or undefined at its end. Pulled, so that a stopped process is not sent anything. */
  | { readonly method: 'next'; readonly watch: number };

/** A message without a response. */
type Notification =
  | { readonly notify: 'watch'; readonly watch: number; readonly prefix: string; readonly after: Revision }
  | { readonly notify: 'unwatch'; readonly watch: number }
  | { readonly notify: 'campaign' }
  | { readonly notify: 'resign' };

export type ClientMessage = (Request & { readonly id: number }) | Notification;

export type OwnerMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: SerializedError }
  /** The client leads from now on, until it resigns or its link closes. */
  | { readonly leads: true };

/** Larger batches are split: reading one message must not block a process for long. */
const CHANGES_PER_MESSAGE = 500;

/** The same changes in smaller batches. The revision of each is that of its last change. */
export function* splitBatch({ changes, revision }: WatchBatch): Generator<WatchBatch> {
  for (let start = 0; start < changes.length; start += CHANGES_PER_MESSAGE) {
    const piece = changes.slice(start, start + CHANGES_PER_MESSAGE);
    const isLast = start + CHANGES_PER_MESSAGE >= changes.length;
    yield { changes: piece, revision: isLast ? revision : (piece.at(-1)?.modRevision ?? revision) };
  }
  if (changes.length === 0) yield { changes, revision };
}

/** Queues messages until the end of the tick. */
export class SendQueue<T> {
  readonly #link: Link;
  #queue: T[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  post(message: T): void {
    if (this.#queue.push(message) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const messages = this.#queue;
    this.#queue = [];
    if (messages.length > 0) this.#link.send(messages);
  }
}
