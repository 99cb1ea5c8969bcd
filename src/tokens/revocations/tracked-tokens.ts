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

/** A place among the tokens of one caller, until it is given back. */
export interface Reservation {
  /** When it resolves, the record survives a crash. Only then may the token be released. */
  record(cluster: string, claims: TokenClaims): Promise<void>;
  release(): void;
}

export interface TrackedTokens {
  /** Throws a 403 when the caller has as many tokens out as one may have. `about` is the account asked for. */
  reserve(user: User, about: string): Reservation;
}

/**
 * Who asked, in a form that fits a label: the name and the uid, without the groups, so that one's own tokens stay
 * one's own when a group is joined. 128 bits of the hash: nobody finds a name that collides with another's.
 */
export const requesterId = ({ name, uid }: User): string =>
  createHash('sha256')
    .update(JSON.stringify([name, uid]))
    .digest('hex')
    .slice(0, 32);

export function createTrackedTokens(parts: TrackedTokenParts): TrackedTokens {
  const { catalog, reader, writer, maxPerCaller, now } = parts;
  const kind = catalog.issuedTokens;
  /** Places taken by requests that are under way: many at once must not slip past the limit together. */
  const underWay = new Map<string, number>();

  /** When the tokens end that are out. */
  function endsOf(requester: string): number[] {
    const ends: number[] = [];
    for (const entry of reader.cache(kind).current.withLabel(REQUESTER_LABEL, requester)) {
      if (!entry.isExpired(now())) ends.push(entry.expiresAt ?? 0);
    }
    return ends;
  }

  return {
    reserve(user, about) {
      const requester = requesterId(user);
      const ends = endsOf(requester);
      const busy = underWay.get(requester) ?? 0;
      if (ends.length + busy >= maxPerCaller) throw full(about, user, maxPerCaller, ends);
      underWay.set(requester, busy + 1);
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
          const left = (underWay.get(requester) ?? 0) - 1;
          if (left > 0) underWay.set(requester, left);
          else underWay.delete(requester);
        },
      };
    },
  };
}

/** As kube-apiserver refuses what is beyond a quota: trying again at once does not help. */
function full(about: string, user: User, max: number, ends: readonly number[]) {
  const first =
    ends.length === 0
      ? ''
      : `, or wait until ${toTimestamp(ends.reduce((a, b) => Math.min(a, b)))} when the first of them ends`;
  return forbidden(
    { group: '', resource: 'serviceaccounts' },
    about,
    `User ${JSON.stringify(user.name)} has ${max} tracked tokens, the most that one caller may have: revoke some${first}, ` +
      'or ask for one that is not tracked',
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
