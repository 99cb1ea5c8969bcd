import { constants } from 'node:crypto';
import { createSecureContext, type TlsOptions } from 'node:tls';
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
 * The certificate of a listener, which is renewed while it listens. It compares contents, not times: secrets mounted by
 * Kubernetes change when a symbolic link is replaced, which file watchers miss. A pair that cannot be used is reported
 * once and the one in use stays: perhaps only half of the renewal has been written. So does a certificate that is valid
 * now if the other one is not.
 */
export class ServedCertificate {
  readonly #options: CertificateOptions;
  #inUse: KeyPair | undefined;
  #reported = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CertificateOptions) {
    this.#options = options;
  }

  /** When the certificate in use expires, in milliseconds; undefined before `start`. */
  get expiry(): number | undefined {
    return this.#inUse && validityOf(this.#inUse).until;
  }

  /** Throws when the first certificate cannot be used. */
  async start(): Promise<void> {
    const { files, checkMs } = this.#options;
    this.#use(await readKeyPair(files, createSecureContext));
    this.#timer = setInterval(() => this.reload(), checkMs).unref();
  }

  async reload(): Promise<void> {
    const { files, now, logger } = this.#options;
    if (this.#inUse === undefined) return;
    try {
      const pair = await readKeyPair(files, createSecureContext);
      requireAsValid(files.certFile, validityOf(pair), validityOf(this.#inUse), now());
      this.#reported = '';
      if (isSamePair(pair, this.#inUse)) return;
      this.#use(pair);
      logger.info({ certFile: files.certFile }, 'TLS certificate reloaded');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message === this.#reported) return;
      this.#reported = message;
      logger.error({ certFile: files.certFile, err: error }, 'TLS certificate not reloaded, the old one stays in use');
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #use(pair: KeyPair): void {
    const { files, now, logger, use } = this.#options;
    use(pair);
    this.#inUse = pair;
    const problem = validityProblem(validityOf(pair), now());
    if (problem !== undefined)
      logger.warn({ problem: `${files.certFile} ${problem}` }, 'clients refuse the TLS certificate');
  }
}

const isSamePair = (a: KeyPair, b: KeyPair): boolean => a.cert.equals(b.cert) && a.key.equals(b.key);
