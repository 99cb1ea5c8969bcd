/** Ids of credentials in the audit trail and in the `extra` of a user: the keys and the spelling of kube-apiserver. */

/** The credential that a caller uses (K-31). */
export const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
/** The credential that a request issued. */
export const ISSUED_CREDENTIAL_ID = 'authentication.kubernetes.io/issued-credential-id';
/** The credential that a request revoked. */
export const REVOKED_CREDENTIAL_ID = 'clusterpass.dev/revoked-credential-id';
/** The credentials that ended with a pass, separated by commas. */
export const REVOKED_CREDENTIAL_IDS = 'clusterpass.dev/revoked-credential-ids';

export const credentialIdOf = (jti: string): string => `JTI=${jti}`;

/** The `jti` of a credential id. */
export const jtiIn = (credentialId: string): string => credentialId.replace(/^JTI=/, '');

/** A UUID has 36 characters (RFC 9562); identity providers have longer ids. */
const RECORDED_JTI = /^[A-Za-z0-9][A-Za-z0-9._:@~+/=-]{0,127}$/;

/**
 * Whether a `jti` that another server chose may be recorded: short, without spaces, quotes and characters that a log or
 * a terminal would interpret.
 */
export const isRecordableJti = (value: unknown): value is string =>
  typeof value === 'string' && RECORDED_JTI.test(value);
