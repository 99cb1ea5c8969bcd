import { type Caller, MASTERS, type User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { type ApiObject, fleetKey } from '../../api/kind.ts';
import { COUNTED_LABEL, REQUESTER_LABEL, type RevokedTokenSpec } from '../../api/kinds/issued-token.ts';
import { ApiError, ignoreNotFound } from '../../api/status.ts';
import { quantity } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { type Limit, PendingCreations, type Quota, quotaOf } from '../../objects/quota.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { asApiError } from '../../objects/storage-errors.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { StorageError, type Store } from '../../storage/contract.ts';
import { updateKey } from '../../storage/scan.ts';
import { countedFor, digestOf } from './tracked-tokens.ts';

interface RevocationParts {
  readonly catalog: Pick<Catalog, 'issuedTokens' | 'revokedTokens' | 'tokenOrders'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
  readonly longestLifetime: LongestLifetime;
  /** How many tokens without a record one caller may have revoked. */
  readonly maxPerCaller: number;
  readonly now: () => number;
}

export interface Revocations {
  /** Reads the watch cache, so every replica knows of a revocation within moments. */
  isRevoked(jti: string): boolean;
  /**
   * When it resolves, the revocation survives a crash and is in force in this process, and the record of the token, if
   * it has one, is removed: after the revocation, so a crash in between leaves a token that is listed, not one that is
   * accepted. `expiresAt` is the expiry of the token (epoch milliseconds); without it the revocation outlives every
   * token that was issued. `requester` is the label of the record. Revoking a token twice is no error. `quota` is asked
   * for a token without a record.
   */
  revoke(jti: string, by: User, expiresAt: number | undefined, requester?: string, quota?: Quota): Promise<void>;
  /**
   * For revocations by id alone: ids can be invented. A revocation of a record takes its place in the quota of tracked
   * tokens, and is never refused. `system:masters` have no quota: they can delete everything, and must not be stopped
   * in an incident.
   */
  quotaFor(caller: Pick<Caller, 'as' | 'home' | 'impersonator'>): Quota | undefined;
  /** Who requested the token, as a label; undefined if it is not revoked, or had no record. */
  requesterLabelOf(jti: string): string | undefined;
}

/** A token is accepted for a minute after its expiry, and a little longer by a replica whose clock is behind. */
const MARGIN_MS = 5 * 60_000;

export function createRevocations(parts: RevocationParts): Revocations {
  const { catalog, reader, writer, longestLifetime, now } = parts;
  const kind = catalog.revokedTokens;
  const pending = new PendingCreations();
  const limit: Limit = {
    quota: 'revocations',
    max: parts.maxPerCaller,
    counts: (entry) => !entry.isExpired(now()),
    what: `${quantity(parts.maxPerCaller, 'revocation')} of tokens without a record`,
    advice: 'revoke the signing key, which ends all of its tokens',
    endOf: ({ expiresAt = Number.NaN }) => expiresAt,
  };

  /** An existing revocation must last as long as a new one would. */
  async function extend(jti: string, until: number): Promise<void> {
    const change = (current: ApiObject): ApiObject => {
      const spec = current.spec as RevokedTokenSpec;
      if (Date.parse(spec.expirationTimestamp) >= until) return current;
      return { ...current, spec: { ...spec, expirationTimestamp: toTimestamp(until) } };
    };
    await writer.update(kind, fleetKey(jti), change, { dryRun: false, part: 'object' });
  }

  async function latestExpiry(): Promise<number> {
    try {
      return now() + (await longestLifetime.read()) * 1000;
    } catch (error) {
      throw asApiError(error);
    }
  }

  return {
    isRevoked: (jti) => reader.find(kind, fleetKey(jti)) !== undefined,

    requesterLabelOf: (jti) => reader.find(kind, fleetKey(jti))?.labels?.[REQUESTER_LABEL],

    quotaFor(caller) {
      const revoker = caller.impersonator ?? caller;
      if (revoker.as(undefined).groups.includes(MASTERS)) return undefined;
      const { id, who } = countedFor(reader, catalog.issuedTokens, revoker);
      // Not the id itself, which counts tracked passes.
      const key = digestOf(['revocations', id]);
      const stored = () => reader.cache(kind).current.withLabel(COUNTED_LABEL, key);
      return quotaOf({ pending, key, who, stored, limits: [limit], now });
    },

    async revoke(jti, by, expiresAt, requester, quota) {
      // A damaged record has an expiry that is no time.
      const isKnown = expiresAt !== undefined && !Number.isNaN(expiresAt);
      const until = (isKnown ? expiresAt : await latestExpiry()) + MARGIN_MS;
      const spec: RevokedTokenSpec = {
        revokedBy: { username: by.name, ...(by.uid === '' ? {} : { uid: by.uid }) },
        expirationTimestamp: toTimestamp(until),
      };
      const record = reader.find(catalog.issuedTokens, fleetKey(jti));
      const counted = record?.labels?.[COUNTED_LABEL] ?? quota?.key;
      const labels = {
        ...(requester === undefined ? {} : { [REQUESTER_LABEL]: requester }),
        ...(counted === undefined ? {} : { [COUNTED_LABEL]: counted }),
      };
      const revocation = { apiVersion: '', kind: '', metadata: { name: jti, labels }, spec };
      const isCounted = record === undefined && reader.find(kind, fleetKey(jti)) === undefined;
      try {
        await writer.create(kind, fleetKey(jti), revocation, { dryRun: false, quota: isCounted ? quota : undefined });
      } catch (error) {
        if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
        // One that is damaged has no expiry, and is not removed.
        if (!Number.isNaN(reader.find(kind, fleetKey(jti))?.expiresAt)) await extend(jti, until);
      }
      await writer.remove(catalog.issuedTokens, fleetKey(jti), { dryRun: false }).catch(ignoreNotFound);
      // The sweep does the same after a crash.
      const order = { cluster: record?.field('spec.cluster') ?? '', namespace: '', name: jti };
      if (reader.find(catalog.tokenOrders, order) === undefined) return;
      await writer.remove(catalog.tokenOrders, order, { dryRun: false }).catch(ignoreNotFound);
    },
  };
}

/**
 * The longest lifetime that any token was granted so far, whatever the options say today. A token that is revoked by
 * its id alone has an unknown expiry, so its revocation lasts as long as any token can.
 */
export interface LongestLifetime {
  /** Seconds. Reads the store: another replica may have been started with a longer one. */
  read(): Promise<number>;
}

/** Outside of the registry: it is no object, and is not watched. */
const LIFETIME_KEY = '/internal/longest-token-lifetime';

/** Stores this process's limit before it issues the first token. The stored value only grows. */
export async function recordLongestLifetime(
  store: Pick<Store, 'get' | 'write'>,
  ownSeconds: number,
): Promise<LongestLifetime> {
  await updateKey(store, LIFETIME_KEY, (stored) =>
    stored !== undefined && secondsIn(stored) >= ownSeconds
      ? undefined
      : Buffer.from(JSON.stringify({ seconds: ownSeconds })),
  );
  return {
    async read() {
      const current = await store.get(LIFETIME_KEY);
      return Math.max(ownSeconds, current === undefined ? 0 : secondsIn(current.value));
    },
  };
}

/** Throws in place of a default, which could shorten revocations. */
function secondsIn(value: Uint8Array): number {
  const { seconds } = JSON.parse(Buffer.from(value).toString()) as { seconds?: unknown };
  if (typeof seconds !== 'number' || !(seconds > 0)) {
    throw new StorageError('unreadable', `the value at ${LIFETIME_KEY} cannot be read`);
  }
  return seconds;
}
