/**
 * Messages between the main thread and the thread that owns the database.
 *
 * A message carries everything that was queued, and the values of a message lie in one buffer that is transferred, not
 * copied: a message costs about as much for sixteen writes as for one.
 */
import type { Expectation, Guard, KeyValue, Revision } from '../contract.ts';
import type { SerializedError } from '../serialize-error.ts';

/** `workerData` of the thread. */
export interface WorkerSettings {
  readonly file: string;
  readonly maxBytes: number | undefined;
  readonly existing: boolean;
  readonly restoresBackup: boolean;
}

/** The size of a value that is absent: the change deletes its key. */
export const NO_VALUE = -1;

export interface WriteRequest {
  readonly key: string;
  /** Bytes of `WorkerRequest.values` that belong to this write, or NO_VALUE. */
  readonly size: number;
  readonly expect: Expectation;
  readonly guards?: readonly Guard[];
}

export interface WorkerRequest {
  /**
   * WriteRequest[] as JSON, or empty: measured, a string is cloned in half the time of sixteen small objects.
   * Committed as one transaction, in this order, before the calls.
   */
  readonly writes: string;
  readonly values: Uint8Array<ArrayBuffer>;
  readonly calls: readonly Call[];
}

/** Everything that is not a write. Each is short, so that none keeps the writers waiting. */
export type Call =
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

export type CallResult = RowsResult | StepResult | { readonly error: SerializedError };

export interface RowsResult {
  readonly rows: Rows;
  /** The revision that was read. */
  readonly revision: Revision;
  /** True when a limit cut the result short. */
  readonly more: boolean;
}

/** The result of one step of a compaction. */
export interface StepResult {
  /** True when there are more steps of this kind. */
  readonly more: boolean;
  readonly oldest: Revision;
}

export type WorkerMessage =
  | { readonly type: 'opened'; readonly revision: Revision; readonly oldest: Revision }
  | { readonly type: 'refused'; readonly error: SerializedError }
  /** `revision` is the store's after the transaction, also when the transaction failed. */
  | {
      readonly type: 'written';
      readonly outcomes: WriteOutcomes | undefined;
      readonly error: SerializedError | undefined;
      readonly revision: Revision;
    }
  | { readonly type: 'answered'; readonly results: readonly CallResult[] }
  | { readonly type: 'no-backups'; readonly error: SerializedError };

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
