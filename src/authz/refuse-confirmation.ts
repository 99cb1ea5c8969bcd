import { type Authorizer, clusterQuestion } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../api/confirmed-endpoint.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import type { ApiError } from '../api/status.ts';
import { forbiddenFor } from './forbidden.ts';

/**
 * Confirming the endpoints to which a credential is sent takes a separate permission. A caller who may change the
 * address of a cluster could otherwise confirm its own server and receive the credential.
 */
export function refuseConfirmation(
  authorizer: Authorizer,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): ApiError | undefined {
  if (kind.group !== CLUSTER_GROUP || kind.resource !== 'clusters') return undefined;
  const confirmed = object.metadata.annotations?.[CONFIRMED_ANNOTATION];
  // Removing a confirmation only stops credentials from being sent: permission to update the cluster is enough.
  if (confirmed === undefined || confirmed === old?.metadata.annotations?.[CONFIRMED_ANNOTATION]) return undefined;
  const { name = '' } = object.metadata;
  const question = clusterQuestion(CONFIRM_VERB, name);
  const decision = authorizer.decide(caller, question);
  return decision.allowed ? undefined : forbiddenFor(caller.as(name), question, decision);
}
