import { createHash } from 'node:crypto';
import { type Caller, CREDENTIAL_ID, jtiIn, type User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { fleetKey, type Kind } from '../../api/kind.ts';
import { BINDING_LABEL, COUNTED_LABEL, type IssuedTokenSpec, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import { TOKEN_ANNOTATIONS } from '../../api/kinds/token-request.ts';
import type { StatusCause } from '../../api/status.ts';
import { quantity } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { Work } from '../../lib/work-queue.ts';
import { type Limit, PendingCreations, quotaOf } from '../../objects/quota.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { PersonClaims, TokenClaims } from '../claims.ts';

interface TrackedTokenParts {
  readonly catalog: Pick<Catalog, 'issuedTokens' | 'revokedTokens'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  readonly writer: Pick<ObjectWriter, 'create'>;
  readonly maxPerCaller: number;
  readonly now: () => number;
}

/** What the record of a token says of it. One that a connector has issued is recorded under the id of its order. */
export type RecordedClaims = Pick<TokenClaims | PersonClaims, 'jti' | 'aud' | 'iat' | 'exp'> &
  (Pick<TokenClaims, 'kubernetes.io'> | Pick<PersonClaims, 'sub'>) & {
    /** The Secret in the cluster, of a token that a connector has issued. */
    readonly secret?: string;
  };

/** When it resolves, the record survives a crash. Only then may the token be sent. */
type RecordToken = (
  cluster: string,
  claims: RecordedClaims,
  binding?: IssuedTokenSpec['fleetRoleBinding'],
) => Promise<void>;

export interface TrackedTokens {
  /**
   * Throws a 429 when the caller has the maximum of tracked passes, and so does the returned function if other tokens
   * were recorded meanwhile. `isRequired`: the caller cannot ask for a token that is not tracked. `work`: the turns of
   * the request.
   */
  requireRoom(caller: Requester, isRequired: boolean, work?: Work): RecordToken;
}

type Requester = Pick<Caller, 'as' | 'home'>;

/**
 * The requester as the value of a label: a hash of name and uid. Without the groups, so that a user who joins a group
 * keeps its tokens. 128 bits, so that no name can be found that collides with another.
 */
export const requesterId = ({ name, uid }: User): string => digestOf([name, uid]);

export const digestOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

type TokenReader = Pick<ObjectReader, 'find'>;

/** The record of the token that a caller uses, if it is a tracked one. */
export function ownRecord(reader: TokenReader, kind: Kind, user: User): StoredObject | undefined {
  const jti = jtiIn(user.extra[CREDENTIAL_ID]?.[0] ?? '');
  return reader.find(kind, fleetKey(jti));
}

/**
 * For whom a record counts, as the value of a label and, with the verb, in the words of a refusal: `User "jane" has`. A
 * person who can create tokens for many accounts must not have the quota of each. `kind`: that of issued tokens.
 */
export function countedFor(reader: TokenReader, kind: Kind, caller: Requester) {
  const { home } = caller;
  const user = caller.as(undefined);
  const own = `User ${JSON.stringify(user.name)}`;
  if (home === undefined) return { id: requesterId(user), who: `${own} has` };
  const id = ownRecord(reader, kind, user)?.labels?.[COUNTED_LABEL];
  if (id !== undefined) return { id, who: `The caller who requested the token of ${own} has` };
  return { id: digestOf([home]), who: `The service accounts of cluster ${JSON.stringify(home)} together have` };
}

export function createTrackedTokens(parts: TrackedTokenParts): TrackedTokens {
  const { catalog, reader, writer, maxPerCaller: max, now } = parts;
  const kind = catalog.issuedTokens;
  const pending = new PendingCreations();
  const limitOf = (isRequired: boolean): Limit => ({
    quota: 'trackedTokens',
    max,
    counts: (entry) => !entry.isExpired(now()),
    what: `${quantity(max, 'tracked pass', 'tracked passes')}, revoked ones included`,
    advice: isRequired ? 'use fewer' : 'ask for one that is not tracked',
    endOf: ({ expiresAt = Number.NaN }) => expiresAt,
    ...(isRequired ? {} : { causes: [NOT_TRACKED] }),
  });
  const limits = { required: limitOf(true), asked: limitOf(false) };
  /** A revocation counts in place of its record: otherwise a caller could have any number stored. */
  const counted = (id: string): Iterable<StoredObject> => {
    const both: StoredObject[] = [];
    for (const each of [kind, catalog.revokedTokens]) reader.cache(each).current.collectLabel(both, COUNTED_LABEL, id);
    return new Map(both.map((entry) => [entry.name, entry])).values();
  };

  return {
    requireRoom(caller, isRequired, work) {
      const user = caller.as(undefined);
      const { id: key, who } = countedFor(reader, kind, caller);
      const stored = () => counted(key);
      const quota = quotaOf({ pending, key, who, stored, limits: [isRequired ? limits.required : limits.asked], now });
      const refused = quota.refusal(Number.POSITIVE_INFINITY, 0);
      if (refused !== undefined) throw refused;
      return async (cluster, claims, binding) => {
        const spec = { ...specOf(cluster, claims, user), ...(binding && { fleetRoleBinding: binding }) };
        const labels = { [REQUESTER_LABEL]: requesterId(user), [COUNTED_LABEL]: key };
        const metadata = { name: claims.jti, labels: { ...labels, ...(binding && { [BINDING_LABEL]: binding.uid }) } };
        const record = { apiVersion: '', kind: '', metadata, spec };
        await writer.create(kind, { cluster: '', namespace: '' }, record, { dryRun: false, quota, work });
      };
    },
  };
}

/** For clients: without this annotation the token would be issued. */
const NOT_TRACKED: StatusCause = {
  reason: 'FieldValueForbidden',
  message: 'the caller has too many tracked passes',
  field: `metadata.annotations[${TOKEN_ANNOTATIONS.tracked}]`,
};

function specOf(cluster: string, claims: RecordedClaims, user: User): IssuedTokenSpec {
  return {
    cluster,
    ...holderOf(claims),
    audiences: [...claims.aud],
    ...boundTo(claims),
    requestedBy: { username: user.name, ...(user.uid === '' ? {} : { uid: user.uid }) },
    issuedTimestamp: toTimestamp(claims.iat * 1000),
    expirationTimestamp: toTimestamp(claims.exp * 1000),
  };
}

function holderOf(claims: RecordedClaims): Pick<IssuedTokenSpec, 'serviceAccount' | 'user'> {
  if (!('kubernetes.io' in claims)) return { user: { username: claims.sub } };
  const { namespace, serviceaccount } = claims['kubernetes.io'];
  return { serviceAccount: { namespace, name: serviceaccount.name, uid: serviceaccount.uid } };
}

function boundTo(claims: RecordedClaims): Pick<IssuedTokenSpec, 'boundObjectRef'> {
  if (claims.secret !== undefined) return { boundObjectRef: { kind: 'Secret', name: claims.secret } };
  if (!('kubernetes.io' in claims)) return {};
  const { pod, secret } = claims['kubernetes.io'];
  const bound = pod === undefined ? secret && { kind: 'Secret', ...secret } : { kind: 'Pod', ...pod };
  return bound === undefined ? {} : { boundObjectRef: bound };
}
