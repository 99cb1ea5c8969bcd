import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreOptions } from './config/store-options.ts';
import type { Logger } from './observability/logger.ts';
import { Secret } from './observability/secret.ts';
import type { Store } from './storage/contract.ts';
import type { EtcdAccess } from './storage/etcd/members.ts';
import { openEtcdStore } from './storage/etcd/open-etcd-store.ts';
import { type Leadership, soleLeadership } from './storage/leadership.ts';
import { openSqliteStore } from './storage/sqlite/sqlite-store.ts';
import { readSecretFile, UnsafeFile } from './tokens/secret-file.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Stands for election, where there is one. To be closed before the store. */
  campaign(): Leadership;
}

/** The one place that knows which engines there are. */
export async function openStore(options: StoreOptions, logger: Logger): Promise<OpenedStore> {
  if (options.engine === 'sqlite') {
    await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
    return { store: await openSqliteStore({ file: options.path, logger }), campaign: () => soleLeadership };
  }
  const { endpoints, prefix, tls, user } = options;
  const access: EtcdAccess = {
    endpoints,
    ...(tls && { tls: await readTls(tls) }),
    ...(user && { user: { name: user.name, password: await readPassword(user.passwordFile) } }),
  };
  return openEtcdStore({ ...access, prefix, logger });
}

async function readTls({
  caFile,
  certFile,
  keyFile,
}: {
  caFile: string;
  certFile?: string;
  keyFile?: string;
}): Promise<NonNullable<EtcdAccess['tls']>> {
  const ca = await readFile(caFile);
  if (certFile === undefined || keyFile === undefined) return { ca };
  return { ca, cert: await readFile(certFile), key: await readFile(keyFile) };
}

async function readPassword(file: string): Promise<Secret> {
  const text = (await readSecretFile(file))?.toString('utf8').replace(/\r?\n$/, '') ?? '';
  if (text === '' || /[\r\n]/.test(text)) throw new UnsafeFile(`${file} must hold a password, on one line.`);
  return new Secret(text);
}
