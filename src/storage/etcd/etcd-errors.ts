import { connect } from 'node:tls';
import { type ServiceError, status } from '@grpc/grpc-js';
import { StorageError } from '../contract.ts';
import { hostOf, portOf, readDateHeader, type TlsMaterial } from './member.ts';

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

/** Texts of etcd, gRPC, Node and OpenSSL, and what they mean for an operator. */
const WORDS: readonly (readonly [text: string, words: string])[] = [
  [NO_LEADER, 'it has no leader: most of the members must be up and reach each other'],
  ['request timed out', 'most of the members did not answer it in time'],
  ['leader changed', 'its leader has just changed'],
  [
    'database space exceeded',
    'its database is full: compact and defragment it, raise --quota-backend-bytes, disarm the alarm',
  ],
  ['too many requests', 'it is overloaded'],
  ['authentication failed', 'it does not know this user, or the password is wrong'],
  ['user name is empty', 'it wants a user and a password'],
  ['permission denied', 'its user has no permission for this prefix'],
  ['authentication is not enabled', 'it has no users: leave out the user and the password'],
  ['alert certificate required', 'it wants a client certificate: set --etcd-certfile and --etcd-keyfile'],
  ['alert bad certificate', 'it does not accept the client certificate of --etcd-certfile'],
  ['alert unknown ca', 'it does not accept the client certificate of --etcd-certfile'],
  ['alert certificate expired', 'the client certificate of --etcd-certfile has expired'],
  ['alert certificate revoked', 'the client certificate of --etcd-certfile was revoked'],
  ['alert certificate unknown', 'it does not accept the client certificate of --etcd-certfile'],
  ['alert unsupported certificate', 'it does not accept the client certificate of --etcd-certfile'],
  ['alert access denied', 'it does not accept the client certificate of --etcd-certfile'],
  ['before secure TLS connection was established', 'it ended the TLS handshake'],
  ['Failed to connect', 'it closed the connection'],
];

/** Errors of the system, in words. */
const SYSTEM: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  EPROTO: 'the TLS handshake failed',
};

/** What is wrong with a member, without gRPC's words. */
export function problemOf(error: unknown): string {
  const service = asServiceError(error);
  if (service === undefined) return error instanceof Error ? error.message : String(error);
  const { code, details } = service;
  const known = WORDS.find(([text]) => details.includes(text));
  if (known !== undefined) return known[1];
  const system = Object.entries(SYSTEM).find(([name]) => details.includes(name));
  if (system !== undefined) return system[1];
  if (code === status.DEADLINE_EXCEEDED) return NO_ANSWER;
  const reason = handshakeError(details);
  if (reason !== undefined) return isUntrusted(details) ? `this server refuses its certificate: ${reason}` : reason;
  if (code === status.UNAVAILABLE || code === status.CANCELLED || code === status.INTERNAL)
    return 'the connection broke';
  return details.replace(/^etcdserver: /, '');
}

const NO_ANSWER = 'no answer';

/** The error of the TLS handshake, which other failed connections carry. */
const handshakeError = (details: string): string | undefined =>
  /Last error: (?:Error: )?(.*?)(?:; if the root CA.*)?(?:\. Resolution note.*)?$/s.exec(details)?.[1];

/** Alerts of RFC 8446, section 6.2, about a certificate: that of the client, as a server sends them. */
const CERTIFICATE_ALERTS: ReadonlySet<number> = new Set([42, 43, 44, 45, 46, 48, 49, 116]);

const isCertificateRefused = (details: string): boolean =>
  CERTIFICATE_ALERTS.has(Number(/SSL alert number (\d+)/.exec(details)?.[1]));

/** Errors of OpenSSL and Node for a certificate of the member that cannot be verified. */
const isUntrusted = (details: string): boolean =>
  !details.includes('SSL alert number') && handshakeError(details)?.includes('certificate') === true;

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

/**
 * What is wrong if only one of the two, this process or the member, uses TLS; undefined otherwise. The error of such a
 * connection does not tell: both see bytes that make no sense, or the end of the connection.
 */
export async function tlsMismatch(
  address: string,
  tls: TlsMaterial | undefined,
  withinMs: number,
): Promise<string | undefined> {
  if (tls === undefined) {
    const isTls = await completesHandshake(address, withinMs);
    return isTls ? 'it speaks TLS: set --etcd-cafile to the CA of its certificate' : undefined;
  }
  // A Go server with TLS answers plain HTTP too: 400, without a Date header.
  const isPlain = (await readDateHeader(address, undefined, withinMs)) !== undefined;
  return isPlain ? 'it does not speak TLS: leave out --etcd-cafile, or give etcd a certificate' : undefined;
}

function completesHandshake(address: string, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    // The certificate is not verified, because nothing is sent after the handshake.
    const socket = connect({ host: hostOf(address), port: portOf(address), rejectUnauthorized: false });
    socket.setTimeout(withinMs, () => socket.destroy());
    socket.once('secureConnect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(false));
  });
}
