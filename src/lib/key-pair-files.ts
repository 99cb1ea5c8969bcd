import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { requireMountedSecret, UnsafeFile } from './secret-file.ts';

export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** PEM */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** With the labels that OpenSSL accepts, e.g. `TRUSTED CERTIFICATE` and `EC PRIVATE KEY`. */
const holds = (pem: Buffer, what: 'CERTIFICATE' | 'PRIVATE KEY'): boolean =>
  new RegExp(`-----BEGIN (?:[A-Z0-9]+ )?${what}-----`).test(pem.toString('latin1'));
/** PKCS #8, and the older format of OpenSSL. */
const isEncrypted = (pem: Buffer): boolean =>
  /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem.toString('latin1'));

/**
 * Reads a certificate and its key. Throws UnsafeFile if a file holds something else, if the key is encrypted or other
 * users can read it, or if TLS does not take them (`createContext`), e.g. because they do not belong together.
 */
export async function readKeyPair(files: KeyPairFiles, createContext: (pair: KeyPair) => unknown): Promise<KeyPair> {
  const pair = await readFiles(files);
  try {
    createContext(pair);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem = code?.endsWith('_MISMATCH')
      ? 'do not belong together: the certificate is of another key.'
      : `cannot be used: ${message}`;
    throw new UnsafeFile(`${files.certFile} and ${files.keyFile} ${problem}`);
  }
  return pair;
}

/** In milliseconds. Of the first certificate of a file, which is that of the key. */
interface Validity {
  readonly from: number;
  readonly until: number;
}

export function validityOf({ cert }: Pick<KeyPair, 'cert'>): Validity {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  return { from: validFromDate.getTime(), until: validToDate.getTime() };
}

/** Undefined for a certificate that is valid now. */
export function validityProblem({ from, until }: Validity, now: number): string | undefined {
  if (now > until) return `has expired: it was valid until ${new Date(until).toISOString()}`;
  return now < from ? `is not valid yet: it is valid from ${new Date(from).toISOString()}` : undefined;
}

/** Throws UnsafeFile if the certificate in use is valid now and the one in the file is not. */
export function requireAsValid(certFile: string, found: Validity, inUse: Validity, now: number): void {
  const problem = validityProblem(found, now);
  if (problem !== undefined && validityProblem(inUse, now) === undefined) {
    throw new UnsafeFile(`${certFile} ${problem}`);
  }
}

async function readFiles({ certFile, keyFile }: KeyPairFiles): Promise<KeyPair> {
  const cert = await readFile(certFile);
  if (!holds(cert, 'CERTIFICATE')) throw new UnsafeFile(`${certFile} holds no certificate in PEM.`);
  const key = await requireMountedSecret(keyFile);
  if (!holds(key, 'PRIVATE KEY')) throw new UnsafeFile(`${keyFile} holds no private key in PEM.`);
  if (isEncrypted(key)) {
    throw new UnsafeFile(`${keyFile} is encrypted: it has to be a private key without a passphrase.`);
  }
  return { cert, key };
}
