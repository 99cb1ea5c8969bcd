import { type Authorizer, clusterQuestion, namespaceAskedAbout, questionAbout } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../../api/clusters/annotations.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { IMPORTED_ANNOTATION, MIRROR_VERB, MIRRORED_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { conflict } from '../../api/status.ts';
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

/**
 * A copy of an object of a cluster has a UID that the client chooses, so tokens of a deleted account could be made
 * valid again. It takes a separate permission to create one, and to change what an object is a copy of. If the identity
 * of the cluster is known (`idOf`), copies of another cluster are refused: the program that makes them may be connected
 * to another one, and does not see the identity.
 *
 * @throws ApiError 403, or 409 for a copy from another cluster
 */
export function checkMirror(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { inCluster, group, resource }: Pick<Kind, 'inCluster' | 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  cluster: string | undefined,
  idOf: (cluster: string) => string | undefined,
): void {
  if (!inCluster) return;
  const mark = metadata.annotations?.[MIRRORED_ANNOTATION];
  if (mark === old?.metadata.annotations?.[MIRRORED_ANNOTATION]) return;
  const object = { group, resource, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  const about = { name: object.name, namespace: namespaceAskedAbout(object), cluster };
  requirePermission(authorizer, caller, questionAbout(object, MIRROR_VERB, about));
  const id = mark === undefined ? undefined : idOf(cluster ?? '');
  if (id === undefined || id === mark) return;
  throw conflict({ group, resource }, object.name, `it is a copy from another cluster than ${goQuote(cluster ?? '')}`);
}
