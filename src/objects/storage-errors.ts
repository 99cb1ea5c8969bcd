import { ApiError, timeout, tooManyRequests, unavailable } from '../api/status.ts';
import { StorageError } from '../storage/contract.ts';

/** The API error for a StorageError; other errors are returned as they are. */
export function asApiError(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  switch (error.code) {
    case 'unavailable':
    case 'closed':
      return unavailable('the store cannot be reached at the moment, please try again');
    case 'too-large':
      return new ApiError(413, 'RequestEntityTooLarge', 'the object is larger than the store takes');
    default:
      return error;
  }
}

/** L-37 */
export function resourceVersionTooLarge(requested: number, current: number): ApiError {
  return timeout(`Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** L-38 */
export const warmingUp = (): ApiError => tooManyRequests('storage is (re)initializing', 1);

/** Without Retry-After: clients would repeat a write that has happened. */
export const notYetInForce = (): ApiError =>
  timeout(
    'the change is stored, but this server does not act on it yet: read the object before you repeat the request',
  );
