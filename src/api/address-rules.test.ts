import { describe, expect, it } from 'vitest';
import { type Network, readNetwork } from '../lib/network.ts';
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
    '2001:db8::1',
    '::ffff:8.8.8.8',
  ])('%s is allowed: private networks have clusters', (address) => {
    expect(rules.refusal(address)).toBeUndefined();
  });

  it.each(['', 'localhost', '0x7f.1', '2130706433', '127.1'])('%j is no address', (text) => {
    expect(rules.refusal(text)).toBe('it is no IP address');
  });

  it('an allowed network is allowed in every spelling, and no other is', () => {
    const some = createAddressRules([readNetwork('127.0.0.0/8') as Network]);
    expect(some.refusal('127.0.0.1')).toBeUndefined();
    expect(some.refusal('::ffff:7f00:1')).toBeUndefined();
    expect(some.refusal('::1')).toContain('loopback');
    expect(some.refusal('169.254.169.254')).toContain('link-local');
  });
});
