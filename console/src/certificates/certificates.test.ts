import { expect, it } from 'vitest';
import { createAuthority, selfSigned } from '../../../src/clusters/upstream/certificates.fixture.ts';
import { certificatesOf, toBundle } from './certificates.ts';

/** Ends after 2049, so it has a GeneralizedTime (RFC 5280 section 4.1.2.5). */
const LATE =
  'MIIBcjCCARegAwIBAgIUP4WiTto5aAQ+5DviAAx7LGcCUFowCgYIKoZIzj0EAwIwDTELMAkGA1UEAwwCY2EwIBcNMjYxMTE5MDUzODA0WhgPMjA2' +
  'NzEyMTQwNTM4MDRaMA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAECpJe2a7ry2Mxt53lxVC9dE2+Bs84+loxlaBEOMYk' +
  'VsCpLQNdPq8U/O6vH0hdDmfT1+RmTBNOUoiuY2ODXXr6nKNTMFEwHQYDVR0OBBYEFCGAntDyzFyD4R/k0iPNF6njhELcMB8GA1UdIwQYMBaAFCGA' +
  'ntDyzFyD4R/k0iPNF6njhELcMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAO+anclAo700jE66JS/7QAXIonKy/9H7pA+qJ/Yn' +
  'ugCMAiEAg16oCxI9+S6x9DXUZLTenghqzQ+Aje15F3GcPfsSeZU=';

it('reads when each certificate of a bundle ends', async () => {
  const [first, second] = [Date.UTC(2031, 1, 3, 4, 5, 6), Date.UTC(1999, 11, 31, 23, 59, 59)];
  const late = `-----BEGIN CERTIFICATE-----\n${LATE}\n-----END CERTIFICATE-----\n`;
  const authority = createAuthority('a', { notAfter: first, keyType: 'rsa' });
  const bundle = toBundle(`${authority.cert}${selfSigned('b', { notAfter: second }).cert}${late}`);
  const found = await certificatesOf(bundle);
  expect(found.map(({ endsAt }) => endsAt)).toEqual([first, second, Date.UTC(2067, 11, 14, 5, 38, 4)]);
});

it('says of what is no certificate that its end is not known', async () => {
  const text = '-----BEGIN CERTIFICATE-----\nMIIBcjCC\n-----END CERTIFICATE-----';
  expect((await certificatesOf(toBundle(text))).map(({ endsAt }) => endsAt)).toEqual([Number.NaN]);
});
