import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readKeySet } from './jwks.ts';

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
const algorithms = (...keys: unknown[]): unknown => readKeySet({ keys }).map((key) => key.algorithms);

describe('A2: the key decides its algorithms, not the token', () => {
  const usable = rsa(2048);
  it.each<[string, unknown, readonly string[][]]>([
    ['a curve has one algorithm', ec('P-256'), [['ES256']]],
    ['P-384', ec('P-384'), [['ES384']]],
    ['P-521', ec('P-521'), [['ES512']]],
    ['RSA has six', usable, [['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']]],
    ['or the one it names', { ...usable, alg: 'PS256' }, [['PS256']]],
    ['an algorithm of other keys', { ...usable, alg: 'ES256' }, []],
    ['a symmetric algorithm', { ...usable, alg: 'HS256' }, []],
    ['no algorithm', { ...usable, alg: 'none' }, []],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }, []],
    ['a key for encryption', { ...usable, use: 'enc' }, []],
    ['a key for other things', { ...usable, key_ops: ['encrypt'] }, []],
    ['a key for verifying', { ...usable, use: 'sig', key_ops: ['verify'], alg: 'RS256' }, [['RS256']]],
    ['a list of uses that is a text', { ...usable, key_ops: 'verify' }, []],
    ['a curve of JavaScript', { ...ec('P-256'), crv: 'constructor', alg: 'ES256' }, []],
    ['a point that is not on the curve', { ...ec('P-256'), x: 'AAAA' }, []],
    ['an RSA key that is too short', rsa(1024), []],
    ['another curve', ec('secp256k1'), []],
  ])('%s', (_, key, expected) => {
    expect(algorithms(key)).toEqual(expected);
  });

  it('of a private key only the public part is taken', () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
    expect(readKeySet({ keys: [pair] })[0]?.key.type).toBe('public');
  });
});
