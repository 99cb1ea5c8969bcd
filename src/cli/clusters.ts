import { COMPUTED_ANNOTATIONS } from '../api/clusters/annotations.ts';
import { CONFIRMED_FIELD } from '../api/clusters/confirmed-endpoint.ts';
import { endpointsField } from '../api/kinds/cluster-spec.ts';
import { isDns1123Subdomain } from '../api/names.ts';
import { fieldSelectorFor } from '../api/selectors.ts';
import type { Client } from '../client/create-client.ts';
import { FULL_CLUSTERS } from '../client/list-clusters.ts';
import type { Cluster } from '../client/types.ts';
import { terminalSafe } from '../lib/text.ts';
import { CliError, UsageError } from './command.ts';

/** `clusters`, `Cluster`, `clusters.clusterregistry.k8s.io` */
export const isClusterType = (text: string): boolean =>
  /^clusters?(\.(v1alpha1\.)?clusterregistry\.k8s\.io)?$/i.test(text);

/** The path of a cluster with all of its fields. */
export function clusterPath(name: string): string {
  const segment = pathSegment(name, 'a cluster name');
  checkClusterName(name);
  return `${FULL_CLUSTERS}/${segment}`;
}

export const getCluster = async (client: Client, name: string): Promise<Cluster> =>
  (await client.request<Cluster>('GET', clusterPath(name), { expects: 'object' })).value;

/** The public view of a cluster, which has what the server computes; undefined if the caller may not list it. */
export const publicCluster = async (client: Pick<Client, 'listClusters'>, name: string): Promise<Cluster | undefined> =>
  (await client.listClusters({ fieldSelector: fieldSelectorFor('metadata.name', name) })).items[0];

/** Whether the server has left out what the caller may not see, e.g. a change of the endpoints that waits. */
export const isPublicView = ({ metadata }: Cluster): boolean =>
  metadata.annotations?.[COMPUTED_ANNOTATIONS.maxExpiration] !== undefined;

/** Refuses names that no server of ours sends: a script could take a line feed for the end of a name. */
export function checkedNames(clusters: readonly Cluster[]): readonly Cluster[] {
  const bad = clusters.find(({ metadata }) => isDns1123Subdomain(metadata.name).length > 0);
  if (bad === undefined) return clusters;
  const name = JSON.stringify(terminalSafe(String(bad.metadata.name)));
  throw new CliError(`the server sent a cluster whose name is not valid: ${name}`);
}

/**
 * The cluster with its confirmed endpoints in place of a waiting change: a script that reads `get clusters` must not
 * connect to endpoints that are not confirmed.
 */
export function withConfirmedEndpoints(cluster: Cluster, productName: string): Cluster {
  const { [CONFIRMED_FIELD]: confirmed, ...spec } = cluster.spec ?? {};
  return confirmed === undefined
    ? cluster
    : { ...cluster, spec: { ...spec, [endpointsField(productName)]: confirmed } };
}

/** A name as a segment of a path. A URL parser would remove `.` and `..`, and the request would go to another path. */
export function pathSegment(name: string, what = 'a name'): string {
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not ${what}`);
  return encodeURIComponent(name);
}

/** Refuses `SERVER/NAME`, which only commands over several servers take, and says what to write instead. */
export function checkClusterName(text: string, flag = ''): void {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return;
  const [server, name] = [text.slice(0, slash), text.slice(slash + 1)];
  throw new UsageError(
    `${flag === '' ? '' : `${flag}: `}${JSON.stringify(text)} is not the name of a cluster: for the cluster ` +
      `${JSON.stringify(name)} of another server, use --server ${server}`,
  );
}
