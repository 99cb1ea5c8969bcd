import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreOptions } from './config/store-options.ts';
import type { Logger } from './observability/logger.ts';
import { Secret } from './observability/secret.ts';
import { IMPORT_KEY, type Revision, StorageError, type Store } from './storage/contract.ts';
import { liftEtcd } from './storage/etcd/lift.ts';
import type { EtcdAccess } from './storage/etcd/members.ts';
import { openEtcdStore } from './storage/etcd/open-etcd-store.ts';
import { type Leadership, soleLeadership } from './storage/leadership.ts';
import { liftSqlite } from './storage/sqlite/lift.ts';
import { openSqliteStore } from './storage/sqlite/sqlite-store.ts';
import { readMountedSecret, UnsafeFile } from './tokens/secret-file.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Stands for election, where there is one. To be closed before the store. */
  campaign(): Leadership;
}

/** The one place that knows which engines there are. A store that an import has not finished with is refused. */
export async function openStore(
  options: StoreOptions,
  logger: Logger,
  { unfinished = false }: { unfinished?: boolean } = {},
): Promise<OpenedStore> {
  const opened = await openEngine(options, logger);
  try {
    if (!unfinished && (await opened.store.get(IMPORT_KEY)) !== undefined) {
      throw new StorageError(
        'unreadable',
        'an import into this store was not finished: run `clusterpass store import` again',
      );
    }
    return opened;
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

/** Makes every later revision greater than this one. The store must hold nothing yet, and not be open. */
export async function liftStore(options: StoreOptions, revision: Revision): Promise<void> {
  if (options.engine === 'sqlite') liftSqlite(options.path, revision);
  else await liftEtcd(await readAccess(options), options.prefix, revision);
}

async function openEngine(options: StoreOptions, logger: Logger): Promise<OpenedStore> {
  if (options.engine === 'etcd')
    return openEtcdStore({ ...(await readAccess(options)), prefix: options.prefix, logger });
  await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
  return { store: await openSqliteStore({ file: options.path, logger }), campaign: () => soleLeadership };
}

async function readAccess({ endpoints, tls, user }: Extract<StoreOptions, { engine: 'etcd' }>): Promise<EtcdAccess> {
  return {
    endpoints,
    ...(tls && { tls: await readTls(tls) }),
    ...(user && { user: { name: user.name, password: await readPassword(user.passwordFile) } }),
  };
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
  const text = (await readMountedSecret(file))?.toString('utf8').replace(/\r?\n$/, '') ?? '';
  if (text === '' || /[\r\n]/.test(text)) throw new UnsafeFile(`${file} must hold a password, on one line.`);
  return new Secret(text);
}
