import { type Address, type Network, readAddress, readNetwork } from '../lib/network.ts';

/**
 * The addresses that the server may connect to for a registered cluster. The caller who registers a cluster chooses its
 * address. Without these rules that caller could make the server connect to itself, to other services on its machine,
 * or to the cloud's metadata service, which gives credentials to any client on the machine.
 */
export interface AddressRules {
  /** Why the server must not connect to this IP address, e.g. `it is a loopback address`; undefined when it may. */
  refusal(address: string): string | undefined;
}

const METADATA = "an address of a cloud's metadata service";

/** Private networks are not refused: clusters are in them. */
const REFUSED = [
  ['127.0.0.0/8', 'a loopback address'],
  ['::1/128', 'a loopback address'],
  ['0.0.0.0/8', 'no address of a machine'],
  ['::/128', 'no address of a machine'],
  ['169.254.0.0/16', 'a link-local address'],
  ['fe80::/10', 'a link-local address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['ff00::/8', 'a multicast address'],
  ['240.0.0.0/4', 'a reserved address'],
  // Metadata services that are not link-local: Alibaba, Azure, Oracle, and over IPv6 Amazon and Google.
  ['100.100.100.200/32', METADATA],
  ['168.63.129.16/32', METADATA],
  ['192.0.0.192/32', METADATA],
  ['fd00:ec2::254/128', METADATA],
  ['fd20:ce::254/128', METADATA],
] as const;

const TABLE = REFUSED.map(([cidr, what]) => ({ network: readNetwork(cidr), what }));

export function createAddressRules(allowed: readonly Network[] = []): AddressRules {
  return {
    refusal: (text) => {
      const address = readAddress(text);
      if (address === undefined) return 'it is no IP address';
      const forms = formsOf(address);
      if (forms.some((form) => allowed.some((network) => network.holds(form)))) return undefined;
      const found = TABLE.find(({ network }) => forms.some((form) => network?.holds(form)));
      return found === undefined ? undefined : `it is ${found.what}`;
    },
  };
}

/** Addresses of this machine besides those of its interfaces. */
const THIS_MACHINE = ['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128'].map(readNetwork);

/** Whether this address is one of this machine; `own` are the addresses of its interfaces. */
export function isThisMachine(text: string, own: readonly string[]): boolean {
  const address = readAddress(text);
  return (
    address !== undefined &&
    formsOf(address).some((form) => own.includes(form.text) || THIS_MACHINE.some((network) => network?.holds(form)))
  );
}

const formsOf = (address: Address): readonly Address[] => [address, ...embeddedAddress(address)];

/**
 * The IPv4 address that an IPv6 address is translated to by a router or the system: mapped and compatible (RFC 4291
 * section 2.5.5), NAT64 (RFC 6052) and 6to4 (RFC 3056).
 */
function embeddedAddress({ text, family }: Address): Address[] {
  if (family === 'ipv4') return [];
  const groups = groupsOf(text);
  const head = groups.slice(0, 6).join(':');
  const isTail = ['0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '0:0:0:0:0:0', '64:ff9b:0:0:0:0'].includes(head);
  const pair = isTail ? groups.slice(6) : groups[0] === '2002' ? groups.slice(1, 3) : undefined;
  if (pair === undefined) return [];
  const octets = pair.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
  return [{ text: octets.join('.'), family: 'ipv4' }];
}

/** The eight groups of an IPv6 address, from the canonical form of the URL standard. */
function groupsOf(text: string): string[] {
  const canonical = new URL(`https://[${text}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  if (tail === undefined) return groups(head);
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
}
