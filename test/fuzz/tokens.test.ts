import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { Secret } from '../../src/observability/secret.ts';
import { TokenRejected } from '../../src/tokens/jws.ts';
import { b64, claimsOf, type Fixture, openFixture } from '../../src/tokens/tokens.fixture.ts';
import { fuzz, mutated } from './support/fuzz.ts';

let fixture: Fixture;
let token: string;
beforeAll(async () => {
  fixture = await openFixture();
  token = await fixture.issue();
  await fixture.accepted(token);
});
afterAll(() => fixture.remove());

async function isRefused(text: string): Promise<void> {
  let outcome: unknown;
  try {
    outcome = await fixture.verifier.verify(new Secret(text));
  } catch (error) {
    outcome = error instanceof TokenRejected ? undefined : error;
  }
  expect(outcome).toBeUndefined();
}

describe('C-D: a token that the server did not issue is refused, without an internal error', () => {
  const spice = ['.', '=', '-', '_', '+', '/', 'A', ' ', '\n', '\u0000', 'é', 'eyJ'];
  fuzz('an issued token, changed', mutated(fc.constant('TOKEN'), spice), async (change) => {
    // TOKEN is replaced by an issued token: characters are added before it, after it or inside it.
    const text = change.includes('TOKEN')
      ? change.replace('TOKEN', token)
      : `${token.slice(0, change.length * 20)}${change}${token.slice(change.length * 20)}`;
    if (text !== token) await isRefused(text);
  });

  fuzz(
    'an issued token with one character replaced',
    fc.tuple(fc.nat(), fc.constantFrom(...'ABCabc019-_'.split(''))),
    async ([where, letter]) => {
      const at = where % token.length;
      const text = `${token.slice(0, at)}${letter}${token.slice(at + 1)}`;
      if (text !== token) await isRefused(text);
    },
  );

  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('none', 'HS256', 'ES256', 'RS256', '../../etc/passwd', '__proto__', -1, 1e308, null, ['a'], {}),
  );
  const header = fc.dictionary(
    fc.constantFrom('alg', 'kid', 'typ', 'crit', 'jwk', 'jku', 'x5u', 'b64', 'zip', '__proto__'),
    values,
  );
  const payload = fc
    .dictionary(fc.constantFrom('iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'kubernetes.io', '__proto__'), values)
    .map((changes) => claimsOf(changes));
  const signatures = fc.oneof(
    fc.constant(''),
    fc.uint8Array({ minLength: 64, maxLength: 64 }).map(b64),
    fc.constant(b64(Buffer.alloc(64))),
  );
  fuzz('one made up', fc.tuple(header, payload, signatures), async ([head, claims, signature]) => {
    const kid = 'kid' in head ? {} : { kid: fixture.ring.signing().kid };
    await isRefused(`${b64(JSON.stringify({ ...kid, ...head }))}.${b64(JSON.stringify(claims))}.${signature}`);
  });
});
