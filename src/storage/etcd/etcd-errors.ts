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

/**
 * Texts of gRPC for a call that was not sent or, by RFC 9113, section 8.7, not processed, and of etcd for a write that
 * it refused before or while it applied it.
 */
const NOT_WRITTEN = [
  ...['No connection established', 'Name resolution failed', 'Stream refused by server'],
  'Channel closed before call started',
  ...[NO_LEADER, 'database space exceeded', 'too many requests', ...STALE_TOKEN],
];

/** What is wrong with a member, without gRPC's words. */
export function problemOf(error: unknown): string {
  const service = asServiceError(error);
  if (service === undefined) return error instanceof Error ? error.message : String(error);
  if (service.code === status.DEADLINE_EXCEEDED) return NO_ANSWER;
  const reason = connectionError(service.details) ?? service.details.replace(/^etcdserver: /, '');
  if (isUntrusted(service.details)) return `this server refuses its certificate: ${reason}`;
  return isCertificateRefused(service.details)
    ? `it does not accept the client certificate of --etcd-certfile: ${reason}`
    : reason;
}

const NO_ANSWER = 'no answer';

/** Why there is no connection, e.g. the error of the TLS handshake. Of an alert, OpenSSL's words for it. */
function connectionError(details: string): string | undefined {
  const last = /Last error: (?:Error: )?(.*?)(?:; if the root CA.*)?(?:\. Resolution note.*)?$/s.exec(details)?.[1];
  return /:SSL routines:[^:]*:([^:]*):/.exec(last ?? '')?.[1] ?? last;
}

/** Alerts of RFC 8446, section 6.2, about a certificate: that of the client, as a server sends them. */
const CERTIFICATE_ALERTS: ReadonlySet<number> = new Set([42, 43, 44, 45, 46, 48, 49, 116]);

const isCertificateRefused = (details: string): boolean =>
  CERTIFICATE_ALERTS.has(Number(/SSL alert number (\d+)/.exec(details)?.[1]));

/** Errors of OpenSSL and Node for a certificate of the member that cannot be verified. */
const isUntrusted = (details: string): boolean =>
  !details.includes('SSL alert number') && connectionError(details)?.includes('certificate') === true;

/**
 * The TLS handshake failed because one side refuses the certificate of the other. That does not pass by itself. It is
 * no evidence that etcd is down: other replicas, with other certificates or another CA, may reach it and revoke.
 */
export function isHandshakeRefusal(error: unknown): boolean {
  const details = asServiceError(error)?.details ?? '';
  return isCertificateRefused(details) || isUntrusted(details);
}

const REFUSALS: ReadonlySet<status | undefined> = new Set([
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.INVALID_ARGUMENT,
]);

const codeOf = (error: unknown): 'refused' | 'unavailable' =>
  REFUSALS.has(asServiceError(error)?.code) || isHandshakeRefusal(error) ? 'refused' : 'unavailable';

/** The error for the caller of the store. It names the member and the cause, and never the request. */
export function toStorageError(error: unknown, doing: string, member?: string): StorageError {
  if (error instanceof StorageError) return error;
  if (says(error, TOO_LARGE)) {
    return new StorageError('too-large', 'the object is larger than etcd takes (its --max-request-bytes)', {
      cause: error,
    });
  }
  const where = member === undefined ? '' : `${member}: `;
  return new StorageError(codeOf(error), `etcd could not ${doing}: ${where}${problemOf(error)}`, { cause: error });
}

/** The error for the caller of a write. A member that did not answer, or not in time, may have written. */
export function toWriteError(error: unknown, doing: string, member?: string): StorageError {
  const failure = toStorageError(error, doing, member);
  const isCertain = error instanceof StorageError || NOT_WRITTEN.some((text) => says(error, text));
  if (isCertain || failure.code !== 'unavailable') return failure;
  return new StorageError('unknown-outcome', `${failure.message}; the outcome is unknown`, { cause: error });
}

/** None of the members could be used: what is wrong with each. `refused` if one of them refused the TLS handshake. */
export function noMember(
  doing: string,
  members: readonly { readonly address: string }[],
  problems: ReadonlyMap<unknown, unknown>,
): StorageError {
  const each = members.map((member) => {
    const error = problems.get(member);
    return `${member.address}: ${error === undefined ? NO_ANSWER : problemOf(error)}`;
  });
  const code = [...problems.values()].some(isHandshakeRefusal) ? 'refused' : 'unavailable';
  return new StorageError(code, `etcd could not ${doing}: ${each.join('; ')}`);
}
