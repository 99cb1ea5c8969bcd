import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { readKeyPair, requireAsValid, validityOf } from '../../lib/key-pair-files.ts';
import { readMountedSecret, UnsafeFile } from '../../lib/secret-file.ts';
import type { Logger } from '../../observability/logger.ts';
import { Secret } from '../../observability/secret.ts';
import type { EtcdCredentials } from './members.ts';

/** Paths of the files that hold the credentials for etcd. */
interface CredentialFiles {
  readonly tls: { readonly caFile: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
  readonly user: { readonly name: string; readonly passwordFile: string } | undefined;
}

/** Reads the credentials; throws when they cannot be used, e.g. when other users can read the key. */
export async function readCredentials({ tls, user }: CredentialFiles): Promise<EtcdCredentials> {
  return {
    ...(tls && { tls: await readTls(tls) }),
    ...(user && { user: { name: user.name, password: await readPassword(user.passwordFile) } }),
  };
}

/**
 * Reads the files at an interval and calls `use` when their contents have changed. Contents are compared, not times:
 * Kubernetes renews a mounted secret by swapping a symbolic link. An error is logged once, and the old credentials stay
 * in use: half of a renewal may not be written yet. So does a certificate that is valid now if the other one is not.
 * Returns how to stop.
 */
export function followCredentials({
  files,
  current,
  use,
  renewEveryMs,
  logger,
}: {
  files: CredentialFiles;
  current: EtcdCredentials;
  use: (credentials: EtcdCredentials) => void;
  renewEveryMs: number;
  logger: Pick<Logger, 'info' | 'error'>;
}): () => void {
  if (files.tls === undefined && files.user === undefined) return () => {};
  let inUse = current;
  let reported = '';
  let reading = false;
  let stopped = false;
  const readAgain = async (): Promise<void> => {
    try {
      const found = await readCredentials(files);
      requireValidCertificate(files, found, inUse);
      reported = '';
      if (stopped || contentsOf(found) === contentsOf(inUse)) return;
      inUse = found;
      use(found);
      logger.info({}, 'the credentials for etcd were renewed');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (stopped || message === reported) return;
      reported = message;
      logger.error({ err: error }, 'the credentials for etcd were not renewed, the old ones stay in use');
    }
  };
  const timer = setInterval(() => {
    if (reading) return;
    reading = true;
    void readAgain().finally(() => {
      reading = false;
    });
  }, renewEveryMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

function requireValidCertificate({ tls }: CredentialFiles, found: EtcdCredentials, inUse: EtcdCredentials): void {
  const [cert, before] = [found.tls?.cert, inUse.tls?.cert];
  if (tls?.certFile === undefined || cert === undefined || before === undefined) return;
  requireAsValid(tls.certFile, validityOf({ cert }), validityOf({ cert: before }), Date.now());
}

/** For comparison only. */
const contentsOf = ({ tls, user }: EtcdCredentials): string =>
  JSON.stringify([
    tls?.ca.toString('latin1'),
    tls?.cert?.toString('latin1'),
    tls?.key?.toString('latin1'),
    user?.password.reveal(),
  ]);

async function readTls({
  caFile,
  certFile,
  keyFile,
}: NonNullable<CredentialFiles['tls']>): Promise<NonNullable<EtcdCredentials['tls']>> {
  const ca = await readFile(caFile);
  // With none, TLS would trust no member: the credentials in use are better than these.
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new UnsafeFile(`${caFile} holds no certificate in PEM.`);
  createSecureContext({ ca });
  if (certFile === undefined || keyFile === undefined) return { ca };
  return { ca, ...(await readKeyPair({ certFile, keyFile }, createSecureContext)) };
}

async function readPassword(file: string): Promise<Secret> {
  const text = (await readMountedSecret(file))?.toString('utf8').replace(/\r?\n$/, '') ?? '';
  if (text === '' || /[\r\n]/.test(text)) throw new UnsafeFile(`${file} must hold a password, on one line.`);
  return new Secret(text);
}
