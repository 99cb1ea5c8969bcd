import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import type { ObjectReader } from './reader.ts';
import type { StoredObject } from './stored-object.ts';

/** Whether what a token hangs on still exists, from memory: asked at every use of a token. */
export function createLiveLookup(catalog: Catalog, reader: ObjectReader) {
  const kinds = {
    clusters: catalog.clusters,
    namespaces: catalog.namespaces,
    serviceaccounts: catalog.serviceAccounts,
    pods: catalog.pods,
    secrets: catalog.secrets,
  } satisfies Record<string, Kind>;
  return (resource: keyof typeof kinds, cluster: string, namespace: string, name: string): StoredObject | undefined => {
    const kind = kinds[resource];
    return reader.find(kind, { cluster: kind.inCluster ? cluster : '', namespace, name });
  };
}
