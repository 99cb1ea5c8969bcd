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

test('tokens of other issuers and failures are verified each time, and shared only while in flight', async () => {
  const { calls, get } = open();
  for (let time = 0; time < 2; time++) expect(await get('other')).toBeUndefined();
  for (let time = 0; time < 2; time++) {
    const outcomes = await Promise.allSettled([get('bad'), get('bad')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  }
  expect(calls).toEqual(['other', 'other', 'bad', 'bad']);
});

test('a token is verified again once its key is gone', async () => {
  const { calls, state, get } = open();
  await get('a');
  state.key = 'k2';
  expect(await get('a')).toEqual({ token: 'a', key: 'k2' });
  expect(get('a')).toEqual({ token: 'a', key: 'k2' });
  expect(calls).toEqual(['a', 'a']);
});

test('the least recently used entry is evicted, and only that one', async () => {
  const { calls, get } = open();
  const count = 10_000;
  for (let at = 0; at < count; at++) await get(`t${at}`);
  await get('t0');
  await get('new');
  calls.length = 0;
  await get('t0');
  await get('t2');
  expect(calls).toEqual([]);
  await get('t1');
  expect(calls).toEqual(['t1']);
});
