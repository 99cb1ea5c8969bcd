import { type ServiceError, status } from '@grpc/grpc-js';
import { StorageError } from '../contract.ts';

/** Texts of api/v3rpc/rpctypes/error.go: several errors share a code, and only the text tells them apart. */
const COMPACTED = 'required revision has been compacted';
const FUTURE = 'required revision is a future revision';
const TOO_LARGE = 'request is too large';
const NO_LEADER = 'etcdserver: no leader';
const STALE_TOKEN = ['invalid auth token', 'revision of auth store is old'];

const asServiceError = (error: unknown): ServiceError | undefined =>
  error instanceof Error && 'code' in error && 'details' in error && typeof error.details === 'string'
    ? (error as ServiceError)
    : undefined;

const says = (error: unknown, text: string): boolean => asServiceError(error)?.details.includes(text) === true;

export const isCompacted = (error: unknown): boolean => says(error, COMPACTED);
export const isFuture = (error: unknown): boolean => says(error, FUTURE);

/** The token of the user has expired, or was made before the users changed: a new one may do. */
export const isStaleToken = (error: unknown): boolean => STALE_TOKEN.some((text) => says(error, text));

/** Whether another member, or the same one later, may answer a question that this one could not. */
export function isPassing(error: unknown): boolean {
  const code = asServiceError(error)?.code;
  return (
    code === status.UNAVAILABLE ||
    code === status.DEADLINE_EXCEEDED ||
    code === status.RESOURCE_EXHAUSTED ||
    code === status.CANCELLED ||
    code === status.INTERNAL
  );
}

/** The member refused before it did anything: a write may be sent again. */
export const isUntouched = (error: unknown): boolean => says(error, NO_LEADER) || isStaleToken(error);

/** What the caller of the store is told. gRPC's own errors name the address and the trouble, and never what was sent. */
export function toStorageError(error: unknown, doing: string): StorageError {
  if (error instanceof StorageError) return error;
  const details = asServiceError(error)?.details ?? (error instanceof Error ? error.message : String(error));
  if (details.includes(TOO_LARGE)) {
    return new StorageError('too-large', 'the object is larger than etcd takes (its --max-request-bytes)', {
      cause: error,
    });
  }
  return new StorageError('unavailable', `etcd could not ${doing}: ${details}`, { cause: error });
}
