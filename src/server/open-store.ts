import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreOptions } from '../config/store-options.ts';
import type { Logger } from '../observability/logger.ts';
import type { Trace } from '../observability/protocol-trace.ts';
import {
  IMPORT_KEY,
  type Leadership,
  type Revision,
  StorageError,
  type Store,
  soleLeadership,
} from '../storage/contract.ts';
import { followCredentials, readCredentials } from '../storage/etcd/etcd-credentials.ts';
import type { EtcdCredentials } from '../storage/etcd/members.ts';
import type { StoreTime } from '../storage/scan.ts';
import { seedSqliteRevision } from '../storage/sqlite/database.ts';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';

export interface OpenedStore {
  readonly store: Store;
  /** The clocks of the store's members; undefined for an embedded store. */
  readonly time?: StoreTime;
  /** When the client certificate in use expires, in milliseconds; undefined without one. */
  readonly certificateExpiry?: () => number | undefined;
  /** Runs for leader election. Close it before the store. */
  campaign(): Leadership;
}

/** How often the credential files for etcd are polled. */
const RENEW_EVERY_MS = 10_000;

export interface OpenOptions {
  /** Opens a store with an unfinished import too. */
  readonly unfinished?: boolean;
  /** Rejects a store that does not exist or has no keys. Otherwise opening creates it. */
  readonly existing?: boolean;
  /** A server opens the store: a backup becomes the store. */
  readonly serves?: boolean;
  readonly renewEveryMs?: number;
  /** How long one attempt to reach etcd takes. */
  readonly openWithinMs?: number;
  readonly trace?: Trace | undefined;
}

const OPEN_WITHIN_MS = 10_000;

/** The only code that knows the storage engines. Rejects a store with an unfinished import. */
export async function openStore(
  options: StoreOptions,
  logger: Logger,
  { unfinished = false, ...openOptions }: OpenOptions = {},
): Promise<OpenedStore> {
  const opened = await openEngine(options, logger, openOptions);
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

/** Makes every later revision greater than this one, and the present history unreadable. The store must be closed. */
export async function seedStoreRevision(options: StoreOptions, revision: Revision): Promise<void> {
  if (options.engine === 'sqlite') return seedSqliteRevision(options.path, revision);
  const { endpoints, prefix } = options;
  const { seedEtcdRevision } = await import('../storage/etcd/store-meta.ts');
  await seedEtcdRevision({ ...(await readCredentials(options)), endpoints }, prefix, revision);
}

async function openEngine(
  options: StoreOptions,
  logger: Logger,
  openOptions: Omit<OpenOptions, 'unfinished'>,
): Promise<OpenedStore> {
  const {
    existing = false,
    serves = false,
    renewEveryMs = RENEW_EVERY_MS,
    openWithinMs = OPEN_WITHIN_MS,
    trace,
  } = openOptions;
  if (options.engine === 'etcd') {
    const { endpoints, prefix } = options;
    let renew: ((credentials: EtcdCredentials) => void) | undefined;
    const use = (credentials: EtcdCredentials): void => renew?.(credentials);
    const followed = await followCredentials({ files: options, use, everyMs: renewEveryMs, logger });
    // A server on SQLite does not load gRPC.
    const { openEtcdStore } = await import('../storage/etcd/open-etcd-store.ts');
    return openEtcdStore({
      ...followed.current(),
      endpoints,
      prefix,
      logger,
      trace,
      existing,
      openWithinMs,
      followCredentials: (use) => {
        renew = use;
        return followed.close;
      },
    });
  }
  const { path } = options;
  if (existing) await stat(path);
  else await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const store = await openSqliteStore({ file: path, logger, existing, restoresBackup: serves });
  if (existing && (await store.list({ prefix: '/', limit: 1 })).items.length === 0) {
    await store.close();
    throw new StorageError('unreadable', `nothing is stored in ${path}: correct --data-dir / --store`);
  }
  return { store, campaign: () => soleLeadership };
}
