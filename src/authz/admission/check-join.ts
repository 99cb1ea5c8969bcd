import { type Authorizer, questionAbout } from '../../api/authorization.ts';
import type { Identity } from '../../api/caller.ts';
import { MIRROR_VERB } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { serviceAccountKind } from '../../api/kinds/core.ts';
import { requirePermission } from '../forbidden.ts';
import { checkLabels, type LabelPolicy } from './check-labels.ts';

/**
 * A bootstrap token registers a cluster with the permissions that its creator has at that time: to create clusters, and
 * to give a cluster these labels (ADR 23). For a connector of a registered cluster, `old`: to update that, and to copy
 * accounts into it, as the connector does. `creator` is the user that the token recorded.
 *
 * @throws ApiError 403
 */
export function checkJoin(
  policy: LabelPolicy & Pick<Authorizer, 'decide'>,
  creator: Identity,
  clusters: Kind,
  cluster: ApiObject,
  old?: ApiObject,
): void {
  const { name = '' } = old?.metadata ?? {};
  const verb = old === undefined ? 'create' : 'update';
  requirePermission(policy, creator, questionAbout(clusters, verb, { name }));
  checkLabels(policy, creator, clusters, cluster, old);
  if (old === undefined) return;
  requirePermission(policy, creator, questionAbout(serviceAccountKind, MIRROR_VERB, { cluster: name }));
}
