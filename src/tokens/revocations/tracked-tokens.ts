import { createHash } from 'node:crypto';
import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { type IssuedTokenSpec, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import { forbidden } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { TokenClaims } from '../claims.ts';

export interface TrackedTokenParts {
  readonly catalog: Pick<Catalog, 'issuedTokens'>;
  readonly reader: Pick<ObjectReader, 'cache'>;
  readonly writer: Pick<ObjectWriter, 'create'>;
  readonly maxPerCaller: number;
  readonly now: () => number;
}

/** Counts as one of the caller's tokens until it is released. */
export interface Reservation {
  /** When it resolves, the record survives a crash. Only then may the token be sent. */
  record(cluster: string, claims: TokenClaims): Promise<void>;
  release(): void;
}

export interface TrackedTokens {
  /**
   * Throws a 403 when the caller has the maximum of tracked tokens. `about` is the account of the request. With
   * `isRequired` the caller cannot ask for a token that is not tracked.
   */
  reserve(user: User, about: string, options?: { readonly isRequired: boolean }): Reservation;
}

/**
 * The requester as the value of a label: a hash of name and uid. Without the groups, so that a user who joins a group
 * keeps its tokens. 128 bits, so that no name can be found that collides with another.
 */
export const requesterId = ({ name, uid }: User): string =>
  createHash('sha256')
    .update(JSON.stringify([name, uid]))
    .digest('hex')
    .slice(0, 32);

export function createTrackedTokens(parts: TrackedTokenParts): TrackedTokens {
  const { catalog, reader, writer, maxPerCaller, now } = parts;
  const kind = catalog.issuedTokens;
  /** Reservations of requests in flight: concurrent requests must not exceed the limit together. */
  const reserved = new Map<string, number>();

  /** When the tokens of a requester expire. */
  function expiriesOf(requester: string): number[] {
    const expiries: number[] = [];
    for (const entry of reader.cache(kind).current.withLabel(REQUESTER_LABEL, requester)) {
      if (!entry.isExpired(now())) expiries.push(entry.expiresAt ?? 0);
    }
    return expiries;
  }

  return {
    reserve(user, about, { isRequired } = { isRequired: false }) {
      const requester = requesterId(user);
      const expiries = expiriesOf(requester);
      const inFlight = reserved.get(requester) ?? 0;
      if (expiries.length + inFlight >= maxPerCaller) {
        throw quotaExceeded(about, user, { max: maxPerCaller, expiries, isRequired });
      }
      reserved.set(requester, inFlight + 1);
      return {
        async record(cluster, claims) {
          const spec = specOf(cluster, claims, user);
          const metadata = { name: claims.jti, labels: { [REQUESTER_LABEL]: requester } };
          await writer.create(
            kind,
            { cluster: '', namespace: '' },
            { apiVersion: '', kind: '', metadata, spec },
            {
              dryRun: false,
            },
          );
        },
        release() {
          const left = (reserved.get(requester) ?? 0) - 1;
          if (left > 0) reserved.set(requester, left);
          else reserved.delete(requester);
        },
      };
    },
  };
}

/** 403, as kube-apiserver refuses a request beyond a quota: an immediate retry does not help. */
function quotaExceeded(
  about: string,
  user: User,
  { max, expiries, isRequired }: { max: number; expiries: readonly number[]; isRequired: boolean },
) {
  const first =
    expiries.length === 0
      ? ''
      : `, or wait until ${toTimestamp(expiries.reduce((a, b) => Math.min(a, b)))} when the first of them expires`;
  return forbidden(
    { group: '', resource: 'serviceaccounts' },
    about,
    `User ${JSON.stringify(user.name)} has ${max} tracked tokens, the most that one caller may have: revoke some${first}` +
      (isRequired ? '' : ', or ask for one that is not tracked'),
  );
}

function specOf(cluster: string, claims: TokenClaims, user: User): IssuedTokenSpec {
  const { namespace, serviceaccount, pod, secret } = claims['kubernetes.io'];
  const bound = pod === undefined ? secret && { kind: 'Secret', ...secret } : { kind: 'Pod', ...pod };
  return {
    cluster,
    serviceAccount: { namespace, name: serviceaccount.name, uid: serviceaccount.uid },
    audiences: [...claims.aud],
    ...(bound === undefined ? {} : { boundObjectRef: bound }),
    requestedBy: { username: user.name, ...(user.uid === '' ? {} : { uid: user.uid }) },
    issuedTimestamp: toTimestamp(claims.iat * 1000),
    expirationTimestamp: toTimestamp(claims.exp * 1000),
  };
}
