import type { Authorizer } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../api/confirmed-endpoint.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster.ts';
import type { ApiError } from '../api/status.ts';
import { forbiddenFor } from './forbidden.ts';

/**
 * Confirming where a credential is sent takes a permission of its own. Whoever may change the address of a
 * cluster could otherwise confirm their own server, and be handed the credential.
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
  // Taking a confirmation back only stops something, so whoever may update the cluster may do it.
  if (confirmed === undefined || confirmed === old?.metadata.annotations?.[CONFIRMED_ANNOTATION]) return undefined;
  const { name = '' } = object.metadata;
  const { group, resource } = kind;
  const question = { verb: CONFIRM_VERB, group, resource, subresource: '', namespace: '', name, cluster: name };
  const decision = authorizer.decide(caller, question);
  return decision.allowed ? undefined : forbiddenFor(caller.as(name), question, decision);
}
