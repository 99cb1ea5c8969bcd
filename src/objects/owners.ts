import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix, type ObjectKey } from '../api/object-key.ts';
import { type ApiError, forbidden, notFound } from '../api/status.ts';
import type { ObjectReader } from './reader.ts';
import type { StoredObject } from './stored-object.ts';

/** The cluster or the namespace of an object. Deleting it deletes its dependents, the objects inside it. */
type Owner = StoredObject | { readonly missing: Kind; readonly name: string };

/** The owners of an object: its cluster, then its namespace. None for the fleet's own objects. */
export function findOwners(catalog: Catalog, reader: ObjectReader, kind: Kind, objectKey: ObjectKey): Owner[] {
  if (!kind.inCluster) return [];
  const find = (owner: Kind, key: ObjectKey): Owner => reader.find(owner, key) ?? { missing: owner, name: key.name };
  const cluster = find(catalog.clusters, { cluster: '', namespace: '', name: objectKey.cluster });
  if (!kind.namespaced) return [cluster];
  return [cluster, find(catalog.namespaces, { cluster: objectKey.cluster, namespace: '', name: objectKey.namespace })];
}

/** The prefixes of everything inside a cluster or a namespace. */
export function prefixesInside(catalog: Catalog, { kind, cluster, name }: ObjectKey & { kind: Kind }): string[] {
  const ofCluster = kind === catalog.clusters;
  if (!ofCluster && kind !== catalog.namespaces) return [];
  const within = ofCluster ? `${name}/` : `${cluster}/${name}/`;
  return catalog.kinds
    .filter((inner) => inner.inCluster && (ofCluster || inner.namespaced))
    .map((inner) => `${kindPrefix(inner)}${within}`);
}

/**
 * The cluster and the namespace must exist and must not be terminating. The error names the missing one (T-12i): "no
 * such account" would be misleading. Returns a promise only when it has to wait for the caches.
 */
export function requireOwners(
  catalog: Catalog,
  reader: ObjectReader,
  kind: Kind,
  objectKey: ObjectKey,
): StoredObject[] | Promise<StoredObject[]> {
  const owners = findOwners(catalog, reader, kind, objectKey);
  const require = (owner: Owner): StoredObject => {
    if ('missing' in owner) throw notFound(owner.missing, owner.name);
    if (owner.deletionTimestamp !== undefined) throw terminating(kind, objectKey, owner);
    return owner;
  };
  if (!owners.some((owner) => 'missing' in owner)) return owners.map(require);
  return reader.catchUp().then(() => findOwners(catalog, reader, kind, objectKey).map(require));
}

/** T-12j */
function terminating(kind: Kind, objectKey: ObjectKey, owner: StoredObject): ApiError {
  const isNamespace = owner.kind.resource === 'namespaces';
  const where = `${isNamespace ? 'namespace' : 'cluster'} ${owner.name}`;
  return forbidden(kind, objectKey.name, `unable to create new content in ${where} because it is being terminated`, [
    {
      reason: isNamespace ? 'NamespaceTerminating' : 'ClusterTerminating',
      message: `${where} is being terminated`,
      field: isNamespace ? 'metadata.namespace' : 'metadata.cluster',
    },
  ]);
}
