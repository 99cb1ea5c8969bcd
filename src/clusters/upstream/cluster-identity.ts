import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject } from '../../api/kind.ts';
import { Cache } from '../../lib/cache.ts';
import { memberOf, parsedJson } from '../../lib/json.ts';
import type { Upstream, UpstreamCluster } from './upstream-contract.ts';

/** How long an answer counts. A cluster that takes the address of another is noticed after it. */
const TTL_MS = 60_000;
const MAX_CLUSTERS = 10_000;
const PATH = '/api/v1/namespaces/kube-system';
/** The credential may not read it, or there is no such namespace. */
const UNKNOWN = '';

/**
 * Whether the cluster at an address is the registered one: behind one address and CA another cluster can appear. Its
 * identity is the UID of its namespace `kube-system`. Nothing is compared if none is registered, or if the credential
 * may not read that namespace.
 */
export function createClusterIdentity(upstream: Pick<Upstream, 'request'>, now?: () => number) {
  const seen = new Cache<string, string>({ maxEntries: MAX_CLUSTERS, ttlMs: TTL_MS, ...(now && { now }) });
  /** What is wrong, as a clause; undefined if nothing is known to be. Rejects with UpstreamError. */
  async function problem(object: ApiObject, cluster: UpstreamCluster, timeoutMs: number): Promise<string | undefined> {
    const registered = object.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
    if (registered === undefined) return undefined;
    const key = `${cluster.uid}/${cluster.generation}`;
    let found = seen.get(key);
    if (found === undefined) {
      const request = { method: 'GET', path: PATH, credential: true, timeoutMs } as const;
      const { status, body } = await upstream.request(cluster, request);
      const uid = status === 200 ? memberOf(parsedJson(body.toString()), 'metadata', 'uid') : undefined;
      found = typeof uid === 'string' ? uid : UNKNOWN;
      seen.set(key, found);
    }
    if (found === UNKNOWN || found === registered) return undefined;
    return (
      `another cluster than the registered one is at its address: the UID of its namespace kube-system is not the one ` +
      `in the annotation ${CLUSTER_ID_ANNOTATION}. Correct the address, or the annotation`
    );
  }

  return { problem };
}

export type ClusterIdentity = ReturnType<typeof createClusterIdentity>;
