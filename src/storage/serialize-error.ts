import type { RpcOptions } from '../lib/worker-rpc.ts';
import { StorageError, type StorageErrorCode } from './contract.ts';

/** An error on its way to another thread or process. */
export interface SerializedError {
  /** Undefined for an error that is not a StorageError. */
  readonly code: StorageErrorCode | undefined;
  readonly message: string;
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof StorageError) return { code: error.code, message: error.message };
  return { code: undefined, message: error instanceof Error ? error.message : String(error) };
}

export const deserializeError = ({ code, message }: SerializedError): Error =>
  code === undefined ? new Error(message) : new StorageError(code, message);

/** How errors cross between a store and its callers. */
export const STORAGE_ERRORS: NonNullable<RpcOptions['errors']> = { pack: serializeError, unpack: deserializeError };

/** For a caller of a store. A write that was sent to a store that ended may have happened. */
export const storeCalls = (endedText: string): RpcOptions => ({
  lost: (cause, sent) => new StorageError(sent === 'write' ? 'unknown-outcome' : 'unavailable', endedText, { cause }),
  errors: STORAGE_ERRORS,
});
