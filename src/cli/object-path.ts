import type { Catalog } from '../api/catalog.ts';
import { IN_CLUSTER_ANNOTATION } from '../api/domain-keys.ts';
import { apiVersionOf, type Kind } from '../api/kind.ts';
import { clusterPrefix } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { CliError } from './command.ts';
import { pathSegment } from './path-segment.ts';

/** The cluster and the namespace of an object. */
export interface ObjectScope {
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
  /** The object is from a manifest, which can name its cluster in an annotation. */
  readonly isFromFile?: boolean;
}

/** The path to list objects of a kind and to create them. With `allNamespaces`, to list only. */
export function collectionPath(client: Client, kind: Kind, scope: ObjectScope = {}, allNamespaces = false): string {
  const { cluster, namespace } = scope;
  requireCluster(kind, scope);
  const prefix = kind.inCluster ? clusterPrefix(client, cluster) : '';
  const group = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
  const inNamespace =
    kind.namespaced && !allNamespaces ? `/namespaces/${encodeURIComponent(namespace || 'default')}` : '';
  return `${prefix}${group}${inNamespace}/${kind.resource}`;
}

export function requireCluster(kind: Kind, { cluster, isFromFile }: ObjectScope): void {
  if (!kind.inCluster || cluster) return;
  const other = isFromFile === true ? ` or the annotation ${IN_CLUSTER_ANNOTATION}` : '';
  throw new CliError(`a ${kind.kind} belongs to a cluster: set --cluster${other}`);
}

export function objectPath(client: Client, kind: Kind, scope: ObjectScope, name: string): string {
  const segment = pathSegment(name);
  return `${collectionPath(client, kind, scope)}/${segment}`;
}

/** Finds a kind by a name that kubectl accepts: `clusters`, `Cluster`, `sa`, `clusters.clusterregistry.k8s.io`. */
export function findKind(catalog: Catalog, text: string): Kind | undefined {
  const wanted = text.toLowerCase();
  return [...catalog.kinds, ...catalog.projections].find(({ kind, resource, singular, shortNames, group }) =>
    [resource, singular, kind.toLowerCase(), ...shortNames].some(
      (name) => wanted === name || (group !== '' && wanted === `${name}.${group}`),
    ),
  );
}
