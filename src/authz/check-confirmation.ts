import { type Authorizer, clusterQuestion } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../api/confirmed-endpoint.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import { requirePermission } from './forbidden.ts';

/**
 * Confirming the endpoints to which a credential is sent takes a separate permission. A caller who may change the
 * address of a cluster could otherwise confirm its own server and receive the credential.
 *
 * @throws ApiError 403
 */
export function checkConfirmation(
  authorizer: Authorizer,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (kind.group !== CLUSTER_GROUP || kind.resource !== 'clusters') return;
  const confirmed = object.metadata.annotations?.[CONFIRMED_ANNOTATION];
  // Removing a confirmation only stops credentials from being sent: permission to update the cluster is enough.
  if (confirmed === undefined || confirmed === old?.metadata.annotations?.[CONFIRMED_ANNOTATION]) return;
  requirePermission(authorizer, caller, clusterQuestion(CONFIRM_VERB, object.metadata.name ?? ''));
}
