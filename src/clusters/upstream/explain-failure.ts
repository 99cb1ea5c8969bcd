import { UpstreamError } from './upstream-contract.ts';

/** Messages for Node's and OpenSSL's codes of certificate errors. */
const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed and not in the caBundle of the cluster',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate was signed by an authority that is not in the caBundle of the cluster',
  CERT_SIGNATURE_FAILURE: 'its certificate was not signed by the authority that it names',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  HOSTNAME_MISMATCH: 'its certificate is for another name',
};

/** OpenSSL's other certificate errors: the message is made of the code. */
const OTHER_CERTIFICATE =
  /^(?:CERT_\w+|CRL_\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UNABLE_TO_\w+|ERROR_IN_CERT_\w+)$/;

/** Alerts with which a server refuses a client certificate (RFC 8446 section 6.2). */
const REFUSED_CERTIFICATE =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA|ACCESS_DENIED)$/;

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  EHOSTUNREACH: 'there is no way to its address',
  ENETUNREACH: 'there is no way to its address',
};

const SERVER: Readonly<Record<string, string>> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its answer is too large',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its answer has another length than it says',
};

const TIMEOUT = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** Sorts failures by who can fix them. */
export function explainFailure(error: unknown, sentCertificate: boolean): UpstreamError {
  const cause = innermost(error);
  if (cause instanceof UpstreamError) return cause;
  const { code = '', name } = cause as { code?: string; name: string };
  const failed = (reason: UpstreamError['reason'], message: string) => new UpstreamError(reason, message, { cause });

  if (name === 'TimeoutError' || TIMEOUT.has(code)) return failed('timeout', 'it did not answer in time');
  if (sentCertificate && REFUSED_CERTIFICATE.test(code)) {
    return failed('credential', 'it refused the client certificate');
  }
  const certificate = CERTIFICATE[code];
  if (certificate !== undefined) return failed('tls', certificate);
  if (OTHER_CERTIFICATE.test(code)) return failed('tls', `its certificate was not accepted (${inWords(code)})`);
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO') {
    return failed('tls', `TLS failed (${inWords(code)})`);
  }
  const server = SERVER[code];
  if (server !== undefined) return failed('server', server);
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return failed('server', 'its answer is not HTTP');
  return failed('network', NETWORK[code] ?? `it cannot be reached${code === '' ? '' : ` (${inWords(code)})`}`);
}

const inWords = (code: string): string =>
  code
    .replace(/^ERR_(?:SSL|TLS)_/, '')
    .replaceAll('_', ' ')
    .toLowerCase()
    .slice(0, 100);

function innermost(error: unknown): Error {
  let inner = error;
  for (let depth = 0; depth < 8 && inner instanceof Error && !(inner instanceof UpstreamError); depth++) {
    const next = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
    if (!(next instanceof Error)) break;
    inner = next;
  }
  return inner instanceof Error ? inner : new Error(String(inner));
}
