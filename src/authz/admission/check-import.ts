import { type Authorizer, clusterQuestion } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { IMPORTED_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { requirePermission } from '../forbidden.ts';

/**
 * `clusterpass sync import --prune` deletes clusters that have its mark and are not in the hub. A caller who gives an
 * existing cluster such a mark therefore needs the permission to delete the cluster.
 *
 * @throws ApiError 403
 */
export function checkImport(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  kind: Pick<Kind, 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
): void {
  if (!isClusters(kind) || old === undefined) return;
  const mark = metadata.annotations?.[IMPORTED_ANNOTATION];
  // Without the mark the import does not touch the cluster.
  if (mark === undefined || mark === old.metadata.annotations?.[IMPORTED_ANNOTATION]) return;
  requirePermission(authorizer, caller, clusterQuestion('delete', metadata.name ?? ''));
}
