import { readAddress, readNetwork } from '../lib/network.ts';
import type { ServerEndpoint } from './kinds/cluster.ts';

/**
 * The address by which a client reaches a cluster: the first endpoint whose network holds one of the client's
 * addresses. If none does, the first that is meant for everyone, then the first of all: a person can mend an
 * address that does not answer, but not one that is missing.
 */
export function chooseEndpoint(
  endpoints: readonly ServerEndpoint[],
  clientAddresses: readonly string[],
): ServerEndpoint | undefined {
  const clients = clientAddresses.map(readAddress).filter((client) => client !== undefined);
  const networks = endpoints.map(({ clientCIDR = '' }) => readNetwork(clientCIDR));
  const nearest = networks.findIndex((network) => clients.some((client) => network?.holds(client)));
  if (nearest !== -1) return endpoints[nearest];
  const open = endpoints.findIndex(({ clientCIDR = '' }, index) => clientCIDR === '' || networks[index]?.prefix === 0);
  return endpoints[Math.max(open, 0)];
}
