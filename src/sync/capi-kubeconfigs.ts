import type { ApiObject } from '../api/kind.ts';
import { type ClusterAddress, currentAddress } from '../api/kubeconfig.ts';
import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';
import { Cache } from '../lib/cache.ts';
import { failed, type Unusable } from './sources/import-source.ts';

/** A CA can be rotated without a change of the Cluster object. */
const REFRESH_MS = 10 * 60_000;
/** More clusters than a hub has. */
const MAX_CLUSTERS = 20_000;
const SECRET_TYPE = 'cluster.x-k8s.io/secret';
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

interface ReadCluster {
  /** Of the Cluster object. */
  readonly resourceVersion: string | undefined;
  readonly cluster: ClusterAddress;
}

/**
 * CP-91: reads address and CA of CAPI clusters, from their Secrets `<name>-kubeconfig`. Each Secret is read by its
 * name: list and watch would need the permission to read all Secrets. Only address and CA are kept.
 */
export function capiKubeconfigs(transport: Pick<Transport, 'request'>, now: () => number) {
  // By the UID of the Cluster object. Owned by one import. An entry dies after REFRESH_MS, or when it is the least
  // recently used of MAX_CLUSTERS; one of another version of the Cluster object is not used.
  const read = new Cache<string, ReadCluster>({ maxEntries: MAX_CLUSTERS, ttlMs: REFRESH_MS, now });
  return async (object: ApiObject): Promise<ClusterAddress | Unusable> => {
    const { uid = '', resourceVersion, namespace = '', name = '' } = object.metadata;
    const known = read.get(uid);
    if (known !== undefined && known.resourceVersion === resourceVersion) return known.cluster;
    const secretName = `${name}-kubeconfig`;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(secretName)}`;
    let secret: ApiObject;
    try {
      secret = (await transport.request<ApiObject>('GET', path, { expects: 'object' })).value;
    } catch (error) {
      if (isStatus(error, 404)) return failed(`the Secret ${secretName} does not exist (see --without-ca)`);
      return failed(`the Secret ${secretName} cannot be read: ${(error as Error).message}`);
    }
    const cluster = clusterIn(secret, name);
    if (cluster === undefined) return failed(`the Secret ${secretName} has no kubeconfig of the cluster`);
    read.set(uid, { resourceVersion, cluster });
    return cluster;
  };
}

function clusterIn({ type, metadata, data }: ApiObject, name: string): ClusterAddress | undefined {
  if (type !== SECRET_TYPE || metadata.labels?.[CLUSTER_LABEL] !== name) return undefined;
  const { value } = (data ?? {}) as { value?: unknown };
  return typeof value === 'string' ? currentAddress(Buffer.from(value, 'base64').toString('utf8')) : undefined;
}
