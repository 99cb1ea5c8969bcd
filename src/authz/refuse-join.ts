import type { Authorizer } from '../api/authorization.ts';
import type { Identity } from '../api/caller.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { ApiError } from '../api/status.ts';
import { forbiddenFor } from './forbidden.ts';
import { type LabelPolicy, refuseLabels } from './refuse-labels.ts';

/**
 * A bootstrap token registers a cluster with the permissions that its creator has at that time: to create clusters, and
 * to give a cluster these labels (ADR 23). `creator` is the user that the token recorded.
 */
export function refuseJoin(
  policy: LabelPolicy & Pick<Authorizer, 'decide'>,
  creator: Identity,
  clusters: Kind,
  cluster: ApiObject,
): ApiError | undefined {
  const { group, resource } = clusters;
  const question = { verb: 'create', group, resource, subresource: '', namespace: '', name: '', cluster: undefined };
  const decision = policy.decide(creator, question);
  if (!decision.allowed) return forbiddenFor(creator.as(undefined), question, decision);
  return refuseLabels(policy, creator, clusters, cluster, undefined);
}
