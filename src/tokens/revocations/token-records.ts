import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { fleetKey, type Kind, kindPrefix } from '../../api/kind.ts';
import { BINDING_FIELD, BINDING_LABEL, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { type SweepTimer, startSweep } from '../../objects/sweep-objects.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { type Guard, type Leadership, leaderGuards, type Store } from '../../storage/contract.ts';
import { createRevocations, type LongestLifetime, type Revocations, recordLongestLifetime } from './revocations.ts';
import { createTrackedTokens } from './tracked-tokens.ts';

interface TokenRecordParts extends SweepTimer {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly store: Pick<Store, 'get' | 'write'>;
  readonly maxTokenExpirationSeconds: number;
  readonly maxTrackedTokensPerCaller: number;
  readonly maxRevocationsPerCaller: number;
  /** The leader removes expired records, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly now: () => number;
  /** See ClockGuard. */
  readonly removalTime: () => number;
}

/** A crash between the revocation of a token and the removal of its record leaves the record behind. */
export const obsoleteRecords =
  (catalog: Pick<Catalog, 'issuedTokens'>, revocations: Pick<Revocations, 'isRevoked'>) =>
  ({ kind, name }: Pick<StoredObject, 'kind' | 'name'>): boolean =>
    kind === catalog.issuedTokens && revocations.isRevoked(name);

const SWEEPER: User = { name: 'system:clusterpass:issuedtokens', uid: '', groups: [], extra: {} };

/** The records of tokens that were issued: of tracked passes, and of revoked ones. */
export async function openTokenRecords(parts: TokenRecordParts) {
  const { catalog, reader, store, now } = parts;
  const longestLifetime = await recordLongestLifetime(store, parts.maxTokenExpirationSeconds);
  const revocations = createRevocations({ ...parts, longestLifetime, maxPerCaller: parts.maxRevocationsPerCaller });
  /** The binding that allowed it was deleted before its time: by another way than a request, or before a crash. */
  const hasLostBinding = (entry: StoredObject): boolean => {
    const uid = entry.kind === catalog.issuedTokens ? entry.labels?.[BINDING_LABEL] : undefined;
    if (uid === undefined || entry.isExpired(now())) return false;
    const binding = reader.find(catalog.fleetRoleBindings, fleetKey(entry.field(BINDING_FIELD)));
    // A finalizer keeps the object, not the permission.
    return binding?.uid !== uid || binding.deletionTimestamp !== undefined;
  };
  const isObsolete = obsoleteRecords(catalog, revocations);
  /** The connector ends what it has made for an order that is gone. An order counts for the record of its token. */
  const isEndedOrder = (entry: StoredObject): boolean =>
    entry.kind === catalog.tokenOrders && (entry.isExpired(parts.removalTime()) || revocations.isRevoked(entry.name));
  const sweep = createSweep({
    kinds: [catalog.tokenOrders, catalog.issuedTokens, catalog.revokedTokens, catalog.bootstrapTokens],
    reader,
    store,
    guards: () => leaderGuards(parts.leadership),
    isObsolete: (entry) => isObsolete(entry) || hasLostBinding(entry) || isEndedOrder(entry),
    end: (entry) =>
      hasLostBinding(entry)
        ? revocations.revoke(entry.name, SWEEPER, entry.expiresAt, entry.labels?.[REQUESTER_LABEL])
        : undefined,
    removalTime: parts.removalTime,
    longestLifetime,
  });
  const close = startSweep(parts, sweep, 'the records of expired tokens could not be removed yet');
  return {
    revocations,
    tracked: createTrackedTokens({ ...parts, maxPerCaller: parts.maxTrackedTokensPerCaller }),
    close,
  };
}

interface SweepParts {
  readonly kinds: readonly Kind[];
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly store: Pick<Store, 'write'>;
  /** Objects to remove before they expire. */
  readonly isObsolete: (entry: StoredObject) => boolean;
  /** Ends what the object is a record of, and removes it; undefined when nothing is to be ended. */
  readonly end?: (entry: StoredObject) => Promise<void> | undefined;
  /** Conditions of the writes: that this replica leads. Throws when it does not. */
  readonly guards?: () => readonly Guard[];
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be removed by the clock. */
  readonly removalTime: () => number;
  readonly longestLifetime: LongestLifetime;
}

/** Of one kind, in one call: scanning this many takes about a millisecond. */
const MAX_SCANNED = 5_000;
const MAX_REMOVED = 64;
/** Objects stay after their expiry for the longest lifetime of a token and this much more. */
const GRACE_MS = 3_600_000;
/** How often the longest lifetime is read. */
const LIFETIME_MS = 60_000;

/**
 * B31: removes expired objects long after their expiry. The expiry is the later of two times: the one in the object,
 * and its creation plus the longest lifetime of a token. The one in the object may be too early, if the clock was
 * behind when it was computed. An object without a valid one stays. Each call removes a bounded number. Of several
 * replicas that remove one object, one succeeds, and the others do nothing.
 */
export function createSweep(parts: SweepParts): () => Promise<void> {
  const { kinds, reader, store, isObsolete, end, guards = () => [], removalTime, longestLifetime } = parts;
  /** The last key scanned of each kind, where the next call continues. */
  const positions = new Map<Kind, string>();
  let lifetime: { readonly ms: number; readonly readAt: number } | undefined;

  async function lifetimeMs(): Promise<number> {
    if (lifetime === undefined || performance.now() - lifetime.readAt > LIFETIME_MS) {
      lifetime = { ms: (await longestLifetime.read()) * 1000, readAt: performance.now() };
    }
    return lifetime.ms;
  }

  function next(kind: Kind, isRemovable: (entry: StoredObject) => boolean): StoredObject[] {
    const found: StoredObject[] = [];
    let scanned = 0;
    for (const entry of reader.cache(kind).current.scan(kindPrefix(kind), positions.get(kind))) {
      if (++scanned > MAX_SCANNED || found.length >= MAX_REMOVED) return found;
      positions.set(kind, entry.key);
      if (isObsolete(entry) || isRemovable(entry)) found.push(entry);
    }
    positions.delete(kind);
    return found;
  }

  return async () => {
    if (!reader.ready) return;
    const longestMs = await lifetimeMs();
    const before = removalTime() - longestMs - GRACE_MS;
    const isRemovable = (entry: StoredObject): boolean => {
      // Most are kept, and their creation is decoded only for the others.
      if (!entry.isExpired(before) || Number.isNaN(entry.expiresAt)) return false;
      const created = Date.parse(entry.object().metadata.creationTimestamp ?? '');
      return !(created + longestMs > before);
    };
    for (const kind of kinds) {
      // Taken before the scan, so that a write fails unless this replica led all the while.
      const taken = guards();
      await Promise.all(
        next(kind, isRemovable).map(
          (entry) =>
            end?.(entry) ??
            store.write({ key: entry.key, value: null, expect: { modRevision: entry.revision }, guards: taken }),
        ),
      );
    }
  };
}
