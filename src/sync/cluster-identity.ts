import type { Transport } from '../client/transport.ts';

/** The UID of the namespace kube-system: it is unique, and the namespace exists as long as the cluster. */
export async function clusterIdentity(cluster: Pick<Transport, 'request'>, signal?: AbortSignal): Promise<string> {
  const path = '/api/v1/namespaces/kube-system';
  const { metadata } = (await cluster.request<{ metadata?: { uid?: unknown } }>('GET', path, { signal })).value;
  const uid = metadata?.uid;
  if (typeof uid !== 'string' || !/^[\w.-]{1,128}$/.test(uid)) throw new Error('it has no UID');
  return uid;
}
