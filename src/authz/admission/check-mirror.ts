import { type Authorizer, namespaceAskedAbout, questionAbout } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { MIRROR_VERB, MIRRORED_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { conflict } from '../../api/status.ts';
import { requirePermission } from '../forbidden.ts';

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
