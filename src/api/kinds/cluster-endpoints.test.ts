import { describe, expect, it } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { createAddressRules } from '../address-rules.ts';
import { validateEndpoints } from './cluster-endpoints.ts';

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
