import { type Authorizer, namespaceAskedAbout } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { MIRROR_VERB, MIRRORED_ANNOTATION } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { ApiError } from '../api/status.ts';
import { forbiddenFor } from './forbidden.ts';

/**
 * A copy of an object of a cluster has a UID that the client chooses, so tokens of a deleted account could be made valid
 * again. It takes a separate permission to create one, and to change what an object is a copy of.
 */
export function refuseMirror(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { inCluster, group, resource }: Pick<Kind, 'inCluster' | 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  cluster: string | undefined,
): ApiError | undefined {
  if (!inCluster) return undefined;
  const mark = metadata.annotations?.[MIRRORED_ANNOTATION];
  if (mark === old?.metadata.annotations?.[MIRRORED_ANNOTATION]) return undefined;
  const object = { group, resource, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  const question = {
    verb: MIRROR_VERB,
    ...object,
    namespace: namespaceAskedAbout(object),
    subresource: '',
    cluster,
  };
  const decision = authorizer.decide(caller, question);
  return decision.allowed ? undefined : forbiddenFor(caller.as(cluster), question, decision);
}
