import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RBAC, user } from './support/rbac.ts';
import { type Answer, type CallOptions, type Server, startServer, tokenOf } from './support/server.ts';
import { CLUSTERS, create, createCluster, createNamespace, inNamespace, tokenPath } from './support/token-world.ts';

/** A19, C-B: one request must not hold up the others, nor be answered with many times its size. */

let server: Server;
const ACCOUNTS = inNamespace('serviceaccounts');
const STRATEGIC = { 'Content-Type': 'application/strategic-merge-patch+json' };
const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

beforeAll(async () => {
  server = await startServer({ users: { nobody: [], granter: [] } });
  await createCluster(server, 'alpha');
  await createNamespace(server, 'ci');
  await create(server, ACCOUNTS, { metadata: { name: 'builder' } });
});
afterAll(() => server.destroy());

/** The longest that a health check had to wait while the request was under way, in milliseconds. */
async function longestPause(method: string, path: string, options: CallOptions): Promise<[Answer, number]> {
  let done = false;
  let longest = 0;
  const pings = (async () => {
    while (!done) {
      const start = performance.now();
      await server.call('GET', '/livez', { token: null }).catch(() => undefined);
      longest = Math.max(longest, performance.now() - start);
      await sleep(5);
    }
  })();
  const answer = await server.call(method, path, options);
  done = true;
  await pings;
  return [answer, longest];
}

/** Far above what a busy machine adds, below what these took when they were quadratic: 1.5 to 31 seconds. */
const MUCH_TOO_LONG_MS = 1_000;

describe('work that grows with the square of a body', () => {
  it('a strategic merge patch that deletes elements', async () => {
    await create(server, ACCOUNTS, { metadata: { name: 'many' }, secrets: times(9_900, (i) => ({ name: `s${i}` })) });
    const body = { secrets: times(1_500, (i) => ({ $patch: 'delete', name: `t${i}` })) };
    const [{ code }, pause] = await longestPause('PATCH', `${ACCOUNTS}/many?dryRun=All`, { body, headers: STRATEGIC });
    expect(code).toBe(200);
    expect(pause).toBeLessThan(MUCH_TOO_LONG_MS);
  });

  it('finalizers added to an object that is being deleted', async () => {
    const finalizers = times(18_000, (i) => `a.io/${i}`);
    await create(server, ACCOUNTS, { metadata: { name: 'held', finalizers } });
    await server.call('DELETE', `${ACCOUNTS}/held`);
    const body = { metadata: { finalizers: times(20_000, (i) => `b.io/${i}`) } };
    const [{ code }, pause] = await longestPause('PATCH', `${ACCOUNTS}/held?dryRun=All`, { body, headers: MERGE });
    expect(code).toBe(422);
    expect(pause).toBeLessThan(MUCH_TOO_LONG_MS);
  });

  it('a role with many paths, compared with the many paths of who writes it', async () => {
    const role = (name: string, rules: object[]) => ({ metadata: { name }, rules });
    const binding = (name: string) => ({
      metadata: { name },
      subjects: [user('granter')],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    });
    const paths = (prefix: string, count: number) => [
      { verbs: ['get'], nonResourceURLs: times(count, (i) => `${prefix}/${i}`) },
    ];
    const writes = {
      verbs: ['create'],
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['clusterroles', 'clusterrolebindings'],
    };
    await create(server, `${RBAC}/clusterroles`, role('granter', [writes]));
    await create(server, `${RBAC}/clusterrolebindings`, binding('granter'));
    for (const part of ['a', 'b', 'c', 'd']) {
      await create(server, `${RBAC}/clusterroles`, role(`held-${part}`, paths(`/held/${part}`, 15_000)));
      await create(server, `${RBAC}/clusterrolebindings`, binding(`held-${part}`));
    }
    const [{ code }, pause] = await longestPause('POST', `${RBAC}/clusterroles`, {
      body: role('wanted-paths', paths('/wanted', 9_000)),
      token: tokenOf('granter'),
    });
    expect(code).toBe(403);
    expect(pause).toBeLessThan(MUCH_TOO_LONG_MS);
  });
});

const SMALL = 256 * 1024;
const cluster = (spec: object) => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'x' },
  spec,
});
const EMPTY = times(15_000, () => ({}));

describe('an answer that lists faults has an end', () => {
  it.each<[string, string, () => object]>([
    ['rules', `${RBAC}/clusterroles`, () => ({ metadata: { name: 'x' }, rules: EMPTY })],
    [
      'subjects',
      `${RBAC}/clusterrolebindings`,
      () => ({ metadata: { name: 'x' }, roleRef: { kind: 'ClusterRole', name: 'x' }, subjects: EMPTY }),
    ],
    ['endpoints', CLUSTERS, () => cluster({ orchestratorApiEndpoints: { serverEndpoints: EMPTY } })],
    ['finalizers', ACCOUNTS, () => ({ metadata: { name: 'x', finalizers: times(15_000, () => '!') } })],
    [
      'labels',
      ACCOUNTS,
      () => ({ metadata: { name: 'x', labels: Object.fromEntries(times(9_000, (i) => [`!${i}`, '!'])) } }),
    ],
  ])('%s', async (_, path, body) => {
    const { code, text } = await server.call('POST', path, { body: body() });
    expect(code).toBe(422);
    expect(text.length).toBeLessThan(SMALL);
  });

  it('conditions', async () => {
    const body = { status: { conditions: EMPTY } };
    const { code, text } = await server.call('PATCH', `${CLUSTERS}/alpha/status`, { body, headers: MERGE });
    expect(code).toBe(422);
    expect(text.length).toBeLessThan(SMALL);
  });
});

/** Two megabytes that take a while to put in quotes. */
const LONG = '\u{1f600}'.repeat(500_000);
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const about = (boundObjectRef: object) => ({ spec: { audiences: [], boundObjectRef } });

describe('an answer that quotes the caller does not quote megabytes', () => {
  it.each<[string, string, object]>([
    ['the name of an object', ACCOUNTS, { metadata: { name: LONG } }],
    ['a label', ACCOUNTS, { metadata: { name: 'x', labels: { a: LONG } } }],
    ['the key of a label', ACCOUNTS, { metadata: { name: 'x', labels: { [LONG]: 'a' } } }],
    ['the name in a token request', tokenPath(), { metadata: { name: LONG }, spec: { audiences: [] } }],
    ['the uid in a token request', tokenPath(), { metadata: { uid: LONG }, spec: { audiences: [] } }],
    ['the name of a bound object', tokenPath(), about({ kind: 'Pod', name: LONG })],
    ['a bad name of a bound object', tokenPath(), about({ kind: 'Pod', name: `${LONG}/` })],
    ['the kind of a bound object', tokenPath(), about({ kind: LONG, name: 'x' })],
  ])('%s', async (_, path, body) => {
    const { code, text } = await server.call('POST', path, { body });
    expect(code).toBeGreaterThanOrEqual(400);
    expect(text.length).toBeLessThan(SMALL);
  });

  it.each<[string, object]>([
    [
      'a selector',
      { spec: { resourceAttributes: { labelSelector: { rawSelector: LONG, requirements: [{ key: 'a' }] } } } },
    ],
    ['metadata', { metadata: { name: LONG }, spec: { resourceAttributes: {} } }],
    ['a path', { spec: { resourceAttributes: {}, nonResourceAttributes: { path: LONG } } }],
  ])('%s in a review, which everybody may ask for', async (_, body) => {
    const { code, text } = await server.call('POST', REVIEWS, { body, token: tokenOf('nobody') });
    expect(code).toBe(422);
    expect(text.length).toBeLessThan(SMALL);
  });

  it('the uid and the version of an update', async () => {
    for (const metadata of [{ uid: LONG }, { resourceVersion: LONG }]) {
      const body = { metadata: { name: 'builder', ...metadata } };
      const { code, text } = await server.call('PUT', `${ACCOUNTS}/builder`, { body });
      expect([409, 422]).toContain(code);
      expect(text.length).toBeLessThan(SMALL);
    }
  });
});

describe('bodies that are refused or answered at once', () => {
  it.each<[string, number, string, string]>([
    ['100,000 levels', 400, 'application/json', '['.repeat(100_000)],
    ['200,000 keys', 400, 'application/json', `{${times(200_000, (i) => `"k${i}":1`).join(',')}}`],
    [
      'a number of 3 million digits',
      400,
      'application/json',
      `{"spec":{"expirationSeconds":${'1'.repeat(3_000_000)}}}`,
    ],
    ['130,000 commas of YAML', 400, 'application/yaml', `[${','.repeat(130_000)}]`],
    ['60,000 levels of YAML', 400, 'application/yaml', '- '.repeat(60_000)],
    ['aliases', 400, 'application/yaml', 'a: &a [x, x]\nb: [*a, *a]\n'],
    ['something compressed', 415, 'application/json', '{}'],
  ])('%s', async (name, code, type, body) => {
    const encoding = name === 'something compressed' ? { 'Content-Encoding': 'gzip' } : undefined;
    const headers = { 'Content-Type': type, ...encoding };
    const [answer, pause] = await longestPause('POST', tokenPath(), { body, headers });
    expect(answer.code).toBe(code);
    expect(answer.text.length).toBeLessThan(4_096);
    expect(pause).toBeLessThan(MUCH_TOO_LONG_MS);
  });
});
