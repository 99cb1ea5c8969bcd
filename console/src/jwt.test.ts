import { expect, it } from 'vitest';
import { decodeClaims } from './jwt.ts';

const jwt = (payload: string): string => `e30.${Buffer.from(payload).toString('base64url')}.c2ln`;

it('decodes the claims of a JWT as UTF-8', () => {
  expect(decodeClaims(jwt('{"sub":"übermut","exp":5}'))).toEqual({ sub: 'übermut', exp: 5 });
});

it.each(['', 'opaque', 'a.b', 'a.b.c', 'a.b.c.d', jwt('[1]'), jwt('null'), jwt('{"a":'), `e30.${'%'.repeat(9)}.x`])(
  'finds no claims in %j',
  (token) => expect(decodeClaims(token)).toBeUndefined(),
);
