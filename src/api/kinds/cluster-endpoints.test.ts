import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { createAddressRules } from '../address-rules.ts';
import { isPlainAddress, validateEndpoints } from './cluster-endpoints.ts';

const checks = { rules: createAddressRules(), now: Date.now };
const at = (serverAddress: string, caBundle?: string) => ({
  serverEndpoints: [{ serverAddress }],
  ...(caBundle === undefined ? {} : { caBundle }),
});
const fields = (...[endpoints, old, later = checks]: [ReturnType<typeof at>, ReturnType<typeof at>?, typeof checks?]) =>
  validateEndpoints(endpoints, old, 'spec.x', later).map(({ field }) => field);

describe('what is stored already', () => {
  const ADDRESS = 'spec.x.serverEndpoints[0].serverAddress';

  it('is not held against a change of something else', () => {
    expect(fields(at('https://127.0.0.1'))).toEqual([ADDRESS]);
    expect(fields(at('https://127.0.0.1'), at('https://127.0.0.1'))).toEqual([]);
    expect(fields(at('https://127.0.0.2'), at('https://127.0.0.1'))).toEqual([ADDRESS]);
  });

  it('may have expired since', () => {
    const caBundle = Buffer.from(createAuthority('ca').cert).toString('base64');
    const later = { ...checks, now: () => Date.now() + 7 * 86_400_000 };
    const h = at('https://h', caBundle);
    expect(fields(h)).toEqual([]);
    expect(fields(h, undefined, later)).toEqual(['spec.x.caBundle']);
    expect(fields(h, h, later)).toEqual([]);
  });

  it('must still be an address that means what it shows', () => {
    expect(fields(at('https://0x7f.1'), at('https://0x7f.1'))).toEqual([ADDRESS]);
  });
});

describe('an address in its usual form', () => {
  const label = fc.stringMatching(/^[a-f0-9nx-]{1,6}$/);
  const texts = fc
    .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.option(fc.nat(99_999)), fc.constantFrom('', '/'))
    .map(([labels, port, end]) => `https://${labels.join('.')}${port === null ? '' : `:${port}`}${end}`);

  it('is one that a parser reads as it is written', () => {
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(isPlainAddress(text));
        const url = URL.parse(text);
        const authority = text.slice('https://'.length).replace(/\/$/, '');
        expect([url?.host, `${url?.host}:443`]).toContain(authority);
        expect([url?.pathname, url?.search, url?.username]).toEqual(['/', '', '']);
      }),
      { numRuns: 300 },
    );
  });

  it('is no number, no other spelling, and not this machine', () => {
    expect(isPlainAddress('https://api.c-1.example.com:6443')).toBe(true);
    for (const host of [
      '10.0.0.1',
      '1.0x7f',
      'A.example',
      'localhost',
      'a.localhost',
      'xn--a',
      'a.xn--a',
      'a..b',
      'a.',
      '',
    ]) {
      expect([host, isPlainAddress(`https://${host}`)]).toEqual([host, false]);
    }
    for (const port of ['0', '06443', '65536', '99999']) {
      expect([port, isPlainAddress(`https://h:${port}`)]).toEqual([port, false]);
    }
    expect(isPlainAddress(`https://${'a'.repeat(254)}`)).toBe(false);
  });
});

describe('a private key in a bundle that is stored already', () => {
  it.each([0, 1, 2])('is found wherever its bytes fall, here %i after a group', (shift) => {
    const bundle = (text: string): string => Buffer.from(text).toString('base64');
    const kept = at('https://h', bundle(`${'x'.repeat(300 + shift)}-----BEGIN EC PRIVATE KEY-----\n`));
    expect(fields(kept, kept)).toEqual(['spec.x.caBundle']);
    const other = at('https://h', bundle(`${'x'.repeat(300 + shift)}-----BEGIN EC PRIVATE KEYS----\n`));
    expect(fields(other, other)).toEqual([]);
  });
});
