import type { Authorizer } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { Kind } from '../../api/kind.ts';
import { REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../../api/kinds/approval-kind.ts';
import { ALL_VISIBLE, type ClusterVisibility, type VisibilityRule } from '../../api/visibility.ts';
import { allOrRequested } from '../requester.ts';

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
