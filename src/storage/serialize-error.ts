import { type Revision, StorageError, type StorageErrorCode } from './contract.ts';

/** An error on its way to another thread or process. */
export interface SerializedError {
  /** Undefined for an error that is not a StorageError. */
  readonly code: StorageErrorCode | undefined;
  readonly message: string;
  readonly revision: Revision | undefined;
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof StorageError) return { code: error.code, message: error.message, revision: error.revision };
  return { code: undefined, message: error instanceof Error ? error.message : String(error), revision: undefined };
}

export function deserializeError({ code, message, revision }: SerializedError): Error {
  if (code === undefined) return new Error(message);
  return new StorageError(code, message, revision === undefined ? {} : { revision });
}
