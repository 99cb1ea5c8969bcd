import { ALL_CLUSTERS, type Authorizer, type ClusterRule } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { issuedTokenKind, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { requesterId } from '../../tokens/revocations/tracked-tokens.ts';

/** One's own is what one asked for, under the name and the uid that hold in the whole fleet. */
const requesterOf = (caller: Caller): string => requesterId(caller.as(undefined));

export const isOwn = (entry: StoredObject, caller: Caller): boolean =>
  entry.labels?.[REQUESTER_LABEL] === requesterOf(caller);

/** The same object for the same caller, as rules are compared by identity. */
const ownRules = new WeakMap<Caller, ClusterRule>();

function ownRule(caller: Caller): ClusterRule {
  const known = ownRules.get(caller);
  if (known !== undefined) return known;
  const value = requesterOf(caller);
  const rule: ClusterRule = {
    fingerprint: `${REQUESTER_LABEL}=${value}`,
    all: false,
    none: false,
    admits: (_, labels) => labels?.[REQUESTER_LABEL] === value,
    candidates: { names: [], labels: [{ key: REQUESTER_LABEL, value }] },
  };
  ownRules.set(caller, rule);
  return rule;
}

/** All issued tokens for those whom a rule lets list or watch them; for everyone else, their own. */
export function visibleTokens(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  verb: 'list' | 'watch',
): ClusterRule {
  const { group, resource } = issuedTokenKind;
  const question = { verb, group, resource, subresource: '', namespace: '', name: '', cluster: undefined };
  return authorizer.decide(caller, question).allowed ? ALL_CLUSTERS : ownRule(caller);
}
