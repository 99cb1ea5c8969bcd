import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { BINDING_FIELD, BINDING_LABEL, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { type SweepTimer, startSweep } from '../../objects/start-sweep.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Store } from '../../storage/contract.ts';
import { type Leadership, leaderGuards } from '../../storage/leadership.ts';
import { createRevocations, type Revocations, recordLongestLifetime } from './revocations.ts';
import { createSweep } from './sweep-expired.ts';
import { createTrackedTokens } from './tracked-tokens.ts';

interface TokenRecordParts extends SweepTimer {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly store: Pick<Store, 'get' | 'write'>;
  readonly maxExpirationSeconds: number;
  readonly maxTrackedPerCaller: number;
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
  const { catalog, reader, writer, store, now } = parts;
  const longestLifetime = await recordLongestLifetime(store, parts.maxExpirationSeconds);
  const maxPerCaller = parts.maxRevocationsPerCaller;
  const revocations = createRevocations({ catalog, reader, writer, longestLifetime, maxPerCaller, now });
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
    tracked: createTrackedTokens({ catalog, reader, writer, maxPerCaller: parts.maxTrackedPerCaller, now }),
    close,
  };
}
