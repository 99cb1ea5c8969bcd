import type { Status } from '../api/status.ts';
import { throughProxy } from './proxy.ts';

/** The server answered with an error. `status.reason` says what can be done about it. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;
  /** The texts of the Warning headers of the same response. */
  readonly warnings: readonly string[];
  /** Where a credential that was refused comes from, if the transport knows it. */
  readonly credentialSource: string | undefined;

  constructor(status: Status, warnings: readonly string[] = [], credentialSource?: string) {
    const message = status.message ?? status.reason ?? `the server answered with ${status.code}`;
    super(credentialSource === undefined ? message : `${message} (${credentialSource})`);
    this.status = status;
    this.warnings = warnings;
    this.credentialSource = credentialSource;
  }

  get code(): number {
    return this.status.code;
  }

  /** `NotFound`, `Forbidden`, `Expired`...; `""` if the server gave none. */
  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** There was no response, or none that could be read. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the reason is that no trusted CA signed the server's certificate. */
  readonly isUntrusted: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUntrusted?: boolean } = {}) {
    super(message, options);
    this.isUntrusted = options.isUntrusted === true;
  }
}

export const isStatus = (error: unknown, code: number): error is StatusError =>
  error instanceof StatusError && error.code === code;

const MAX_QUOTED = 200;

/** The Status in a response body. Another body, such as a proxy's error page, is quoted in a new Status. */
export function statusFrom(code: number, text: string): Status {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && value.kind === 'Status') return { ...(value as unknown as Status), code };
  } catch {
    // Not JSON: quoted below.
  }
  const quoted = text
    .slice(0, MAX_QUOTED)
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `the server answered with ${code} and no Status${quoted === '' ? '' : `: ${quoted}`}`,
    code,
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Codes of Node and OpenSSL for a certificate that no trusted CA signed. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export const isUntrusted = (error: unknown): boolean =>
  UNTRUSTED.has(String((innermostCause(error) as { code?: unknown }).code));

/** The peer answered a TLS ClientHello with something else. The code depends on the version of Node. */
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** The error for a request without a response, with a hint where the scheme of the address may be wrong. */
export function requestFailed(server: string, error: unknown): ConnectionError {
  const cause = innermostCause(error);
  const { code = '' } = cause as { code?: string };
  const isPlain = server.startsWith('http://');
  const through = throughProxy(error);
  if (!isPlain && (NOT_TLS.has(code) || (code === 'EPROTO' && cause.message.includes('wrong version number')))) {
    // The proxy may be the one that does not.
    if (through !== '') {
      return new ConnectionError(`${server} cannot be reached${through}: the answer is not TLS`, { cause: error });
    }
    const plain = server.replace(/^https:/, 'http:');
    return new ConnectionError(`${server} does not speak TLS; did you mean ${plain}?`, { cause: error });
  }
  // A TLS server closes a plain HTTP connection, or answers with a TLS alert, which is not HTTP.
  if (isPlain && (code === 'ECONNRESET' || cause.message === 'other side closed')) {
    return new ConnectionError(`${server} closed the connection; does it want https://?`, { cause: error });
  }
  if (isPlain && (cause.name === 'HTTPParserError' || `${code}`.startsWith('HPE_'))) {
    return new ConnectionError(`${server} does not answer in HTTP; does it want https://?`, { cause: error });
  }
  if (isUntrusted(error)) {
    const text = `${server} cannot be reached${through}: no trusted authority has signed its certificate`;
    return new ConnectionError(text, { cause: error, isUntrusted: true });
  }
  return responseFailed(server, error);
}

/** The error for a response that broke off. It says nothing about the address. */
export const responseFailed = (server: string, error: unknown): ConnectionError =>
  new ConnectionError(`${server} cannot be reached${throughProxy(error)}: ${reasonOf(innermostCause(error))}`, {
    cause: error,
  });

/** The error for a redirect, which is not followed. Only the origin of its target is shown. */
export function redirected(server: string, location: string): ConnectionError {
  const origin = URL.parse(location, server)?.origin ?? 'null';
  const isElsewhere = origin !== 'null' && origin !== new URL(server).origin;
  const reason = isElsewhere
    ? `it redirects to ${origin}; if that is the server, use that address`
    : 'unexpected redirect';
  return new ConnectionError(`${server} cannot be reached: ${reason}`);
}

/** fetch's own message only says that it failed; the reason is the innermost cause. */
export function innermostCause(error: unknown): Error {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0];
  return inner instanceof Error ? inner : new Error(String(inner));
}

/** The reason of a failed request, by its innermost cause. */
export function reasonOf(error: Error): string {
  const { code = '' } = error as { code?: string };
  if (error.name === 'TimeoutError' || /^UND_ERR_\w+_TIMEOUT$/.test(code)) return 'timed out';
  // OpenSSL's message is a line of numbers, function names and source paths.
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    const words = code.replace(/^ERR_SSL_/, '').toLowerCase();
    return words === 'eproto' ? 'TLS failed' : `TLS failed (${words.replaceAll('_', ' ')})`;
  }
  return error.message === '' ? error.name : error.message;
}
