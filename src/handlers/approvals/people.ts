import { type Actor, type Caller, FOREIGN_ACCOUNT_PREFIX } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import type { RequestUser } from '../../api/kinds/approval.ts';
import type { IssuedTokenSpec } from '../../api/kinds/issued-token.ts';
import { type ApiError, forbidden } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { ownRecord } from '../../tokens/revocations/tracked-tokens.ts';
import { claimedName } from '../token/actor-claim.ts';

export interface PeopleParts {
  readonly catalog: Pick<Catalog, 'issuedTokens'>;
  readonly reader: Pick<ObjectReader, 'find'>;
}

/**
 * The caller as the rules of a cluster know it, with the other names of the people behind it: the impersonator, and
 * the requester of the pass that the caller uses, by its claim `act` or its record.
 */
export function userOf(parts: PeopleParts, caller: Caller, cluster: string): RequestUser {
  const { name: username, uid } = caller.as(cluster);
  const actors = [...namesBehind(parts, caller, cluster)].filter((name) => name !== username).sort();
  return { username, ...(uid === '' ? {} : { uid }), ...(actors.length === 0 ? {} : { actors }) };
}

function namesBehind({ catalog, reader }: PeopleParts, caller: Caller, cluster: string): Set<string> {
  const names = new Set<string>();
  for (let at: Caller | undefined = caller; at !== undefined; at = at.impersonator) {
    names.add(at.as(cluster).name);
    names.add(at.as(undefined).name);
    for (let actor: Actor | undefined = at.actor; actor !== undefined; actor = actor.act) names.add(actor.sub);
    const record = at.home === undefined ? undefined : ownRecord(reader, catalog.issuedTokens, at.as(undefined));
    const requester = (record?.object().spec as IssuedTokenSpec | undefined)?.requestedBy?.username;
    if (requester !== undefined) names.add(requester);
  }
  return names;
}

/**
 * Whether the person behind the caller is known. For an account it is the first requester of its token, from the claim
 * `act` or the record. Without both, the person is unknown and could be the requester.
 */
export function isPersonKnown({ catalog, reader }: PeopleParts, caller: Caller): boolean {
  const real = caller.impersonator ?? caller;
  if (real.home === undefined) return true;
  let first: string | undefined;
  for (let actor: Actor | undefined = real.actor; actor !== undefined; actor = actor.act) first = actor.sub;
  const record = ownRecord(reader, catalog.issuedTokens, real.as(undefined));
  first ??= (record?.object().spec as IssuedTokenSpec | undefined)?.requestedBy?.username;
  return first !== undefined && !first.startsWith(FOREIGN_ACCOUNT_PREFIX);
}

export const unknownPerson = (kind: Kind, name: string): ApiError =>
  forbidden(
    kind,
    name,
    'the pass does not say who requested it: use a pass for the API of its cluster only, or one with a record',
  );

/** By name: two identities of one name have the same permissions, whatever their uids. */
export function isSamePerson(a: RequestUser, b: RequestUser): boolean {
  const names = new Set([a.username, ...(a.actors ?? [])].map(claimedName));
  return [b.username, ...(b.actors ?? [])].some((name) => names.has(claimedName(name)));
}
