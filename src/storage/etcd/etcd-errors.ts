import { type ServiceError, status } from '@grpc/grpc-js';
import { StorageError } from '../contract.ts';

/**
 * Texts of etcd's api/v3rpc/rpctypes/error.go: several errors share a gRPC code, and only the text distinguishes them.
 */
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

/** The user's token has expired, or is older than a change of the users: a new token may work. */
export const isStaleToken = (error: unknown): boolean => STALE_TOKEN.some((text) => says(error, text));

/** Whether another member, or the same one later, may answer the call. */
export function isTransient(error: unknown): boolean {
  const code = asServiceError(error)?.code;
  return (
    code === status.UNAVAILABLE ||
    code === status.DEADLINE_EXCEEDED ||
    code === status.RESOURCE_EXHAUSTED ||
    code === status.CANCELLED ||
    code === status.INTERNAL
  );
}

/** The member refused the call before it had an effect: a write may be sent again. */
export const isWithoutEffect = (error: unknown): boolean => says(error, NO_LEADER) || isStaleToken(error);

/** The error for the caller of the store. gRPC's messages name the address and the cause, and never the request. */
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

/** No member answered, or none could be reached. */
export const noAnswer = (doing: string, members: readonly { readonly address: string }[]): StorageError =>
  new StorageError(
    'unavailable',
    `etcd could not ${doing}: no answer from ${members.map(({ address }) => address).join(', ')}`,
  );
