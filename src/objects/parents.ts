import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import type { ObjectKey } from '../api/object-key.ts';
import { forbidden, notFound } from '../api/status.ts';
import type { ObjectReader } from './reader.ts';
import type { StoredObject } from './stored-object.ts';

type Parent = StoredObject | { readonly missing: Kind; readonly name: string };

/** What an object lives in, outermost first. None for the fleet's own objects. */
export function findParents(catalog: Catalog, reader: ObjectReader, kind: Kind, objectKey: ObjectKey): Parent[] {
  if (!kind.inCluster) return [];
  const find = (parent: Kind, at: ObjectKey): Parent => reader.find(parent, at) ?? { missing: parent, name: at.name };
  const cluster = find(catalog.clusters, { cluster: '', namespace: '', name: objectKey.cluster });
  if (!kind.namespaced) return [cluster];
  return [cluster, find(catalog.namespaces, { cluster: objectKey.cluster, namespace: '', name: objectKey.namespace })];
}

/**
 * The cluster and the namespace must exist and not be on their way out. A missing one is named itself
 * (T-12i): "no such account" would send people looking in the wrong place.
 */
export async function requireParents(
  catalog: Catalog,
  reader: ObjectReader,
  kind: Kind,
  objectKey: ObjectKey,
): Promise<StoredObject[]> {
  let parents = findParents(catalog, reader, kind, objectKey);
  if (parents.some((parent) => 'missing' in parent)) {
    await reader.catchUp();
    parents = findParents(catalog, reader, kind, objectKey);
  }
  return parents.map((parent) => {
    if ('missing' in parent) throw notFound(parent.missing, parent.name);
    if (parent.deletionTimestamp !== undefined) throw terminating(kind, objectKey, parent);
    return parent;
  });
}

/** T-12j */
function terminating(kind: Kind, objectKey: ObjectKey, parent: StoredObject) {
  const inNamespace = parent.kind.resource === 'namespaces';
  const where = `${inNamespace ? 'namespace' : 'cluster'} ${parent.name}`;
  return forbidden(kind, objectKey.name, `unable to create new content in ${where} because it is being terminated`, [
    {
      reason: inNamespace ? 'NamespaceTerminating' : 'ClusterTerminating',
      message: `${where} is being terminated`,
      field: inNamespace ? 'metadata.namespace' : 'metadata.cluster',
    },
  ]);
}
