import { request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { WorkQueue } from '../../lib/work-queue.ts';
import { startFixture } from '../http.fixture.ts';
import type { ResourceRoutes } from '../routes/routes.ts';

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
const verbs = new Set(['create'] as const);
const resources: ResourceRoutes = () => ({ style: 'builtin', verbs, offers: new Set(), patchTypes: [], handle });

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

test('A9: the audit event of a list whose client leaves has the items that were begun', async () => {
  let begun = 0;
  const { promise: client, resolve: leaves } = Promise.withResolvers<void>();
  const { promise: end, resolve: endItems } = Promise.withResolvers<void>();
  let time = 0;
  const { port, records } = await startFixture(undefined, {
    resources,
    // Each item waits for a turn.
    work: new WorkQueue({ now: () => ++time }),
    issueToken: async () => {
      begun += 1;
      leaves();
      await end;
      return ISSUED;
    },
  });
  const body = JSON.stringify({ items: Array(500).fill(item) });
  const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
  const sent = request({ port, method: 'POST', path: '/auth/v1/passes', headers });
  sent.on('error', () => {});
  sent.end(body);
  await client;
  sent.destroy();
  // No item is begun any more.
  await vi.waitUntil(async () => {
    const before = begun;
    await setTimeout(50);
    return begun === before;
  });
  endItems();
  await vi.waitUntil(() => records.some(({ items }) => items !== undefined));
  expect(begun).toBeLessThan(500);
  expect(records.find(({ items }) => items !== undefined)?.items).toHaveLength(begun);
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

test('a cluster that does not answer holds up no other token of the list', async () => {
  const { promise: allBegun, resolve: endFirst } = Promise.withResolvers<void>();
  let begun = 0;
  const { send } = await startFixture(undefined, {
    resources,
    issueToken: async () => {
      begun += 1;
      if (begun === 1) await allBegun;
      if (begun === 120) endFirst();
      return ISSUED;
    },
  });
  const { code, json } = await send({
    method: 'POST',
    path: '/auth/v1/passes',
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
    body: JSON.stringify({ items: Array(120).fill(item) }),
  });
  const { items } = json() as { items: object[] };
  expect([code, items.length, items[0]]).toEqual([200, 120, expect.objectContaining({ token: 'issued' })]);
});
