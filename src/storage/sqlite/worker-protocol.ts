/**
 * What the event loop's thread and the database's thread say to each other.
 *
 * One message carries everything that was waiting, in each direction, and all values of a message lie in one
 * buffer that is moved and not copied: a message costs about as much for sixteen writes as for one.
 */
import { type Expectation, type KeyValue, type Revision, StorageError, type StorageErrorCode } from '../contract.ts';

/** What the database's thread is started with. */
export interface WorkerSettings {
  readonly file: string;
  readonly maxBytes: number | undefined;
}

/** Stands for the length of a value that is not there: the change deletes its key. */
export const NO_VALUE = -1;

export interface WireWrite {
  readonly key: string;
  /** Bytes of `WireBatch.values` that belong to this write, or NO_VALUE. */
  readonly size: number;
  readonly expect: Expectation;
  readonly guards?: readonly { readonly key: string; readonly expect: Expectation }[];
}

export interface WireBatch {
  /**
   * WireWrite[] as JSON, or empty: measured, a text crosses in half the time of sixteen small objects.
   * Committed as one transaction, in this order, before the calls are looked at.
   */
  readonly writes: string;
  readonly values: Uint8Array<ArrayBuffer>;
  readonly calls: readonly WireCall[];
}

/** Everything that is not a write. Each is one short piece of work, so that none keeps the writers waiting. */
export type WireCall =
  | { readonly op: 'get'; readonly key: string; readonly revision: Revision | undefined }
  | {
      readonly op: 'list';
      readonly prefix: string;
      readonly revision: Revision | undefined;
      readonly after: string | undefined;
      readonly limit: number | undefined;
    }
  | { readonly op: 'changes'; readonly prefix: string; readonly after: Revision }
  | { readonly op: 'compact-begin'; readonly revision: Revision }
  | { readonly op: 'compact-sweep' }
  | { readonly op: 'compact-vacuum' }
  | { readonly op: 'compact-checkpoint' }
  | { readonly op: 'close' };

/** Rows side by side rather than one object each: cheaper to clone. */
export interface WireRows {
  readonly keys: string[];
  readonly revisions: Revision[];
  readonly created: Revision[];
  readonly sizes: number[];
  readonly values: Uint8Array<ArrayBuffer>;
}

export interface WireFailure {
  readonly failedKey: string;
  readonly current: KeyValue | undefined;
  readonly revision: Revision;
}

/** One entry for each write of the batch, side by side as in WireRows. */
export interface WireOutcomes {
  readonly revisions: Revision[];
  readonly created: Revision[];
  /** By the write's index in the batch; its entries above are 0. */
  readonly failures: Map<number, WireFailure>;
}

export interface WireError {
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly revision: Revision | undefined;
}

export type WireResult =
  /** `revision` is what the rows are true at; `more` that the answer was cut short. */
  | { readonly rows: WireRows; readonly revision: Revision; readonly more: boolean }
  /** A step of a compaction: whether there is more of its kind to do. */
  | { readonly more: boolean; readonly oldest: Revision }
  | { readonly error: WireError };

export type FromWorker =
  | { readonly type: 'opened'; readonly revision: Revision; readonly oldest: Revision }
  | { readonly type: 'refused'; readonly error: WireError }
  /** `revision` is the store's after the batch, also when the batch failed. */
  | {
      readonly type: 'written';
      readonly outcomes: WireOutcomes | undefined;
      readonly error: WireError | undefined;
      readonly revision: Revision;
    }
  | { readonly type: 'answered'; readonly results: readonly WireResult[] };

export function toWireError(error: StorageError): WireError {
  return { code: error.code, message: error.message, revision: error.revision };
}

export function fromWireError(error: WireError): StorageError {
  return new StorageError(error.code, error.message, error.revision === undefined ? {} : { revision: error.revision });
}

/** Lays values end to end in a fresh buffer that may be transferred. */
export function packValues(values: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0;
  for (const value of values) total += value.byteLength;
  // All of it is written over, and Node's pool could not be moved to another thread.
  const packed = Buffer.allocUnsafeSlow(total);
  let offset = 0;
  for (const value of values) {
    packed.set(value, offset);
    offset += value.byteLength;
  }
  return packed;
}
