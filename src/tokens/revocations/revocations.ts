import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import { REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import type { RevokedTokenSpec } from '../../api/kinds/revoked-token.ts';
import { fleetKey } from '../../api/object-key.ts';
import { ApiError, ignoreNotFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { asApiError } from '../../objects/storage-errors.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { StorageError, type Store } from '../../storage/contract.ts';
import { updateKey } from '../../storage/update-key.ts';

interface RevocationParts {
  readonly catalog: Pick<Catalog, 'issuedTokens' | 'revokedTokens'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
  readonly longestLifetime: LongestLifetime;
  readonly now: () => number;
}

export interface Revocations {
  /** Reads the watch cache, so every replica knows of a revocation within moments. */
  isRevoked(jti: string): boolean;
  /**
   * When it resolves, the revocation survives a crash and is in force in this process, and the record of the token, if
   * it has one, is removed: after the revocation, so a crash in between leaves a token that is listed, not one that is
   * accepted. `expiresAt` is the expiry of the token (epoch milliseconds); without it the revocation outlives every
   * token that was issued. `requester` is the label of the record. Revoking a token twice is no error.
   */
  revoke(jti: string, by: User, expiresAt: number | undefined, requester?: string): Promise<void>;
  /** Who requested the token, as a label; undefined if it is not revoked, or had no record. */
  requesterLabelOf(jti: string): string | undefined;
}

/** A token is accepted for a minute after its expiry, and a little longer by a replica whose clock is behind. */
const MARGIN_MS = 5 * 60_000;

export function createRevocations(parts: RevocationParts): Revocations {
  const { catalog, reader, writer, longestLifetime, now } = parts;
  const kind = catalog.revokedTokens;

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

    async revoke(jti, by, expiresAt, requester) {
      // A damaged record has an expiry that is no time.
      const isKnown = expiresAt !== undefined && !Number.isNaN(expiresAt);
      const until = (isKnown ? expiresAt : await latestExpiry()) + MARGIN_MS;
      const spec: RevokedTokenSpec = {
        revokedBy: { username: by.name, ...(by.uid === '' ? {} : { uid: by.uid }) },
        expirationTimestamp: toTimestamp(until),
      };
      const labels = requester === undefined ? {} : { labels: { [REQUESTER_LABEL]: requester } };
      const revocation = { apiVersion: '', kind: '', metadata: { name: jti, ...labels }, spec };
      try {
        await writer.create(kind, fleetKey(jti), revocation, { dryRun: false });
      } catch (error) {
        if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
        // One that is damaged has no expiry, and is not removed.
        if (!Number.isNaN(reader.find(kind, fleetKey(jti))?.expiresAt)) await extend(jti, until);
      }
      await writer.remove(catalog.issuedTokens, fleetKey(jti), { dryRun: false }).catch(ignoreNotFound);
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
