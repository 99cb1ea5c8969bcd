import type { Kind } from './kind.ts';
import type { ApiRequest } from './request.ts';

/**
 * The storage keys of objects. Every part is a validated name or a resource of the catalog, none contains `/`, and
 * every prefix ends in `/`: a listing of cluster `a` cannot include objects of `ab`.
 */
export const REGISTRY_PREFIX = '/registry/';

type KeyedKind = Pick<Kind, 'resource' | 'inCluster' | 'namespaced'>;

export interface ObjectKey {
  /** `""` for the fleet's own objects. */
  readonly cluster: string;
  /** `""` for objects without namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** The key of one of the fleet's own objects, e.g. a Cluster: it is in no cluster and in no namespace. */
export const fleetKey = (name: string): ObjectKey => ({ cluster: '', namespace: '', name });

/** The key of the object that a path names. */
export function objectKeyOf({ target }: Pick<ApiRequest, 'target'>, { inCluster }: Pick<Kind, 'inCluster'>): ObjectKey {
  const { cluster = '', namespace, name } = target;
  return { cluster: inCluster ? cluster : '', namespace, name };
}

export function kindPrefix(kind: Pick<Kind, 'resource'>): string {
  return `${REGISTRY_PREFIX}${kind.resource}/`;
}

/** The prefix of a collection; `namespace` `""` means all namespaces. */
export function collectionPrefix(kind: KeyedKind, cluster: string, namespace: string): string {
  let prefix = kindPrefix(kind);
  if (kind.inCluster) prefix += `${cluster}/`;
  if (kind.namespaced && namespace !== '') prefix += `${namespace}/`;
  return prefix;
}

export function storageKey(kind: KeyedKind, key: ObjectKey): string {
  return `${collectionPrefix(kind, key.cluster, key.namespace)}${key.name}`;
}
