import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type FollowedFiles, followFiles } from '../../lib/follow-files.ts';
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
 * The credentials in use, and each renewal. Those in use stay if others cannot be used, and so does a certificate that
 * is valid now if the other one is not.
 */
export function followCredentials({
  files,
  use,
  everyMs,
  logger,
}: {
  files: CredentialFiles;
  use: (credentials: EtcdCredentials) => void;
  everyMs: number;
  logger: Pick<Logger, 'info' | 'error'>;
}): Promise<FollowedFiles<EtcdCredentials>> {
  const { tls, user } = files;
  let isFirst = true;
  return followFiles<EtcdCredentials>({
    what: 'a file of credentials for etcd',
    files: [tls?.caFile, tls?.certFile, tls?.keyFile, user?.passwordFile].filter((file) => file !== undefined),
    everyMs,
    async read(inUse) {
      const found = await readCredentials(files);
      if (inUse !== undefined) requireValidCertificate(files, found, inUse);
      return found;
    },
    isSame: (a, b) => contentsOf(a) === contentsOf(b),
    use(credentials) {
      use(credentials);
      if (!isFirst) logger.info({}, 'the credentials for etcd were renewed');
      isFirst = false;
    },
    report: (problem) =>
      logger.error({ problem }, 'the credentials for etcd were not renewed, the old ones stay in use'),
  });
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
