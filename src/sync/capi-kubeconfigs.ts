import type { ApiObject } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';
import type { Unusable } from './import-sources.ts';
import { clusterOfKubeconfig, type KubeconfigCluster } from './kubeconfig-cluster.ts';

/** A CA can be rotated without a change of the Cluster object. */
const REFRESH_MS = 10 * 60_000;
const SECRET_TYPE = 'cluster.x-k8s.io/secret';
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

interface Remembered {
  readonly resourceVersion: string | undefined;
  readonly readAt: number;
  readonly cluster: KubeconfigCluster;
}

/**
 * CP-91: address and CA of CAPI clusters, from their Secrets `<name>-kubeconfig`. Each Secret is read by its name: list
 * and watch would need the permission to read all Secrets. Only address and CA are remembered.
 */
export class CapiKubeconfigs {
  readonly #transport: Transport;
  readonly #now: () => number;
  readonly #remembered = new Map<string, Remembered>();

  constructor(transport: Transport, now: () => number) {
    this.#transport = transport;
    this.#now = now;
  }

  readonly read = async (object: ApiObject): Promise<KubeconfigCluster | Unusable> => {
    const { uid = '', resourceVersion, namespace = '', name = '' } = object.metadata;
    const known = this.#remembered.get(uid);
    if (known?.resourceVersion === resourceVersion && known !== undefined && this.#now() - known.readAt < REFRESH_MS) {
      return known.cluster;
    }
    const secretName = `${name}-kubeconfig`;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(secretName)}`;
    let secret: ApiObject;
    try {
      secret = (await this.#transport.request<ApiObject>('GET', path)).value;
    } catch (error) {
      if (isStatus(error, 404)) return { problem: `the Secret ${secretName} does not exist (see --without-ca)` };
      return { problem: `the Secret ${secretName} cannot be read: ${(error as Error).message}` };
    }
    const cluster = clusterIn(secret, name);
    if (cluster === undefined) return { problem: `the Secret ${secretName} has no kubeconfig of the cluster` };
    this.#remembered.set(uid, { resourceVersion, readAt: this.#now(), cluster });
    return cluster;
  };

  /** Forgets clusters that are gone. */
  retain(objects: Iterable<ApiObject>): void {
    const uids = new Set([...objects].map(({ metadata }) => metadata.uid ?? ''));
    for (const uid of this.#remembered.keys()) if (!uids.has(uid)) this.#remembered.delete(uid);
  }
}

function clusterIn({ type, metadata, data }: ApiObject, name: string): KubeconfigCluster | undefined {
  if (type !== SECRET_TYPE || metadata.labels?.[CLUSTER_LABEL] !== name) return undefined;
  const { value } = (data ?? {}) as { value?: unknown };
  return typeof value === 'string' ? clusterOfKubeconfig(Buffer.from(value, 'base64').toString('utf8')) : undefined;
}
