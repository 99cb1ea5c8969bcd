import type { Authorizer } from '../../api/authorization.ts';
import type { Identity } from '../../api/caller.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { requirePermission } from '../forbidden.ts';
import { checkLabels, type LabelPolicy } from './check-labels.ts';

/**
 * A bootstrap token registers a cluster with the permissions that its creator has at that time: to create clusters, and
 * to give a cluster these labels (ADR 23). `creator` is the user that the token recorded.
 *
 * @throws ApiError 403
 */
export function checkJoin(
  policy: LabelPolicy & Pick<Authorizer, 'decide'>,
  creator: Identity,
  clusters: Kind,
  cluster: ApiObject,
): void {
  const { group, resource } = clusters;
  const question = { verb: 'create', group, resource, subresource: '', namespace: '', name: '', cluster: undefined };
  requirePermission(policy, creator, question);
  checkLabels(policy, creator, clusters, cluster, undefined);
}
