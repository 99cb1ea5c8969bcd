import { type Authorizer, clusterQuestion } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../../api/clusters/annotations.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../../api/clusters/confirmed-endpoint.ts';
import { IMPORTED_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { requirePermission } from '../forbidden.ts';

/** Statements about a cluster on which others rely, and the verb on the cluster that it takes to make one. */
const STATEMENTS: readonly { readonly annotation: string; readonly verb: string; readonly isFreeOnCreate?: true }[] = [
  // A caller who may change the address of a cluster could confirm its own server and receive the credential.
  { annotation: CONFIRMED_ANNOTATION, verb: CONFIRM_VERB },
  // Who says that a cluster refuses revoked tokens tells the owner of a stolen one that it is refused.
  { annotation: TOKEN_CHECKS_ANNOTATION, verb: CONFIRM_VERB },
  // `clusterpass sync import --prune` deletes clusters that have its mark and are not in the hub.
  { annotation: IMPORTED_ANNOTATION, verb: 'delete', isFreeOnCreate: true },
];

/** @throws ApiError 403 for a statement that the caller may not make */
export function checkAnnotations(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  kind: Pick<Kind, 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
): void {
  if (!isClusters(kind)) return;
  for (const { annotation, verb, isFreeOnCreate = false } of STATEMENTS) {
    const value = metadata.annotations?.[annotation];
    // Nothing follows from a statement that is removed: permission to update the cluster is enough.
    if (value === undefined || value === old?.metadata.annotations?.[annotation]) continue;
    if (old !== undefined || !isFreeOnCreate) {
      requirePermission(authorizer, caller, clusterQuestion(verb, metadata.name ?? ''));
    }
  }
}
