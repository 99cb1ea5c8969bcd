import type { Catalog } from '../api/catalog.ts';
import { apiVersionOf, type Kind } from '../api/kind.ts';
import { pathPrefix } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { CliError } from './command.ts';

export interface ObjectScope {
  readonly cluster: string | undefined;
  readonly namespace: string | undefined;
  /** In a file, an object can name its cluster itself. */
  readonly isFromFile?: boolean;
}

/** The path of a collection: where objects of this kind are created. */
export const collectionPath = (client: Client, kind: Kind, scope: ObjectScope): string =>
  listPath(client, kind, scope, false);

/** `everywhere`: in all namespaces, where objects can be listed and not created. */
export function listPath(client: Client, kind: Kind, scope: ObjectScope, everywhere: boolean): string {
  const { cluster, namespace } = scope;
  if (kind.inCluster && !cluster) {
    const other = scope.isFromFile === true ? ', or the annotation clusterpass.dev/cluster' : '';
    throw new CliError(`a ${kind.kind} lives inside a cluster: give --cluster${other}`);
  }
  const prefix = kind.inCluster ? pathPrefix(client, cluster) : '';
  const group = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
  const namespacePath =
    kind.namespaced && !everywhere ? `/namespaces/${encodeURIComponent(namespace || 'default')}` : '';
  return `${prefix}${group}${namespacePath}/${kind.resource}`;
}

export function objectPath(client: Client, kind: Kind, scope: ObjectScope, name: string): string {
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not a name`);
  return `${collectionPath(client, kind, scope)}/${encodeURIComponent(name)}`;
}

/** By what people write: `clusters`, `cluster`, `sa`, `clusters.clusterregistry.k8s.io`, `Cluster`. */
export function findType(catalog: Catalog, text: string): Kind | undefined {
  const wanted = text.toLowerCase();
  return catalog.kinds.find(({ kind, resource, singular, shortNames, group }) =>
    [resource, singular, kind.toLowerCase(), ...shortNames].some(
      (name) => wanted === name || (group !== '' && wanted === `${name}.${group}`),
    ),
  );
}
