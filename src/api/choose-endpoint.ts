import { BlockList, isIP } from 'node:net';
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

type Family = 'ipv4' | 'ipv6';

interface Address {
  readonly text: string;
  readonly family: Family;
}

/** RFC 4291 section 2.5.5.2: how a socket that listens on IPv6 shows a client that came by IPv4. */
const MAPPED = /^::ffff:(?=\d+\.)/i;
const MAPPED_PREFIX = 96;

function readAddress(text: string): Address | undefined {
  // The zone of a link-local address means something only on this machine (RFC 4007 section 11).
  const bare = (text.split('%', 1)[0] ?? '').replace(MAPPED, '');
  const version = isIP(bare);
  return version === 0 ? undefined : { text: bare, family: version === 4 ? 'ipv4' : 'ipv6' };
}

interface Network {
  readonly prefix: number;
  holds(client: Address): boolean;
}

/** Undefined for what cannot be read, e.g. `010.0.0.0/8`: it holds nobody. */
function readNetwork(cidr: string): Network | undefined {
  const [address = '', length = ''] = cidr.split('/');
  const version = isIP(address);
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (version === 0 || !(prefix <= (version === 4 ? 32 : 128))) return undefined;
  const family: Family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return {
    prefix,
    // The list counts IPv4 among IPv6, mapped; but `::/0` stands for clients that speak IPv6.
    holds: (client) =>
      (client.family === family || (family === 'ipv6' && prefix >= MAPPED_PREFIX)) &&
      list.check(client.text, client.family),
  };
}
