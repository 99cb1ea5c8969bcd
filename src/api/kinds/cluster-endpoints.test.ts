import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { createAddressRules } from '../clusters/address-rules.ts';
import { validateEndpoints } from './cluster-endpoints.ts';

const checks = { rules: createAddressRules(), now: Date.now };
const at = (serverAddress: string, caBundle?: string) => ({
  serverEndpoints: [{ serverAddress }],
  ...(caBundle === undefined ? {} : { caBundle }),
});
const fields = (...[endpoints, old, later = checks]: [ReturnType<typeof at>, ReturnType<typeof at>?, typeof checks?]) =>
  validateEndpoints(endpoints, old === undefined ? [] : [old], 'spec.x', later).map(({ field }) => field);

describe('an endpoint that is stored already', () => {
  const ADDRESS = 'spec.x.serverEndpoints[0].serverAddress';

  it('does not stop a change of something else', () => {
    expect(fields(at('https://127.0.0.1'))).toEqual([ADDRESS]);
    expect(fields(at('https://127.0.0.1'), at('https://127.0.0.1'))).toEqual([]);
    expect(fields(at('https://127.0.0.2'), at('https://127.0.0.1'))).toEqual([ADDRESS]);
  });

  it('must still be written as a parser understands it', () => {
    expect(fields(at('https://0x7f.1'), at('https://0x7f.1'))).toEqual([ADDRESS]);
  });
});

describe('an address', () => {
  it('of a special network is reported once, with the option that allows it', () => {
    const serverEndpoints = ['0.0.0.0/0', '::/0'].map((clientCIDR) => ({ clientCIDR, serverAddress: 'https://[::1]' }));
    const [error, ...more] = validateEndpoints({ serverEndpoints }, [], 'spec.x', checks);
    expect([error?.field, error?.detail, more]).toEqual([
      'spec.x.serverEndpoints[0].serverAddress',
      expect.stringContaining('start it with --cluster-networks ::1/128 and the networks of all other clusters'),
      [],
    ]);
  });

  it('A19: is not parsed if it is too long or not ASCII', () => {
    const parse = vi.spyOn(URL, 'parse');
    onTestFinished(() => parse.mockRestore());
    for (const host of ['漢'.repeat(9_000), '漢字', 'a'.repeat(2_048)]) {
      expect(fields(at(`https://${host}`))).toHaveLength(1);
    }
    expect(parse).not.toHaveBeenCalled();
  });

  const label = fc.stringMatching(/^[a-f0-9nx-]{1,6}$/);
  const texts = fc
    .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.option(fc.nat(99_999)), fc.constantFrom('', '/'))
    .map(([labels, port, end]) => `https://${labels.join('.')}${port === null ? '' : `:${port}`}${end}`);

  it('is accepted only if a parser reads it as it is written', () => {
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(fields(at(text)).length === 0);
        const url = URL.parse(text);
        const authority = text.slice('https://'.length).replace(/\/$/, '');
        expect([url?.host, `${url?.host}:443`]).toContain(authority);
        expect([url?.pathname, url?.search, url?.username]).toEqual(['/', '', '']);
      }),
      { numRuns: 300 },
    );
  });

  it('is a name or an address of another machine, and a port', () => {
    for (const host of ['H.Example.com:6443', 'h', 'h:443', '10.0.0.1', '[fd00::1]:6443', 'h:65535']) {
      expect([host, fields(at(`https://${host}`))]).toEqual([host, []]);
    }
    for (const host of ['1.0x7f', 'localhost', 'a.localhost', '', 'h:0', 'h:06443', 'h:65536', 'a'.repeat(254)]) {
      expect([host, fields(at(`https://${host}`))]).toEqual([host, ['spec.x.serverEndpoints[0].serverAddress']]);
    }
  });
});

describe('a bundle that was parsed before', () => {
  it('is validated against the time of each request', () => {
    const caBundle = Buffer.from(createAuthority('ca').cert).toString('base64');
    const times = fc.array(fc.boolean(), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(times, (expirations) => {
        for (const isExpired of expirations) {
          const now = () => Date.now() + (isExpired ? 7 * 86_400_000 : 0);
          expect(fields(at('https://h', caBundle), undefined, { ...checks, now })).toEqual(
            isExpired ? ['spec.x.caBundle'] : [],
          );
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('a private key in a bundle that is stored already', () => {
  it.each([0, 1, 2])('is found wherever its bytes fall, here %i after a group', (shift) => {
    const bundle = (text: string): string => Buffer.from(text).toString('base64');
    const stored = at('https://h', bundle(`${'x'.repeat(300 + shift)}-----BEGIN EC PRIVATE KEY-----\n`));
    expect(fields(stored, stored)).toEqual(['spec.x.caBundle']);
    const other = at('https://h', bundle(`${'x'.repeat(300 + shift)}-----BEGIN EC PRIVATE KEYS----\n`));
    expect(fields(other, other)).toEqual([]);
  });
});
