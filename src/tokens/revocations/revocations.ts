import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { RevokedTokenSpec } from '../../api/kinds/revoked-token.ts';
import { ApiError } from '../../api/status.ts';
import { toTimestamp } from '../../objects/prepare.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { asApiError } from '../../objects/storage-errors.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { LongestLifetime } from './longest-lifetime.ts';

export interface RevocationParts {
  readonly catalog: Pick<Catalog, 'revokedTokens'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'update'>;
  readonly longestLifetime: LongestLifetime;
  readonly now: () => number;
}

export interface Revocations {
  /** Looks only at memory, which follows the store: every replica knows within moments. */
  isRevoked(jti: string): boolean;
  /**
   * When it resolves, the revocation survives a crash and holds in this process. `endsAt` is when the token ends
   * (epoch milliseconds); without it the revocation outlives every token that can be out. Revoking twice is no error.
   */
  revoke(jti: string, by: User, endsAt: number | undefined): Promise<void>;
}

/** A token is accepted for a minute after its end, and by a replica whose clock is behind for a little longer. */
const MARGIN_MS = 5 * 60_000;

export function createRevocations(parts: RevocationParts): Revocations {
  const { catalog, reader, writer, longestLifetime, now } = parts;
  const kind = catalog.revokedTokens;
  const objectKeyOf = (jti: string) => ({ cluster: '', namespace: '', name: jti });

  /** For a record that exists: it must last as long as this one would. */
  async function extend(jti: string, until: number): Promise<void> {
    const change = (current: ApiObject): ApiObject => {
      const spec = current.spec as RevokedTokenSpec;
      if (Date.parse(spec.expirationTimestamp) >= until) return current;
      return { ...current, spec: { ...spec, expirationTimestamp: toTimestamp(until) } };
    };
    await writer.update(kind, objectKeyOf(jti), change, { dryRun: false, part: 'object' });
  }

  async function longestEnd(): Promise<number> {
    try {
      return now() + (await longestLifetime.read()) * 1000;
    } catch (error) {
      throw asApiError(error);
    }
  }

  return {
    isRevoked: (jti) => reader.find(kind, objectKeyOf(jti)) !== undefined,

    async revoke(jti, by, endsAt) {
      const until = (endsAt ?? (await longestEnd())) + MARGIN_MS;
      const spec: RevokedTokenSpec = {
        revokedBy: { username: by.name, ...(by.uid === '' ? {} : { uid: by.uid }) },
        expirationTimestamp: toTimestamp(until),
      };
      const record = { apiVersion: '', kind: '', metadata: { name: jti }, spec };
      try {
        await writer.create(kind, objectKeyOf(jti), record, { dryRun: false });
      } catch (error) {
        if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
        await extend(jti, until);
      }
    },
  };
}
