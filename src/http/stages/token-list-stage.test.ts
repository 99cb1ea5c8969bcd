import { expect, test } from 'vitest';
import { closeServersAfterEach, startFixture } from '../http.fixture.ts';
import type { ResourceRoutes } from '../routes/routes.ts';

closeServersAfterEach();

const ISSUED = {
  apiVersion: '',
  kind: 'TokenRequest',
  metadata: {},
  spec: { audiences: [], expirationSeconds: 600, boundObjectRef: null },
  status: { token: 'issued', expirationTimestamp: '' },
};
const item = { cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' };

/** The stage issues the tokens itself. */
const handle = (): Promise<never> => Promise.reject(new Error('no handler is called'));
const resources: ResourceRoutes = {
  find: () => ({ style: 'builtin', verbs: new Set(['create']), offers: new Set(), patchTypes: [], handle }),
};

test('A9: a credential that is revoked while a list is issued gets none of the tokens that are left', async () => {
  let isRevoked = false;
  const user = { name: 'jane', uid: '', groups: [], extra: {} };
  const { send, records } = await startFixture(undefined, {
    authenticate: () => ({
      as: () => user,
      home: undefined,
      key: 'jane',
      flow: 'jane',
      expiresAt: undefined,
      dependsOn: [],
      isLive: () => !isRevoked,
    }),
    resources,
    issueToken: async () => {
      isRevoked = true;
      return ISSUED;
    },
  });
  const { code, json } = await send({
    method: 'POST',
    path: '/auth/v1/passes',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ items: Array(100).fill(item) }),
  });
  expect(code).toBe(200);
  const { items } = json() as { items: object[] };
  expect(items[0]).toMatchObject({ ...item, token: 'issued' });
  expect(items[99]).toMatchObject({ ...item, error: { code: 401 } });
  expect(records.filter((record) => record.code === 401).length).toBeGreaterThan(0);
});

test('A19: a list with long wrong names gets a short response', async () => {
  const { send } = await startFixture(undefined, {
    resources,
    issueToken: () => Promise.reject(new Error('no item has the name of a cluster')),
  });
  const wrong = { cluster: '!'.repeat(1_000), namespace: '?'.repeat(1_000), serviceAccount: '?'.repeat(1_000) };
  const { code, text, json } = await send({
    method: 'POST',
    path: '/auth/v1/passes',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ items: Array(500).fill(wrong) }),
  });
  expect(code).toBe(200);
  const { items } = json() as { items: { error: { message: string } }[] };
  expect(items[499]?.error.message).toContain(`items[499].cluster: Invalid value: "${'!'.repeat(61)}..."`);
  expect(text.length / 500).toBeLessThan(3_500);
});
