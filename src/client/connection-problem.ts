import { ConnectionError } from './errors.ts';

/** Codes of Node and OpenSSL for a certificate that no trusted authority vouches for. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The other side answered a TLS greeting with something else. Which of the two depends on the version of Node. */
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** There was no answer from `root`: in words that say what can be done about it. */
export function noAnswer(root: string, error: unknown): ConnectionError {
  const cause = innermost(error);
  const { code = '' } = cause as { code?: string };
  const isPlain = root.startsWith('http://');
  if (!isPlain && (NOT_TLS.has(code) || (code === 'EPROTO' && cause.message.includes('wrong version number')))) {
    const plain = root.replace(/^https:/, 'http:');
    return new ConnectionError(`${root} does not speak TLS; did you mean ${plain}?`, { cause: error });
  }
  // A TLS server drops whoever does not greet in TLS, or answers with an alert, which is no HTTP.
  if (isPlain && code === 'UND_ERR_SOCKET' && cause.message === 'other side closed') {
    return new ConnectionError(`${root} closed the connection; does it want https://?`, { cause: error });
  }
  if (isPlain && cause.name === 'HTTPParserError') {
    return new ConnectionError(`${root} does not answer in HTTP; does it want https://?`, { cause: error });
  }
  if (UNTRUSTED.has(code)) {
    const text = `${root} cannot be reached: no trusted authority has signed its certificate`;
    return new ConnectionError(text, { cause: error, isUntrusted: true });
  }
  return cutOff(root, error);
}

/** The same once an answer had begun, where nothing can be concluded about the address. */
export const cutOff = (root: string, error: unknown): ConnectionError =>
  new ConnectionError(`${root} cannot be reached: ${reasonOf(innermost(error))}`, { cause: error });

/** fetch says only that it failed; the reason is the innermost cause. */
function innermost(error: unknown): Error {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0];
  return inner instanceof Error ? inner : new Error(String(inner));
}

function reasonOf(error: Error): string {
  const { code = '' } = error as { code?: string };
  if (error.name === 'TimeoutError') return 'no answer in time';
  // OpenSSL's own text is a line of numbers, function names and paths of its sources.
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    const words = code.replace(/^ERR_SSL_/, '').toLowerCase();
    return words === 'eproto' ? 'TLS failed' : `TLS failed (${words.replaceAll('_', ' ')})`;
  }
  return error.message === '' ? error.name : error.message;
}
