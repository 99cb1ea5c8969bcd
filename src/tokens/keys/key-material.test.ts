import { describe, expect, test } from 'vitest';
import { makeKey, publicJwk, readSigningKey, readVerificationKey } from './key-material.ts';
import type { KeyRecord } from './ring-state.ts';

const newRecord = async (): Promise<KeyRecord> => ({
  ...(await makeKey('ES256', 0)),
  state: 'current',
  lifetimeSeconds: 3600,
});
const [one, other] = [await newRecord(), await newRecord()];

describe('the record of a key', () => {
  test('B10: is a key that verifies what it signs', async () => {
    const verification = readVerificationKey(one);
    const signing = await readSigningKey(one, verification);
    const signature = Buffer.from(await signing.sign('input'), 'base64url');
    expect(await verification.verify(Buffer.from('input'), signature)).toBe(true);
    signing.close();
  });

  test.each([
    ['the id of another key', { ...one, kid: other.kid }],
    ['another algorithm', { ...one, algorithm: 'ES384' as const }],
    ['another public key', { ...one, publicKey: other.publicKey }],
  ])('B10: with %s is refused', (_, record) => {
    expect(() => readVerificationKey(record)).toThrow(`the key ${record.kid} does not match its record`);
  });

  test('B10: does not sign with the private key of another, or without one', async () => {
    const verification = readVerificationKey(one);
    await expect(readSigningKey({ ...one, privateKey: other.privateKey ?? '' }, verification)).rejects.toThrow(
      `the key ${one.kid} cannot verify its own signatures`,
    );
    const { privateKey: _, ...withoutPrivateKey } = one;
    await expect(readSigningKey(withoutPrivateKey, verification)).rejects.toThrow('has no private key');
  });

  test('a key set has the public members only', () => {
    expect(Object.keys(publicJwk(readVerificationKey(one)))).toEqual(['use', 'kty', 'kid', 'crv', 'alg', 'x', 'y']);
  });
});
