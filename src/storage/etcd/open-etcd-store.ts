import type { Logger } from '../../observability/logger.ts';
import type { Trace } from '../../observability/protocol-trace.ts';
import { StorageError } from '../contract.ts';
import type { StoreTime } from '../scan.ts';
import { toStorageError } from './etcd-errors.ts';
import { EtcdLeadership } from './etcd-leadership.ts';
import { EtcdStore } from './etcd-store.ts';
import { KeySpace } from './key-space.ts';
import { type CallTimeout, type EtcdAccess, type EtcdCredentials, Members } from './members.ts';
import { STATUS } from './messages.ts';
import { readMeta, requireData } from './store-meta.ts';

export interface EtcdStoreOptions extends EtcdAccess {
  /** The prefix of every key, e.g. `/clusterpass`: starts with `/`, and does not end with it. */
  readonly prefix: string;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
  readonly trace?: Trace | undefined;
  /** Rejects a prefix without data. Otherwise opening it creates a store there. */
  readonly existing?: boolean;
  /** How long opening waits for etcd. Default: ten seconds. */
  readonly openWithinMs?: number;
  /** Calls `use` with each renewal of the credentials; returns how to stop that. */
  readonly followCredentials?: (use: (credentials: EtcdCredentials) => void) => () => void;
}

/** Opens the store in etcd. Rejects with `unavailable` or `unreadable`. */
export async function openEtcdStore(options: EtcdStoreOptions) {
  const { prefix, logger, trace, existing = false, openWithinMs = 10_000, followCredentials, ...access } = options;
  const timeout: CallTimeout = { attemptMs: 3_000, totalMs: openWithinMs, hedgeMs: 500 };
  const members = new Members(access);
  const stopFollowing = followCredentials?.((credentials) => members.renew(credentials));
  try {
    const { version } = await members.callIdempotent(STATUS, {}, timeout, { doing: 'be reached' });
    requireVersion(version);
    if (existing) await requireData(members, prefix, timeout);
    const meta = await readMeta(members, prefix, timeout);
    logger?.info({ endpoints: access.endpoints, prefix, version }, 'store opened');
    const space = new KeySpace(prefix, meta.offset);
    const store = new EtcdStore({ members, space, meta, logger, stopFollowing });
    return {
      store,
      time: { ask: (monotonic) => members.times(monotonic) } satisfies StoreTime,
      /** When the client certificate in use expires, in milliseconds; undefined without one. */
      certificateExpiry: () => members.certificateExpiry,
      /** Takes part in the leader election from now on. Close it before the store. */
      campaign: () => new EtcdLeadership({ members, space, meta, isReplaced: () => store.isReplaced, logger, trace }),
    };
  } catch (error) {
    stopFollowing?.();
    members.close();
    throw toStorageError(error, 'be opened');
  }
}

/**
 * In older versions a progress report could overtake events (etcd issue 15220): a cache that believed it would serve a
 * state that never existed.
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
