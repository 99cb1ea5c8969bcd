import { expect, test } from 'vitest';
import { clusterColumns } from '../kinds/cluster-columns.ts';
import { addressFor, chooseEndpoint } from './choose-endpoint.ts';

/** Endpoints are written as their networks; the address of each is its index. */
const choose = (networks: readonly (string | undefined)[], client: string): string | undefined =>
  chooseEndpoint(
    networks.map((clientCIDR, index) => ({
      serverAddress: `https://${index}`,
      ...(clientCIDR === undefined ? {} : { clientCIDR }),
    })),
    [client],
  )?.serverAddress;

test.each<[client: string, networks: (string | undefined)[], chosen: number]>([
  ['10.1.2.3', ['192.168.0.0/16', '10.0.0.0/8'], 1],
  // The first that contains it, not the narrowest.
  ['10.1.2.3', ['0.0.0.0/0', '10.1.2.3/32'], 0],
  ['192.168.1.5', ['192.168.1.6/31', '192.168.1.4/31'], 1],
  ['192.168.1.5', ['192.168.1.4/32', '192.168.1.5/32'], 1],
  // A network may be written with one of its hosts.
  ['10.200.0.1', ['11.0.0.0/8', '10.1.2.3/8'], 1],
  ['2001:db8:1::5', ['2001:db9::/32', '2001:db8::/32'], 1],
  ['2001:db8:8000::5', ['2001:db8::/33', '2001:db8:8000::/33'], 1],
  ['fe80::1%eth0', ['10.0.0.0/8', 'fe80::/10'], 1],
])('a client at %s, of %j', (client, networks, chosen) => {
  expect(choose(networks, client)).toBe(`https://${chosen}`);
});

test.each<[client: string, networks: (string | undefined)[], chosen: number]>([
  ['::ffff:10.1.2.3', ['11.0.0.0/8', '10.0.0.0/8'], 1],
  ['::FFFF:10.1.2.3', ['::/0', '10.0.0.0/8'], 1],
  ['10.1.2.3', ['::ffff:11.0.0.0/104', '::ffff:10.0.0.0/104'], 1],
  ['::ffff:10.1.2.3', ['::ffff:11.0.0.0/104', '::ffff:10.0.0.0/104'], 1],
  // ::/0 is for IPv6 clients only.
  ['10.1.2.3', ['::/0', '0.0.0.0/0'], 1],
  ['2001:db8::1', ['0.0.0.0/0', '::/0'], 1],
])('IPv4 is IPv4 however it is written: %s, of %j', (client, networks, chosen) => {
  expect(choose(networks, client)).toBe(`https://${chosen}`);
});

test.each<[client: string, networks: (string | undefined)[], chosen: number]>([
  ['10.1.2.3', ['192.168.0.0/16', undefined, '11.0.0.0/8'], 1],
  ['10.1.2.3', ['192.168.0.0/16', ''], 1],
  // A matching network is preferred to one for every client, in any order.
  ['10.1.2.3', [undefined, '10.0.0.0/8'], 1],
  // Of the other family, but for every client.
  ['2001:db8::1', ['10.0.0.0/8', '0.0.0.0/0'], 1],
  ['10.1.2.3', ['2001:db8::/32', '::/0'], 1],
  ['10.1.2.3', ['192.168.0.0/16', '11.0.0.0/8'], 0],
])('when no network holds %s: of %j', (client, networks, chosen) => {
  expect(choose(networks, client)).toBe(`https://${chosen}`);
});

test('a client of unknown address gets the endpoint for every client', () => {
  for (const client of ['', 'nonsense', '10.1.2', '10.1.2.3.4', '/var/run/socket']) {
    expect(choose(['10.0.0.0/8', '::/0'], client), client).toBe('https://1');
    expect(choose(['10.0.0.0/8', '11.0.0.0/8'], client), client).toBe('https://0');
  }
});

test('a malformed network contains no client', () => {
  for (const cidr of [
    '010.0.0.0/8',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8x',
    '::/129',
    'x/0',
  ]) {
    expect(choose([cidr, '10.0.0.0/8'], '10.1.2.3'), cidr).toBe('https://1');
  }
});

test.each([
  ['10.1.2.3', 'https://internal'],
  ['192.0.2.1', 'https://external'],
  [undefined, 'https://external'],
])('a client at %s sees the same address in tables as in kubeconfigs: %s', (client, address) => {
  const serverEndpoints = [
    { clientCIDR: '10.0.0.0/8', serverAddress: 'https://internal' },
    { clientCIDR: '0.0.0.0/0', serverAddress: 'https://external' },
  ];
  expect(addressFor(serverEndpoints, client)).toBe(address);
  const cluster = {
    apiVersion: '',
    kind: '',
    metadata: { name: 'a' },
    spec: { orchestratorApiEndpoints: { serverEndpoints } },
  };
  const column = clusterColumns('orchestrator', client).find(({ name }) => name === 'Endpoint');
  expect(column?.cell(cluster)).toBe(address);
});
