import { ALL_CLUSTERS, type Authorizer, type ClusterRule, type ClusterVisibility } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { accessRequestKind, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../../api/kinds/access-request.ts';
import { requestedBy } from '../issued-tokens/own-tokens.ts';

/**
 * All access requests, if a rule allows the caller to see them; otherwise the requests of the caller, and those that it
 * may approve.
 */
export function visibleRequests(
  visibility: Pick<ClusterVisibility, 'approvalRule'> & Pick<Authorizer, 'decide'>,
  caller: Caller,
  verb: 'get' | 'list' | 'watch',
): ClusterRule {
  const { group, resource } = accessRequestKind;
  const question = { verb, group, resource, subresource: '', namespace: '', name: '', cluster: undefined };
  if (visibility.decide(caller, question).allowed) return ALL_CLUSTERS;
  const own = requestedBy(caller);
  const approvable = visibility.approvalRule(caller);
  if (approvable.all) return ALL_CLUSTERS;
  if (approvable.none) return own;
  return {
    fingerprint: `${own.fingerprint} or to approve: ${approvable.fingerprint}`,
    all: false,
    none: false,
    candidates: undefined,
    admits: (name, labels) =>
      own.admits(name, labels) ||
      approvable.admits(labels?.[REQUEST_CLUSTER_LABEL] ?? '', labels?.[REQUEST_NAMESPACE_LABEL] ?? ''),
    changesWith: approvable.changesWith,
  };
}
