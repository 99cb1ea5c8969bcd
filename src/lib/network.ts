import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

export { BlockList, isIP, isIPv6 };

/** Addresses and networks as they are written in options and objects. */

type Family = 'ipv4' | 'ipv6';

export interface Address {
  readonly text: string;
  readonly family: Family;
}

export interface Network {
  /** As written. */
  readonly cidr: string;
  readonly prefix: number;
  holds(address: Address): boolean;
}

/** RFC 4291 section 2.5.5.2: how a socket that listens on IPv6 shows a client that connected over IPv4. */
const MAPPED = /^::ffff:(?=\d+\.)/i;
const MAPPED_PREFIX = 96;

/** Those of this machine. */
export const interfaceAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));

export function readAddress(text: string): Address | undefined {
  // The zone of a link-local address means something only on this machine (RFC 4007 section 11).
  const bare = (text.split('%', 1)[0] ?? '').replace(MAPPED, '');
  const version = isIP(bare);
  return version === 0 ? undefined : { text: bare, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Undefined for text that is not a CIDR, e.g. `010.0.0.0/8`. */
export function readNetwork(cidr: string): Network | undefined {
  const [address = '', length = '', more] = cidr.split('/');
  const version = isIP(address);
  const prefix = more === undefined && /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (version === 0 || address.includes('%') || !(prefix <= (version === 4 ? 32 : 128))) return undefined;
  const family: Family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return {
    cidr,
    prefix,
    // BlockList treats IPv4 as mapped IPv6; but `::/0` means clients that connect over IPv6.
    holds: (client) =>
      (client.family === family || (family === 'ipv6' && prefix >= MAPPED_PREFIX)) &&
      list.check(client.text, client.family),
  };
}
