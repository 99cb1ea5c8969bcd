import { type Address, type Network, readAddress, readNetwork } from '../../lib/network.ts';

/**
 * The addresses that the server may connect to for a registered cluster. The caller who registers a cluster chooses its
 * address. Without these rules that caller could make the server connect to itself, to other services on its machine,
 * or to the cloud's metadata service, which gives credentials to any client on the machine.
 */
export interface AddressRules {
  /** Why the server must not connect to this IP address, e.g. `it is a loopback address`; undefined when it may. */
  refusal(address: string): string | undefined;
}

const LOOPBACK = 'a loopback address';
const METADATA = "an address of a cloud's metadata service";
const DOCUMENTATION = 'a documentation address';
const TRANSLATION = 'an address of a translation prefix';

/**
 * The special-purpose registries of IANA (RFC 6890), without the networks that clusters are in: private ones (RFC 1918,
 * RFC 4193) and shared address space (RFC 6598).
 */
const SPECIAL = [
  ['127.0.0.0/8', LOOPBACK],
  ['::1/128', LOOPBACK],
  ['0.0.0.0/8', 'no address of a machine'],
  ['::/128', 'no address of a machine'],
  ['100::/64', 'no address of a machine'],
  ['169.254.0.0/16', 'a link-local address'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a site-local address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['ff00::/8', 'a multicast address'],
  ['240.0.0.0/4', 'a reserved address'],
  // Before its network, which is reserved: Oracle's metadata service.
  ['192.0.0.192/32', METADATA],
  ['192.0.0.0/24', 'a reserved address'],
  ['2001:10::/28', 'a reserved address'],
  ['2001:20::/28', 'a reserved address'],
  ['5f00::/16', 'a reserved address'],
  ['192.0.2.0/24', DOCUMENTATION],
  ['198.51.100.0/24', DOCUMENTATION],
  ['203.0.113.0/24', DOCUMENTATION],
  ['2001:db8::/32', DOCUMENTATION],
  ['3fff::/20', DOCUMENTATION],
  ['198.18.0.0/15', 'a benchmarking address'],
  ['2001:2::/48', 'a benchmarking address'],
  // Routers translate or tunnel these to IPv4. Which address that is depends on the router (RFC 8215, RFC 4380).
  ['64:ff9b:1::/48', TRANSLATION],
  ['2001::/32', TRANSLATION],
  ['192.88.99.0/24', TRANSLATION],
  // Metadata services that are not link-local: Alibaba, Azure, and over IPv6 Amazon and Google.
  ['100.100.100.200/32', METADATA],
  ['168.63.129.16/32', METADATA],
  ['fd00:ec2::254/128', METADATA],
  ['fd20:ce::254/128', METADATA],
] as const;

const TABLE = SPECIAL.flatMap(([cidr, what]) => {
  const network = readNetwork(cidr);
  return network === undefined ? [] : [{ network, what }];
});

/**
 * `networks` are those of `--cluster-networks`. If there are any, addresses outside of them are refused. A special
 * network is allowed only by one that lies inside it: `0.0.0.0/0` must not allow a metadata service.
 */
export function createAddressRules(networks: readonly Network[] = []): AddressRules {
  const special = TABLE.map((entry) => ({ ...entry, named: networks.filter((one) => isInside(one, entry.network)) }));
  return {
    refusal: (text) => {
      const address = readAddress(text);
      if (address === undefined) return 'it is no IP address';
      const forms = formsOf(address);
      const found = special.find(({ network, named }) =>
        forms.some((form) => network.holds(form) && !named.some((one) => one.holds(form))),
      );
      if (found !== undefined) return refusalOf(found);
      // An address that is translated counts as the address that it is translated to.
      const reached = forms.at(-1) ?? address;
      if (networks.length === 0 || networks.some((network) => network.holds(reached))) return undefined;
      return 'it is in none of the --cluster-networks of the server';
    },
  };
}

/** Clusters of kind, k3d and minikube have loopback addresses. With the option, no other network is connected to. */
function refusalOf({ what, network }: (typeof TABLE)[number]): string {
  const refusal = `it is ${what}, which no --cluster-networks of the server names`;
  if (what !== LOOPBACK) return refusal;
  return `${refusal}; for clusters on its machine, start it with --cluster-networks ${network.cidr} and the networks of all other clusters`;
}

function isInside(inner: Network, outer: Network): boolean {
  const first = readAddress(inner.cidr.split('/', 1)[0] ?? '');
  return first !== undefined && inner.prefix >= outer.prefix && outer.holds(first);
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

const ISATAP = /:(?:0|200):5efe$/;

const formsOf = (address: Address): readonly Address[] => [address, ...embeddedAddress(address)];

/**
 * The IPv4 address that an IPv6 address is translated to by a router or the system: mapped and compatible (RFC 4291
 * section 2.5.5), NAT64 (RFC 6052), 6to4 (RFC 3056) and ISATAP (RFC 5214).
 */
function embeddedAddress({ text, family }: Address): Address[] {
  if (family === 'ipv4') return [];
  const groups = groupsOf(text);
  const head = groups.slice(0, 6).join(':');
  const isTail =
    ['0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '0:0:0:0:0:0', '64:ff9b:0:0:0:0'].includes(head) || ISATAP.test(head);
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
