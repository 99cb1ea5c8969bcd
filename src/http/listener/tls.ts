import { constants } from 'node:crypto';
import { createSecureContext, type TlsOptions } from 'node:tls';
import { type FollowedFiles, followFiles } from '../../lib/follow-files.ts';
import {
  type KeyPair,
  type KeyPairFiles,
  readKeyPair,
  requireAsValid,
  validityOf,
  validityProblem,
} from '../../lib/key-pair-files.ts';
import type { Logger } from '../../observability/logger.ts';

/**
 * Authenticated encryption with forward secrecy only, in the order of Go's servers, kube-apiserver among them: with 128
 * bits a long answer costs a tenth less than with the 256 that Node prefers, and neither can be broken.
 */
export const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  // TLS 1.2
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

export const tlsOptions = (handshakeTimeout: number): TlsOptions => ({
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  ALPNProtocols: ['http/1.1'],
  // In TLS 1.2 a client may ask for further handshakes on its connection, which the handshake limiter would not see.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  handshakeTimeout,
});

interface CertificateOptions {
  readonly files: KeyPairFiles;
  /** Called with each certificate that comes into use. */
  readonly use: (pair: KeyPair) => void;
  readonly checkMs: number;
  readonly now: () => number;
  readonly logger: Logger;
}

/**
 * The certificate of a listener, which is renewed while it listens. Rejects when the first one cannot be used. Later a
 * pair that cannot be used is reported once and the one in use stays. So does a certificate that is valid now if the
 * other one is not.
 */
export function followCertificate(options: CertificateOptions): Promise<FollowedFiles<KeyPair>> {
  const { files, checkMs, now, logger } = options;
  const { certFile, keyFile } = files;
  let isFirst = true;
  return followFiles<KeyPair>({
    what: certFile,
    files: [certFile, keyFile],
    everyMs: checkMs,
    async read(inUse) {
      const pair = await readKeyPair(files, createSecureContext);
      if (inUse !== undefined) requireAsValid(certFile, validityOf(pair), validityOf(inUse), now());
      return pair;
    },
    isSame: (a, b) => a.cert.equals(b.cert) && a.key.equals(b.key),
    use(pair) {
      options.use(pair);
      const problem = validityProblem(validityOf(pair), now());
      if (problem !== undefined) {
        logger.warn({ problem: `${certFile} ${problem}` }, 'clients refuse the TLS certificate');
      }
      if (!isFirst) logger.info({ certFile }, 'TLS certificate reloaded');
      isFirst = false;
    },
    report: (problem) => logger.error({ certFile, problem }, 'TLS certificate not reloaded, the old one stays in use'),
  });
}
