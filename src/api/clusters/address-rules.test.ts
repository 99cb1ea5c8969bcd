import { describe, expect, it } from 'vitest';
import { type Network, readNetwork } from '../../lib/network.ts';
import { createAddressRules } from './address-rules.ts';

const rules = createAddressRules();

describe('A11: addresses that the server does not connect to', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:7f00:0001', 'loopback'],
    ['::127.0.0.1', 'loopback'],
    ['::ffff:0:127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::169.254.169.254', 'link-local'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:a9fe:a9fe::1', 'link-local'],
    ['0.0.0.0', 'no address of a machine'],
    ['::', 'no address of a machine'],
    ['169.254.169.254', 'link-local'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['fd00:0ec2:0::0254', 'metadata'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'reserved'],
    ['192.0.0.8', 'reserved'],
    ['192.0.0.192', 'metadata'],
    ['fec0::1', 'site-local'],
    ['feff:ffff::1', 'site-local'],
    ['64:ff9b:1::a00:1', 'translation'],
    ['64:ff9b:1:ffff::1', 'translation'],
    ['2001::1', 'translation'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'translation'],
    ['192.88.99.1', 'translation'],
    ['192.0.2.1', 'documentation'],
    ['::ffff:192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['198.18.0.1', 'benchmarking'],
    ['198.19.255.255', 'benchmarking'],
    ['2001:2::1', 'benchmarking'],
    ['2001:20::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['100::1', 'no address of a machine'],
    ['2001:470::5efe:127.0.0.1', 'loopback'],
    ['2001:470::200:5efe:7f00:1', 'loopback'],
  ])('%s: %s', (address, what) => {
    expect(rules.refusal(address)).toContain(what);
  });

  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '8.8.8.8',
    'fd00::1',
    '2001:470::1',
    '2002:808:808::1',
    '198.17.255.255',
    '198.20.0.1',
    '64:ff9b::808:808',
    '::ffff:8.8.8.8',
  ])('%s is allowed: private networks have clusters', (address) => {
    expect(rules.refusal(address)).toBeUndefined();
  });

  it.each(['', 'localhost', '0x7f.1', '2130706433', '127.1'])('%j is no address', (text) => {
    expect(rules.refusal(text)).toBe('it is no IP address');
  });

  const allowing = (...cidrs: string[]) => createAddressRules(cidrs.map((cidr) => readNetwork(cidr) as Network));

  it('connects to the networks of --cluster-networks in every spelling, and to no others', () => {
    const some = allowing('127.0.0.0/8', '10.0.0.0/8');
    for (const address of ['127.0.0.1', '::ffff:7f00:1', '10.1.2.3', '64:ff9b::a01:203']) {
      expect(some.refusal(address), address).toBeUndefined();
    }
    for (const address of ['192.168.1.1', '8.8.8.8', 'fd00::1', '2002:808:808::1', '::ffff:8.8.8.8']) {
      expect(some.refusal(address), address).toBe('it is in none of the --cluster-networks of the server');
    }
    expect(some.refusal('::1')).toContain('loopback');
    expect(some.refusal('169.254.169.254')).toContain('link-local');
  });

  it('a network that contains a special one does not allow it', () => {
    const all = allowing('0.0.0.0/0', '::/0', 'fd00::/8');
    expect(all.refusal('8.8.8.8')).toBeUndefined();
    expect(all.refusal('fd00::1')).toBeUndefined();
    for (const address of ['127.0.0.1', '169.254.169.254', '::1', 'fd00:ec2::254', '192.0.2.1', '2001:db8::1']) {
      expect(all.refusal(address), address).toContain('no --cluster-networks of the server names');
    }
    // Networks that begin with the same address.
    expect(all.refusal('0.0.0.1')).toContain('no address of a machine');
    expect(allowing('169.254.0.0/15').refusal('169.254.169.254')).toContain('link-local');
    expect(allowing('192.0.0.0/24').refusal('192.0.0.192')).toContain('metadata');
    expect(allowing('169.254.7.0/24').refusal('169.254.7.1')).toBeUndefined();
    expect(allowing('169.254.7.0/24').refusal('169.254.169.254')).toContain('link-local');
    expect(allowing('2001:db8::/32').refusal('2001:db8::1')).toBeUndefined();
  });

  it('an address that is translated counts as the address that it is translated to', () => {
    expect(allowing('::/0').refusal('64:ff9b::a00:1')).toContain('none of the --cluster-networks');
    expect(allowing('::/0', '10.0.0.0/8').refusal('64:ff9b::a00:1')).toBeUndefined();
  });
});
