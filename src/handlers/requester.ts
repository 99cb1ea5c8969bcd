import { type Authorizer, questionAbout } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import type { Kind } from '../api/kind.ts';
import { REQUESTER_LABEL } from '../api/kinds/issued-token.ts';
import { ALL_VISIBLE, type VisibilityRule } from '../api/visibility.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { requesterId } from '../tokens/revocations/tracked-tokens.ts';

/** The requester of an object is recorded under the name and uid that the caller has at the fleet. */
export const requesterOf = (caller: Caller): string => requesterId(caller.as(undefined));

export const isOwn = (entry: StoredObject, caller: Caller): boolean =>
  entry.labels?.[REQUESTER_LABEL] === requesterOf(caller);

/** All objects of the kind, if a rule allows the caller to list or watch them; otherwise those that it requested. */
export function allOrRequested(
  kind: Pick<Kind, 'group' | 'resource'>,
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  verb: 'get' | 'list' | 'watch',
): VisibilityRule {
  return authorizer.decide(caller, questionAbout(kind, verb)).allowed ? ALL_VISIBLE : requestedBy(caller);
}

/** The issued tokens, access requests or passes that the caller requested. */
function requestedBy(caller: Caller): VisibilityRule {
  const value = requesterOf(caller);
  return {
    fingerprint: `${REQUESTER_LABEL}=${value}`,
    all: false,
    none: false,
    admits: (_, labels) => labels?.[REQUESTER_LABEL] === value,
    candidates: { names: [], labels: [{ key: REQUESTER_LABEL, value }] },
  };
}
