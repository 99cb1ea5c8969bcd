import { type Authorizer, clusterQuestion } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { IMPORTED_ANNOTATION } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import type { ApiError } from '../api/status.ts';
import { forbiddenFor } from './forbidden.ts';

/**
 * `clusterpass sync import --prune` deletes clusters that have its mark and are not in the hub. A caller who gives an
 * existing cluster such a mark therefore needs the permission to delete the cluster.
 */
export function refuseImport(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { group, resource }: Pick<Kind, 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
): ApiError | undefined {
  if (group !== CLUSTER_GROUP || resource !== 'clusters' || old === undefined) return undefined;
  const mark = metadata.annotations?.[IMPORTED_ANNOTATION];
  // Without the mark the import does not touch the cluster.
  if (mark === undefined || mark === old.metadata.annotations?.[IMPORTED_ANNOTATION]) return undefined;
  const { name = '' } = metadata;
  const question = clusterQuestion('delete', name);
  const decision = authorizer.decide(caller, question);
  return decision.allowed ? undefined : forbiddenFor(caller.as(name), question, decision);
}
