/**
 * What processes of one machine say to each other who share a store that only one of them can have open. One asks,
 * the owner answers; whatever is asked in one turn of the event loop crosses as one message, and so do the answers.
 */
import {
  type ListRequest,
  type Revision,
  StorageError,
  type StorageErrorCode,
  type WatchBatch,
  type Write,
} from '../contract.ts';

/** The way to the other process. Messages arrive whole, once and in order, or the link is closed. */
export interface Link {
  /** What cannot be sent any more is dropped: the closing of the link tells. */
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  onClose(listener: () => void): void;
}

export type Question =
  | { readonly ask: 'get'; readonly key: string; readonly revision: Revision | undefined }
  | { readonly ask: 'list'; readonly request: ListRequest }
  | { readonly ask: 'write'; readonly write: Write }
  | { readonly ask: 'revision' }
  | { readonly ask: 'compactedRevision' }
  | { readonly ask: 'compact'; readonly revision: Revision }
  /** The next batch of a watch, or undefined at its end. It is asked for, so a process that sleeps is sent nothing. */
  | { readonly ask: 'next'; readonly watch: number };

/** Needs no answer. */
export type Notice =
  | { readonly tell: 'watch'; readonly watch: number; readonly prefix: string; readonly after: Revision }
  | { readonly tell: 'unwatch'; readonly watch: number }
  /** Stands for election, and leaves it. */
  | { readonly tell: 'stand' }
  | { readonly tell: 'leave' };

export type ToOwner = (Question & { readonly id: number }) | Notice;

export type ToAsker =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: WireError }
  /** From now on the asker leads. It does until it leaves or its link closes. */
  | { readonly leads: true };

export interface WireError {
  /** Undefined for what is nobody's fault but ours. */
  readonly code: StorageErrorCode | undefined;
  readonly message: string;
  readonly revision: Revision | undefined;
}

export function toWireError(error: unknown): WireError {
  if (error instanceof StorageError) return { code: error.code, message: error.message, revision: error.revision };
  return { code: undefined, message: error instanceof Error ? error.message : String(error), revision: undefined };
}

export function fromWireError({ code, message, revision }: WireError): Error {
  if (code === undefined) return new Error(message);
  return new StorageError(code, message, revision === undefined ? {} : { revision });
}

/** More are cut into pieces: to read one message must not hold up a process. */
const CHANGES_AT_ONCE = 500;

/** The same changes in batches that are small enough. Each is true on its own: it reaches to its last change. */
export function* inPieces({ changes, revision }: WatchBatch): Generator<WatchBatch> {
  for (let start = 0; start < changes.length; start += CHANGES_AT_ONCE) {
    const piece = changes.slice(start, start + CHANGES_AT_ONCE);
    const isLast = start + CHANGES_AT_ONCE >= changes.length;
    yield { changes: piece, revision: isLast ? revision : (piece.at(-1)?.modRevision ?? revision) };
  }
  if (changes.length === 0) yield { changes, revision };
}

/** Collects what is to be sent until the end of this turn of the event loop. */
export class SendQueue<T> {
  readonly #link: Link;
  #waiting: T[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  post(message: T): void {
    if (this.#waiting.push(message) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const messages = this.#waiting;
    this.#waiting = [];
    if (messages.length > 0) this.#link.send(messages);
  }
}
