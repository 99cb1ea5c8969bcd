import { expect, it } from 'vitest';
import { requestFailed } from './errors.ts';

const failed = (code: string, message: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) });

const OPENSSL = '40D45EA4FFFF0000:error:0A00010B:SSL routines:tls_validate_record_header:';

it.each([
  [
    'https://a',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    `${OPENSSL}wrong version number`,
    'https://a does not speak TLS; did you mean http://a?',
  ],
  ['https://a', 'EPROTO', `${OPENSSL}wrong version number`, 'https://a does not speak TLS; did you mean http://a?'],
  ['https://a', 'EPROTO', `${OPENSSL}other`, 'https://a cannot be reached: TLS failed'],
  [
    'https://a',
    'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR',
    OPENSSL,
    'https://a cannot be reached: TLS failed (tlsv1 alert internal error)',
  ],
  ['http://a', 'UND_ERR_SOCKET', 'other side closed', 'http://a closed the connection; does it want https://?'],
  ['https://a', 'UND_ERR_SOCKET', 'other side closed', 'https://a cannot be reached: other side closed'],
  ['http://a', 'ENOTFOUND', 'getaddrinfo ENOTFOUND a', 'http://a cannot be reached: getaddrinfo ENOTFOUND a'],
])('%s, %s: says what to do instead of repeating OpenSSL', (root, code, message, expected) => {
  const error = requestFailed(root, failed(code, message));
  expect(error.message).toBe(expected);
  expect(error.isUntrusted).toBe(false);
});

it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])(
  '%s: marks the error as an untrusted certificate',
  (code) => {
    const error = requestFailed('https://a', failed(code, 'try running Node.js with --use-system-ca'));
    expect(error.message).toBe('https://a cannot be reached: no trusted authority has signed its certificate');
    expect(error.isUntrusted).toBe(true);
  },
);
