import type { Catalog } from '../api/catalog.ts';
import { apiVersionOf, type Kind } from '../api/kind.ts';
import { clusterPrefix } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus, type StatusError } from '../client/errors.ts';
import { CliError } from './command.ts';
import { pathSegment } from './names.ts';

/** The cluster and the namespace of an object. */
export interface ObjectScope {
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The path to list objects of a kind and to create them. */
export function collectionPath(client: Client, kind: Kind, scope: ObjectScope = {}): string {
  const { cluster, namespace } = scope;
  requireCluster(kind, scope);
  const prefix = kind.inCluster ? clusterPrefix(client, cluster) : '';
  const group = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
  const inNamespace = kind.namespaced ? `/namespaces/${encodeURIComponent(namespace || 'default')}` : '';
  return `${prefix}${group}${inNamespace}/${kind.resource}`;
}

export function requireCluster(kind: Kind, { cluster }: ObjectScope): void {
  if (kind.inCluster && !cluster) throw new CliError(`a ${kind.kind} belongs to a cluster: set --cluster`);
}

export function objectPath(client: Client, kind: Kind, scope: ObjectScope, name: string): string {
  const segment = pathSegment(name);
  return `${collectionPath(client, kind, scope)}/${segment}`;
}

/** The 404 for an object; undefined also for callers who may not get it (403), and learn nothing about it. */
export async function absenceOf(client: Client, path: string): Promise<StatusError | undefined> {
  try {
    await client.request('GET', path);
  } catch (error) {
    if (isStatus(error, 404)) return error;
    if (!isStatus(error, 403)) throw error;
  }
  return undefined;
}

/** Finds a kind by a name that kubectl accepts: `clusters`, `Cluster`, `sa`, `clusters.clusterregistry.k8s.io`. */
export function findKind(catalog: Catalog, text: string): Kind | undefined {
  const wanted = text.toLowerCase();
  return [...catalog.kinds, ...catalog.projections].find(({ kind, resource, singular, shortNames = [], group }) =>
    [resource, singular, kind.toLowerCase(), ...shortNames].some(
      (name) => wanted === name || (group !== '' && wanted === `${name}.${group}`),
    ),
  );
}
