import { connect } from 'node:net';
import { addressFor } from '../../api/clusters/choose-endpoint.ts';
import type { ClusterAddress } from '../../api/kubeconfig.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import { type Cluster, endpointsInForce } from '../../client/types.ts';

/** The endpoint for a client with this address, or why there is none. */
export function endpointFor(cluster: Cluster, localAddress: string | undefined): ClusterAddress | string {
  // The name becomes an argument of a program and part of a file name.
  if (isDns1123Subdomain(cluster.metadata.name).length > 0) return 'not a valid cluster name';
  const { serverEndpoints = [], caBundle } = endpointsInForce(cluster);
  const server = addressFor(serverEndpoints, localAddress);
  return server?.startsWith('https://') === true ? { server, caBundle } : 'it has no https address';
}

const TIMEOUT_MS = 5_000;

/**
 * The local address of a connection to a server; undefined when the server cannot be reached. It tells which network
 * the machine is in. The other addresses of the machine may be those of bridges and virtual machines.
 */
export function localAddressTo(server: string): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(server);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) });
    const end = (address: string | undefined): void => {
      socket.destroy();
      resolve(address);
    };
    socket.setTimeout(TIMEOUT_MS, () => end(undefined));
    socket.once('error', () => end(undefined));
    socket.once('connect', () => end(socket.localAddress));
  });
}
