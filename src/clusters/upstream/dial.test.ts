import type { LookupFunction } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createDial } from './dial.ts';

/** What a socket gets, which asks for one address or, to try several, for all of them. */
function lookUp(found: readonly string[], all: boolean): Promise<unknown[]> {
  const dial = createDial(
    { refusal: (address) => (address === '127.0.0.1' ? 'it is loopback' : undefined) },
    async () => found,
    (address, port) => address === '203.0.113.9' && port === 443,
  );
  return new Promise((resolve) => {
    const callback: Parameters<LookupFunction>[2] = (error, ...addresses) => resolve([error?.message, ...addresses]);
    dial.lookupFor(443)('api.example', { all }, callback);
  });
}

describe('the lookup of a socket', () => {
  it('returns all addresses, or the first one with its family', async () => {
    const found = ['2001:db8::7', '203.0.113.7'];
    expect(await lookUp(found, true)).toEqual([
      undefined,
      [
        { address: '2001:db8::7', family: 6 },
        { address: '203.0.113.7', family: 4 },
      ],
    ]);
    expect(await lookUp(found, false)).toEqual([undefined, '2001:db8::7', 6]);
  });

  it.each([
    ['a refused address', ['203.0.113.7', '127.0.0.1'], 'does not connect to 127.0.0.1, because it is loopback'],
    ['its own listener', ['203.0.113.7', '203.0.113.9'], 'because it is Clusterpass itself'],
    ['no address', [], 'its name has no address'],
  ])('fails for a name with %s, whether it asks for one or for all', async (_, found, message) => {
    for (const all of [true, false]) expect(await lookUp(found, all)).toEqual([expect.stringContaining(message), []]);
  });
});
