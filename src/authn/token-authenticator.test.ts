import { expect, test } from 'vitest';
import type { User } from '../api/caller.ts';
import { plainCaller } from './token-authenticator.ts';

const user = (change: Partial<User>): User => ({ name: 'a', uid: '1', groups: ['g'], extra: {}, ...change });
const key = (change: Partial<User>): string => plainCaller(user(change), () => true).key;

test('B15: a person has one flow, whatever groups the credentials have', () => {
  const flow = (change: Partial<User>): string => plainCaller(user(change), () => true).flow;
  expect(flow({ groups: ['dev'], uid: 'other' })).toBe(flow({}));
  expect(flow({ name: 'other' })).not.toBe(flow({}));
});

test('keys differ wherever users differ, whatever separators they contain', () => {
  const different: Partial<User>[] = [
    {},
    { name: 'a","1' },
    { name: 'a,1', uid: '' },
    { uid: '2' },
    { groups: [] },
    { groups: ['g', ''] },
    { groups: ['a', 'b'] },
    { groups: ['a,b'] },
    { groups: ['a","b'] },
  ];
  expect(new Set(different.map(key)).size).toBe(different.length);
});

test('which credential a user came with does not make another user', () => {
  expect(key({ extra: { 'authentication.kubernetes.io/credential-id': ['JTI=1'] } })).toBe(key({}));
});
