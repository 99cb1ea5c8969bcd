import type { Kind } from '../api/kind.ts';
import { ApiError, storageReadError, timeout, tooManyRequests, unavailable } from '../api/status.ts';
import { StorageError } from '../storage/contract.ts';

/** The API error for a StorageError, at any depth of its causes; other errors are returned as they are. */
export function asApiError(error: unknown): unknown {
  const found = error instanceof ApiError ? undefined : storageErrorIn(error);
  if (found === undefined) return error;
  const apiError = apiErrorFor(found);
  apiError.cause = found;
  return apiError;
}

/** B32: a fault of the store is never an internal error (500). */
function apiErrorFor(error: StorageError): ApiError {
  switch (error.code) {
    case 'unavailable':
    case 'closed':
    case 'in-use':
    case 'refused':
      return unavailable('the store cannot be reached at the moment, please try again');
    case 'unknown-outcome':
      return maybeStored(error);
    case 'compacted':
    case 'future':
      return unavailable('the store no longer has the state that this request needs, please try again');
    case 'unreadable':
      return unavailable('the store holds data that this server cannot read: its log says which', OPERATOR_RETRY_S);
    case 'replaced':
      return unavailable(
        'the store was replaced while this server ran: the server must be restarted',
        OPERATOR_RETRY_S,
      );
    case 'too-large':
      return new ApiError(413, 'RequestEntityTooLarge', 'the object is larger than the store takes');
  }
}

/** An operator has to act. */
const OPERATOR_RETRY_S = 30;

/** The StorageError that caused an error, at any depth; undefined if none did. */
export function storageErrorIn(error: unknown): StorageError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < MAX_CAUSES; at = at.cause, depth++) {
    if (at instanceof StorageError) return at;
  }
  return undefined;
}

/** A chain of causes may be circular. */
const MAX_CAUSES = 8;

/** L-37 */
export function resourceVersionTooLarge(requested: number, current: number): ApiError {
  return timeout(`Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

export const unreadableObject = (kind: Kind, name: string): ApiError =>
  storageReadError(kind, name, 'is in the store, but its value cannot be decoded: clusterpass store check says why');

/** L-38 */
export const warmingUp = (): ApiError => tooManyRequests('storage is (re)initializing', 1);

/** Without Retry-After: clients would repeat a write that may have been made. */
export function maybeStored(cause: unknown): ApiError {
  const text = 'the store did not say whether the change was made: read the object before you repeat the request';
  const error = timeout(text);
  error.cause = cause;
  return error;
}

/** Without Retry-After, for the same reason. */
export const notYetInForce = (): ApiError =>
  timeout(
    'the change is stored, but this server does not act on it yet: read the object before you repeat the request',
  );
