import { readAddress, readNetwork } from '../../lib/network.ts';
import type { ServerEndpoint } from '../kinds/cluster-spec.ts';

/**
 * The address that a caller sees: in tables, kubeconfigs, profiles and tools. Undefined: the address of the client is
 * not known.
 */
export const addressFor = (
  endpoints: readonly ServerEndpoint[] | undefined,
  clientAddress: string | undefined,
): string | undefined =>
  chooseEndpoint(endpoints ?? [], clientAddress === undefined ? [] : [clientAddress])?.serverAddress;

/**
 * The endpoint for a client: the first whose network contains one of the client's addresses. If there is none, the
 * first for every client, then the first of all: a user can correct an address that does not respond, but not a missing
 * one.
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
