/** A UUID has 36 characters (RFC 9562); identity providers have longer ids. */
const CREDENTIAL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@~+/=-]{0,127}$/;

/**
 * Whether an id (`jti`) that another server chose may be recorded: short, without spaces, quotes and characters that a
 * log or a terminal would interpret.
 */
export const isCredentialId = (value: unknown): value is string =>
  typeof value === 'string' && CREDENTIAL_ID.test(value);
