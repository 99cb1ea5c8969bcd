import type { Catalog } from '../api/catalog.ts';
import { fleetKey, type Kind, kindPrefix, type ObjectKey } from '../api/kind.ts';
import { type ApiError, forbidden, notFound } from '../api/status.ts';
import type { MaybePromise } from '../lib/promises.ts';
import type { Guard } from '../storage/contract.ts';
import type { Unreadable } from '../storage/watch-cache.ts';
import type { ObjectReader } from './reader.ts';
import type { StoredObject } from './stored-object.ts';

/**
 * The cluster or the namespace of an object. Deleting it deletes its children, the objects inside it. Owner references
 * are something else: they name any object, and delete nothing here.
 */
type Parent = StoredObject | { readonly missing: Kind; readonly objectKey: ObjectKey };

/** A deletion of one of these deletes its children too, so it is first marked, and then accepts no new ones. */
export const isParent = (kind: Kind): boolean => kind.resource === 'clusters' || kind.resource === 'namespaces';

/** The parents of an object: its cluster, then its namespace. None for the fleet's own objects. */
export function findParents(catalog: Catalog, reader: ObjectReader, kind: Kind, objectKey: ObjectKey): Parent[] {
  if (!kind.inCluster) return [];
  const find = (parent: Kind, key: ObjectKey): Parent =>
    reader.find(parent, key) ?? { missing: parent, objectKey: key };
  const cluster = find(catalog.clusters, fleetKey(objectKey.cluster));
  if (!kind.namespaced) return [cluster];
  return [cluster, find(catalog.namespaces, { cluster: objectKey.cluster, namespace: '', name: objectKey.namespace })];
}

type ParentKey = ObjectKey & { readonly kind: Kind };

/** The part of storage keys that names a cluster or a namespace. */
const keyPartOf = ({ kind, cluster, name }: ParentKey): string => (kind.inCluster ? `${cluster}/${name}/` : `${name}/`);

/** The kinds of what is inside a cluster or a namespace; none for other objects. */
function kindsInside(catalog: Catalog, parent: Kind): Kind[] {
  const ofCluster = parent === catalog.clusters;
  if (!ofCluster && parent !== catalog.namespaces) return [];
  return catalog.kinds.filter((inner) => inner.inCluster && (ofCluster || inner.namespaced));
}

/** Of the objects of a kind inside a cluster or a namespace. */
const prefixInside = (inner: Kind, parent: ParentKey): string => `${kindPrefix(inner)}${keyPartOf(parent)}`;

/** The condition that nothing is inside a cluster or a namespace. */
export const mustBeEmpty = (catalog: Catalog, parent: ParentKey): Guard[] =>
  kindsInside(catalog, parent.kind).map((inner) => ({ key: prefixInside(inner, parent), expect: { empty: true } }));

/** Everything inside a cluster or a namespace, as it is cached now. */
export const objectsInside = (catalog: Catalog, reader: ObjectReader, parent: ParentKey): StoredObject[] =>
  kindsInside(catalog, parent.kind).flatMap((inner) => [
    ...reader.cache(inner).current.scan(prefixInside(inner, parent)),
  ]);

/** What is inside, and cannot be decoded. */
export const unreadableInside = (catalog: Catalog, reader: ObjectReader, parent: ParentKey): Unreadable[] =>
  kindsInside(catalog, parent.kind).flatMap((inner) =>
    reader.cache(inner).unreadableUnder(prefixInside(inner, parent)),
  );

/**
 * The cluster and the namespace must exist and must not be terminating. The error names the missing one (T-12i): "no
 * such account" would be misleading. Returns a promise only when it has to wait for the caches.
 */
export function requireParents(
  catalog: Catalog,
  reader: ObjectReader,
  kind: Kind,
  objectKey: ObjectKey,
): MaybePromise<StoredObject[]> {
  const parents = findParents(catalog, reader, kind, objectKey);
  const require = (parent: Parent): StoredObject => {
    if ('missing' in parent) throw reader.absence(parent.missing, parent.objectKey);
    if (parent.deletionTimestamp !== undefined) throw terminating(kind, objectKey, parent);
    return parent;
  };
  if (!parents.some((parent) => 'missing' in parent)) return parents.map(require);
  return reader.catchUp().then(() => findParents(catalog, reader, kind, objectKey).map(require));
}

/**
 * L-14: the cluster of a collection must be stored. It may be terminating or unreadable: objects inside can be read and
 * deleted. Returns a promise only when it has to wait for the caches.
 */
export function requireStoredCluster(
  { clusters }: Catalog,
  reader: ObjectReader,
  cluster: string,
): MaybePromise<undefined> {
  const key = fleetKey(cluster);
  const isStored = (): boolean =>
    reader.find(clusters, key) !== undefined || reader.findUnreadable(clusters, key) !== undefined;
  if (isStored()) return undefined;
  return reader.catchUp().then(() => {
    if (!isStored()) throw notFound(clusters, cluster);
    return undefined;
  });
}

/** T-12j */
export function terminating(kind: Kind, objectKey: ObjectKey, parent: StoredObject): ApiError {
  const isNamespace = parent.kind.resource === 'namespaces';
  const where = `${isNamespace ? 'namespace' : 'cluster'} ${parent.name}`;
  return forbidden(kind, objectKey.name, `unable to create new content in ${where} because it is being terminated`, [
    {
      reason: isNamespace ? 'NamespaceTerminating' : 'ClusterTerminating',
      message: `${where} is being terminated`,
      field: isNamespace ? 'metadata.namespace' : 'metadata.cluster',
    },
  ]);
}
