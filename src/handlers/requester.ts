import { type Authorizer, questionAbout } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import type { Kind } from '../api/kind.ts';
import { REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../api/kinds/approval-kind.ts';
import { REQUESTER_LABEL } from '../api/kinds/issued-token.ts';
import { ALL_VISIBLE, type ClusterVisibility, type VisibilityRule } from '../api/visibility.ts';
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

/**
 * All access requests or passes, if a rule allows the caller to see them; otherwise those of the caller, and those that
 * it may approve. `isForApprovers` tells by the labels which objects others approve.
 */
export function visibleRequests(
  kind: Pick<Kind, 'group' | 'resource'>,
  visibility: Pick<ClusterVisibility, 'approvalRule'> & Pick<Authorizer, 'decide'>,
  caller: Caller,
  verb: 'get' | 'list' | 'watch',
  isForApprovers?: (labels: Readonly<Record<string, string>> | undefined) => boolean,
): VisibilityRule {
  const own = allOrRequested(kind, visibility, caller, verb);
  if (own.all) return own;
  const approvable = visibility.approvalRule(caller, kind);
  if (approvable.all && isForApprovers === undefined) return ALL_VISIBLE;
  if (approvable.none) return own;
  return {
    fingerprint: `${own.fingerprint} or to approve: ${approvable.fingerprint}`,
    all: false,
    none: false,
    candidates: undefined,
    admits: (name, labels) =>
      own.admits(name, labels) ||
      (isForApprovers?.(labels) !== false &&
        approvable.admits(labels?.[REQUEST_CLUSTER_LABEL] ?? '', labels?.[REQUEST_NAMESPACE_LABEL] ?? '')),
    changesWith: approvable.changesWith,
  };
}
