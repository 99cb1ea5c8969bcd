import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from '../../observability/logger.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Reads a certificate and its key; throws when they cannot serve, e.g. when they do not belong together. */
export async function readKeyPair({ certFile, keyFile }: TlsFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
  createSecureContext({ cert, key });
  return { cert, key };
}

export interface ReloadOptions {
  readonly files: TlsFiles;
  readonly current: KeyPair;
  readonly use: (pair: KeyPair) => void;
  readonly logger: Logger;
}

/**
 * Takes up a renewed certificate. Contents are compared, not times: secrets mounted by Kubernetes change by
 * swapping a symbolic link, which file watchers miss. A pair that cannot serve is reported once, and the
 * one in use stays: half of a renewal may simply not be written yet.
 */
export function createReloader({ files, current, use, logger }: ReloadOptions): () => Promise<void> {
  let inUse = current;
  let reported = '';
  return async () => {
    try {
      const pair = await readKeyPair(files);
      reported = '';
      if (pair.cert.equals(inUse.cert) && pair.key.equals(inUse.key)) return;
      use(pair);
      inUse = pair;
      logger.info({ certFile: files.certFile }, 'TLS certificate reloaded');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message === reported) return;
      reported = message;
      logger.error({ certFile: files.certFile, err: error }, 'TLS certificate not reloaded, the old one stays in use');
    }
  };
}
