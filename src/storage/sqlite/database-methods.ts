import type { Transferred } from '../../lib/worker-rpc.ts';
import type { KeyValue, Revision, Write } from '../contract.ts';
import type { SerializedError } from '../serialize-error.ts';

/**
 * Calls between the main thread and the thread that owns the database.
 *
 * A batch has all writes that were queued. Its values lie in one buffer that is transferred, not copied: a message
 * costs about as much for sixteen writes as for one.
 */

/** What the thread starts with. */
export interface DatabaseSettings {
  readonly file: string;
  readonly maxBytes: number | undefined;
  readonly existing: boolean;
  readonly restoresBackup: boolean;
}

/** The size of a value that is absent: the change deletes its key. */
export const NO_VALUE = -1;

export interface WriteRequest extends Omit<Write, 'value'> {
  /** Bytes of `WriteBatch.values` that belong to this write, or NO_VALUE. */
  readonly size: number;
}

export interface WriteBatch {
  /** WriteRequest[] as JSON: measured, a string is cloned in half the time of sixteen small objects. */
  readonly writes: string;
  readonly values: Uint8Array<ArrayBuffer>;
}

export interface ListCall {
  readonly prefix: string;
  readonly revision: Revision | undefined;
  readonly after: string | undefined;
  readonly limit: number | undefined;
}

/** What the thread serves. Every method but `write` is short, so that none keeps the writers waiting. */
export type DatabaseMethods = {
  /** The revision of the store. Rejects if the database cannot be opened. */
  readonly open: () => Revision;
  /** Commits a batch as one transaction, in its order. */
  readonly write: (batch: WriteBatch) => Written;
  readonly get: (call: { readonly key: string; readonly revision: Revision | undefined }) => Transferred<RowsResult>;
  readonly list: (call: ListCall) => Transferred<RowsResult>;
  readonly changes: (call: { readonly prefix: string; readonly after: Revision }) => Transferred<RowsResult>;
  /** Returns the oldest revision that can be read from now on. */
  readonly compactBegin: (revision: Revision) => Revision;
  /** True when there are more such steps. */
  readonly compactSweep: () => boolean;
  readonly compactVacuum: () => boolean;
  readonly compactCheckpoint: () => void;
  readonly close: () => Promise<void>;
};

/** What the thread calls. */
export type StoreMethods = {
  /** The socket for backups could not be opened. */
  readonly noBackups: (message: string) => void;
};

/** Columns rather than one object for each row: cheaper to clone. */
export interface Rows {
  readonly keys: string[];
  readonly revisions: Revision[];
  readonly created: Revision[];
  readonly sizes: number[];
  readonly values: Uint8Array<ArrayBuffer>;
}

export interface WriteFailure {
  readonly failedKey: string;
  readonly current: KeyValue | undefined;
  readonly revision: Revision;
}

/** One entry for each write of the request, in columns. */
export interface WriteOutcomes {
  readonly revisions: Revision[];
  readonly created: Revision[];
  /** By the write's index in the request; its entries above are 0. */
  readonly failures: Map<number, WriteFailure>;
}

export interface RowsResult {
  readonly rows: Rows;
  /** The revision that was read. */
  readonly revision: Revision;
  /** True when a limit cut the result short. */
  readonly more: boolean;
}

/** `revision` is the store's after the transaction, also when the transaction failed. */
export type Written = { readonly revision: Revision } & (
  | { readonly outcomes: WriteOutcomes; readonly error?: never }
  | { readonly outcomes?: never; readonly error: SerializedError }
);

/** Concatenates values in a new buffer that can be transferred. */
export function packValues(values: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0;
  for (const value of values) total += value.byteLength;
  // Not from Node's pool, which cannot be transferred. All of it is overwritten.
  const packed = Buffer.allocUnsafeSlow(total);
  let offset = 0;
  for (const value of values) {
    packed.set(value, offset);
    offset += value.byteLength;
  }
  return packed;
}
