import { expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { VerifiedTokenCache } from './verified-token-cache.ts';

interface Verified {
  readonly token: string;
  readonly key: string;
}

function open() {
  const calls: string[] = [];
  const state = { key: 'k1' };
  const cache = new VerifiedTokenCache<Verified | undefined>({
    async verify(token) {
      calls.push(token);
      if (token === 'bad') throw new Error('invalid signature');
      return token === 'other' ? undefined : { token, key: state.key };
    },
    hasKey: ({ key }) => key === state.key,
  });
  const get = (token: string) => cache.get(new Secret(token));
  return { calls, state, get };
}

test('a token is verified once, however often and by however many it is used', async () => {
  const { calls, get } = open();
  const [first, second] = await Promise.all([get('a'), get('a')]);
  expect(first).toBe(second);
  expect(get('a')).toBe(first);
  expect(calls).toEqual(['a']);
});

test('a token is verified again once its key is gone', async () => {
  const { calls, state, get } = open();
  await get('a');
  state.key = 'k2';
  expect(await get('a')).toEqual({ token: 'a', key: 'k2' });
  expect(get('a')).toEqual({ token: 'a', key: 'k2' });
  expect(calls).toEqual(['a', 'a']);
});
