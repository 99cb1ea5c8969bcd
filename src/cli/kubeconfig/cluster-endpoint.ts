import { addressFor } from '../../api/clusters/choose-endpoint.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import { type Cluster, endpointsInForce } from '../../client/types.ts';

/** Where kubectl reaches a cluster. */
export interface ClusterEndpoint {
  readonly server: string;
  /** PEM in base64. */
  readonly caBundle: string | undefined;
}

/** The endpoint for a client with this address, or why there is none. */
export function endpointFor(cluster: Cluster, localAddress: string | undefined): ClusterEndpoint | string {
  // The name becomes an argument of a program and part of a file name.
  if (isDns1123Subdomain(cluster.metadata.name).length > 0) return 'not a valid cluster name';
  const { serverEndpoints = [], caBundle } = endpointsInForce(cluster);
  const server = addressFor(serverEndpoints, localAddress);
  return server?.startsWith('https://') === true ? { server, caBundle } : 'it has no https address';
}
