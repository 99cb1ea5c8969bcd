import { StorageError, type Store } from '../contract.ts';
import type { Leadership } from '../leadership.ts';
import type { StoreTime } from '../store-time.ts';
import { toStorageError } from './etcd-errors.ts';
import { EtcdLeadership } from './etcd-leadership.ts';
import { EtcdStore, type StoreLogger } from './etcd-store.ts';
import { KeySpace } from './key-space.ts';
import { type EtcdAccess, type EtcdCredentials, Members, type Patience } from './members.ts';
import { STATUS } from './messages.ts';
import { readMeta } from './store-meta.ts';

export interface EtcdStoreOptions extends EtcdAccess {
  /** What every key begins with, e.g. `/clusterpass`: starts with `/`, and does not end with it. */
  readonly prefix: string;
  readonly logger?: StoreLogger;
  /** How long it is tried to reach etcd at all. Default: ten seconds. */
  readonly openWithinMs?: number;
  /** Told where new credentials are to be brought while the store is open; gives what ends that. */
  readonly followCredentials?: (use: (credentials: EtcdCredentials) => void) => () => void;
}

export interface OpenedEtcd {
  readonly store: Store;
  readonly time: StoreTime;
  /** Stands for election from now on. To be closed before the store. */
  campaign(): Leadership;
}

/** Opens the store in etcd. Rejects with `unavailable` when it can not be reached, or `unreadable`. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<OpenedEtcd> {
  const { prefix, logger, openWithinMs = 10_000, followCredentials, ...access } = options;
  const patience: Patience = { tryMs: 3_000, totalMs: openWithinMs };
  const members = new Members(access);
  try {
    const { version } = await members.ask(STATUS, {}, patience, { doing: 'be reached' });
    requireVersion(version);
    const meta = await readMeta(members, prefix, patience);
    logger?.info({ endpoints: access.endpoints, prefix, version }, 'store opened');
    const space = new KeySpace(prefix, meta.offset);
    const stopFollowing = followCredentials?.((credentials) => members.renew(credentials));
    return {
      store: new EtcdStore({
        members,
        space,
        meta,
        ...(logger && { logger }),
        ...(stopFollowing && { stopFollowing }),
      }),
      time: { ask: (steady) => members.times(steady) },
      campaign: () => new EtcdLeadership({ members, space, logger }),
    };
  } catch (error) {
    members.close();
    throw toStorageError(error, 'be opened');
  }
}

/**
 * Before these, an answer to a question for progress could overtake events (etcd issue 15220): a cache that believed
 * it would show a state that never was.
 */
function requireVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const old = major < 3 || (major === 3 && (minor < 4 || (minor === 4 && patch < 25) || (minor === 5 && patch < 8)));
  if (!old) return;
  throw new StorageError(
    'unreadable',
    `etcd ${version.slice(0, 32)} can report progress that has not happened: use 3.5.8 or newer, or 3.4.25`,
  );
}
