import { compactDecrypt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TraceChecker } from '../../test/chaos/trace-checker.ts';
import { ORDER_TYPE, type OrderAnswer, passSecretName } from '../api/connector.ts';
import type { ApiObject } from '../api/kind.ts';
import { createNodeFetch } from '../client/node.ts';
import { type Fetch, Transport } from '../client/transport.ts';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { FakeHub, HUB_TOKEN } from '../sync/hub.fixture.ts';
import { FakeCluster } from './cluster.fixture.ts';
import type { ConnectorRules } from './configuration.ts';
import { createOrders } from './orders.ts';
import { Records } from './records.ts';
import { createOrderVerifier } from './verify-order.ts';

const ORDERS = 'clusterpass.dev/tokenorders';
const CLUSTER = { name: 'alpha', uid: 'cluster-uid', id: 'kube-system-uid' };
const ISSUER = 'https://clusterpass.example/orchestrator/alpha';
const AUDIENCE = 'https://clusterpass.example/connectors/alpha';
const PEOPLE = 'clusterpass-people-devs';
const DAY_MS = 86_400_000;

const [key, answerKey] = await Promise.all([
  generateKeyPair('ES256'),
  generateKeyPair('ECDH-ES', { extractable: true }),
]);

const rules: ConnectorRules = {
  orders: true,
  revocable: true,
  mirror: { accounts: false, pods: false },
  allow: [{ namespace: 'shop', accounts: ['deployer', 'absent'], maxSeconds: 3600 }],
  people: [{ group: 'devs', maxSeconds: 3600 }],
};

let clusterpass: FakeHub;
let cluster: FakeCluster;
let skippedMs: number;
let ends: (() => Promise<void>)[];

const timing: Timing = {
  now: () => Date.now() + skippedMs,
  pause: (ms, signal) => realTiming.pause(Math.min(ms, 20), signal),
  random: () => 0,
};

beforeEach(async () => {
  clusterpass = await new FakeHub({ 'clusterpass.dev': ['v1alpha1'] }).start();
  cluster = await new FakeCluster().start();
  cluster.addAccount('shop', 'deployer');
  [skippedMs, ends] = [0, []];
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  const checker = new TraceChecker();
  for (const step of cluster.steps) checker.take('cluster', step);
  expect(checker.problems).toEqual([]);
  await Promise.all([clusterpass.stop(), cluster.stop()]);
});

/** A connector. Killed, nothing that it sends arrives any more. */
async function start(holder = 'pod-1') {
  const stop = new AbortController();
  let isKilled = false;
  const nodeFetch = createNodeFetch({});
  const fetch: Fetch = (...args) => (isKilled ? Promise.reject(new Error('killed')) : nodeFetch(...args));
  const transport = (server: string): Transport =>
    new Transport({
      ...{ server, fetch, timing, tokenProvider: () => HUB_TOKEN, userAgent: undefined, onWarning: undefined },
    });
  const api = transport(cluster.url);
  const log: string[] = [];
  const records = new Records(api, 'cp');
  await records.read(stop.signal);
  const parts = { api, records, timing, log: (line: string) => void log.push(line) };
  const { publicKey } = key;
  const orders = createOrders({
    ...parts,
    server: transport(clusterpass.url),
    path: '/apis/clusterpass.dev/v1alpha1/tokenorders',
    holder,
    rules,
    verify: createOrderVerifier({
      ...{ audience: AUDIENCE, cluster: CLUSTER, now: timing.now },
      readKeys: async () => ({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1' }] }),
    }),
  });
  const running = orders.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  ends.push(end);
  return { log, sweep: orders.sweep, stop: end, kill: () => (isKilled = true) };
}

const account = (more: object = {}) => ({
  request: { namespace: 'shop', serviceAccount: 'deployer', audiences: [], expirationSeconds: 600, ...more },
});
const person = { person: { name: 'Jane', group: 'devs', audiences: [], expirationSeconds: 600 } };

async function signed(name: string, more: object = account()): Promise<string> {
  const now = Math.floor(timing.now() / 1000);
  const claims = {
    ...{ iss: ISSUER, aud: AUDIENCE, jti: name, iat: now, exp: now + 15, cluster: CLUSTER, revocable: true },
    requester: { user: 'jane', groups: [] },
    answerKey: await exportJWK(answerKey.publicKey),
    ...more,
  };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: ORDER_TYPE }).sign(key.privateKey);
}

const put = (name: string, order: string, status?: object): ApiObject =>
  clusterpass.put(ORDERS, {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'TokenOrder',
    metadata: { name },
    spec: { order, expirationTimestamp: new Date(timing.now() + 15_000).toISOString() },
    ...(status === undefined ? {} : { status }),
  });
const place = async (name: string, more?: object): Promise<ApiObject> => put(name, await signed(name, more));

interface Status {
  readonly claimedBy?: string;
  readonly answer?: string;
}
const statusOf = (name: string): Status => (clusterpass.objects(ORDERS).get(name)?.status ?? {}) as Status;

async function answerOf(name: string): Promise<OrderAnswer> {
  await expect.poll(() => statusOf(name).answer).toBeDefined();
  const { plaintext } = await compactDecrypt(statusOf(name).answer ?? '', answerKey.privateKey);
  return JSON.parse(Buffer.from(plaintext).toString());
}

/** An order that is done after all that were placed before it. */
async function passes(name: string): Promise<void> {
  await place(name, account({ serviceAccount: 'absent' }));
  await answerOf(name);
}

const recordsOf = (): string[] => {
  const map = cluster.objects('/configmaps').get('cp/clusterpass-connector-records') as { data?: object } | undefined;
  return Object.keys(map?.data ?? {});
};

describe('an order', () => {
  it('is claimed, done and answered, with a token that ends with a Secret', async () => {
    await place('before');
    await start();
    expect(await answerOf('before')).toMatchObject({ order: 'before', status: 201 });
    await place('after', account({ audiences: ['x'], expirationSeconds: 7200 }));
    const { order, status, body } = await answerOf('after');
    expect([order, status, body]).toEqual([
      'after',
      201,
      expect.objectContaining({
        kind: 'TokenRequest',
        status: expect.objectContaining({ token: 'token-of-shop/deployer' }),
      }),
    ]);
    expect(statusOf('after').claimedBy).toBe('pod-1');
    const secret = cluster.objects('/secrets').get(`shop/${passSecretName('after')}`) as ApiObject & { type: string };
    expect([secret.type, (secret as { data?: unknown }).data, secret.metadata.annotations]).toEqual([
      'clusterpass.dev/pass',
      undefined,
      { 'clusterpass.dev/order': 'after', 'clusterpass.dev/requester': 'jane' },
    ]);
    const boundObjectRef = {
      apiVersion: 'v1',
      kind: 'Secret',
      name: passSecretName('after'),
      uid: secret.metadata.uid,
    };
    expect(cluster.tokenRequests[1]?.spec).toEqual({ audiences: ['x'], expirationSeconds: 3600, boundObjectRef });
    // The record comes before the Secret.
    const writes = cluster.writes.filter((line) => !line.includes('/token'));
    expect(writes.slice(-2).map((line) => line.split('/').at(-1))).toEqual([
      'clusterpass-connector-records',
      'secrets',
    ]);
  });

  it('that the configuration does not allow is refused with the reason', async () => {
    await start();
    await place('a', account({ namespace: 'kube-system' }));
    expect(await answerOf('a')).toMatchObject({ order: 'a', refusal: { reason: 'Forbidden' } });
    expect([cluster.tokenRequests, cluster.secrets]).toEqual([[], []]);
  });

  it('gets what the API server answers', async () => {
    await start();
    await place('absent', account({ serviceAccount: 'absent' }));
    expect(await answerOf('absent')).toMatchObject({ status: 404, body: { kind: 'Status', reason: 'NotFound' } });
    await place('short', account({ expirationSeconds: 60 }));
    expect(await answerOf('short')).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    cluster.fault = (_, path) => (path.endsWith('/token') ? 'disconnect' : undefined);
    await place('lost');
    expect(await answerOf('lost')).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
  });

  it('that binds its token to an object keeps it, and makes no Secret', async () => {
    await start();
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0', uid: 'u' };
    await place('a', account({ boundObjectRef }));
    expect(await answerOf('a')).toMatchObject({ status: 201 });
    expect([cluster.tokenRequests[0]?.spec.boundObjectRef, cluster.secrets]).toEqual([boundObjectRef, []]);
  });
});

it('A55: an order that the API server does not answer in time is given up, and its Secret ends with it', async () => {
  const connector = await start();
  const { promise, resolve } = Promise.withResolvers<void>();
  cluster.beforeToken = () => promise;
  await place('slow', { ...account(), exp: Math.floor(timing.now() / 1000) + 2 });
  await expect
    .poll(() => connector.log)
    .toEqual(['order slow: the API server of the cluster has not answered in time']);
  expect([statusOf('slow').claimedBy, statusOf('slow').answer, cluster.secrets]).toEqual([
    'pod-1',
    undefined,
    [`shop/${passSecretName('slow')}`],
  ]);
  clusterpass.remove(ORDERS, 'slow');
  await expect.poll(() => [cluster.secrets, recordsOf()]).toEqual([[], []]);
  resolve();
});

describe('A54: an order is done at most once', () => {
  it('when it is replayed: under another name, again, expired, or claimed', async () => {
    await start();
    const order = await signed('first');
    put('first', order);
    expect(await answerOf('first')).toMatchObject({ status: 201 });
    put('second', order);
    clusterpass.remove(ORDERS, 'first');
    put('first', order);
    put('old', await signed('old', { ...account(), exp: Math.floor(timing.now() / 1000) - 1 }));
    put('taken', await signed('taken'), { claimedBy: 'pod-2' });
    put('issued', await signed('issued'), { phase: 'Issued' });
    await passes('last');
    expect(cluster.tokenRequests.map(({ account: name }) => name)).toEqual(['shop/deployer', 'shop/absent']);
    expect(['second', 'first', 'old', 'taken'].map((name) => statusOf(name).claimedBy)).toEqual([
      undefined,
      undefined,
      undefined,
      'pod-2',
    ]);
  });

  it('after a restart, while its Secret is there', async () => {
    const connector = await start();
    const order = await signed('first');
    put('first', order);
    await answerOf('first');
    await connector.stop();
    // As if the store of Clusterpass were restored.
    clusterpass.remove(ORDERS, 'first');
    put('first', order);
    const restarted = await start('pod-2');
    await passes('last');
    expect(restarted.log).toContain('order first: it was done before');
    expect(cluster.tokenRequests.map(({ account: name }) => name)).toEqual(['shop/deployer', 'shop/absent']);
  });

  it('A56: with two connectors', async () => {
    await start('pod-1');
    await start('pod-2');
    for (const name of ['a', 'b', 'c']) await place(name);
    for (const name of ['a', 'b', 'c']) expect(await answerOf(name)).toMatchObject({ order: name, status: 201 });
    expect(cluster.tokenRequests).toHaveLength(3);
  });
});

describe('A55: the Secret of a token', () => {
  it('is deleted with its order, also when that ends before its answer', async () => {
    await start();
    await place('a');
    await answerOf('a');
    clusterpass.remove(ORDERS, 'a');
    await expect.poll(() => [cluster.secrets, recordsOf()]).toEqual([[], []]);

    const { promise, resolve } = Promise.withResolvers<void>();
    cluster.beforeToken = () => promise;
    await place('b');
    await expect.poll(() => cluster.tokenRequests).toHaveLength(2);
    clusterpass.remove(ORDERS, 'b');
    expect(cluster.secrets).toHaveLength(1);
    resolve();
    await expect.poll(() => [cluster.secrets, recordsOf()]).toEqual([[], []]);
  });

  it('is deleted after a restart, if the connector was killed between call and answer', async () => {
    const connector = await start();
    await place('kept');
    await answerOf('kept');
    const { promise, resolve } = Promise.withResolvers<void>();
    cluster.beforeToken = () => promise;
    await place('lost');
    await expect.poll(() => cluster.tokenRequests).toHaveLength(2);
    connector.kill();
    resolve();
    clusterpass.remove(ORDERS, 'lost');
    expect(cluster.secrets).toEqual([`shop/${passSecretName('kept')}`, `shop/${passSecretName('lost')}`]);

    // Not while the orders are not known.
    clusterpass.fault = () => ({ code: 503 });
    const restarted = await start('pod-2');
    await restarted.sweep();
    expect(cluster.secrets).toHaveLength(2);
    clusterpass.fault = () => undefined;
    await expect.poll(() => cluster.secrets).toEqual([`shop/${passSecretName('kept')}`]);
    await expect.poll(recordsOf).toEqual(['kept']);
  });

  it('is deleted if its creation arrives after the sweep', async () => {
    const connector = await start();
    cluster.fault = (method, path) => (method === 'POST' && path.endsWith('/secrets') ? 'disconnect' : undefined);
    await place('a');
    expect(await answerOf('a')).toMatchObject({ status: 503 });
    cluster.fault = () => undefined;
    clusterpass.remove(ORDERS, 'a');
    await expect.poll(() => cluster.writes.filter((line) => line.startsWith('DELETE'))).not.toEqual([]);
    await connector.sweep();
    const metadata = { name: passSecretName('a'), namespace: 'shop' };
    cluster.put('/secrets', { apiVersion: 'v1', kind: 'Secret', type: 'clusterpass.dev/pass', metadata } as ApiObject);
    skippedMs = 60_000;
    await connector.sweep();
    expect([cluster.secrets, recordsOf()]).toEqual([[], []]);
  });

  it('gets no token if its creation took two minutes: another connector may have forgotten it', async () => {
    await start();
    cluster.fault = (method, path) => {
      if (method === 'POST' && path.endsWith('/secrets')) skippedMs = 120_000;
      return undefined;
    };
    await place('a');
    expect(await answerOf('a')).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
    expect([cluster.tokenRequests, cluster.secrets]).toEqual([[], []]);
  });

  it('is forgotten if it was not there for two minutes, and tried again if it cannot be deleted', async () => {
    const connector = await start();
    await place('a');
    await answerOf('a');
    cluster.remove('/secrets', `shop/${passSecretName('a')}`);
    clusterpass.remove(ORDERS, 'a');
    await expect.poll(() => cluster.writes.filter((line) => line.startsWith('DELETE'))).not.toEqual([]);
    await connector.sweep();
    expect(recordsOf()).toEqual(['a']);
    skippedMs = 121_000;
    await connector.sweep();
    expect(recordsOf()).toEqual([]);

    await place('b');
    await answerOf('b');
    cluster.fault = (method) => (method === 'DELETE' ? { code: 403 } : undefined);
    clusterpass.remove(ORDERS, 'b');
    await expect.poll(() => connector.log).toContain('b cannot be removed: refused');
    cluster.fault = () => undefined;
    await connector.sweep();
    expect([cluster.secrets, recordsOf()]).toEqual([[], []]);
  });

  it('is deleted when its token has ended, while Clusterpass cannot be reached', async () => {
    const connector = await start();
    await place('a');
    await answerOf('a');
    await clusterpass.stop();
    await connector.sweep();
    expect(cluster.secrets).toHaveLength(1);
    skippedMs = 661_000;
    await connector.sweep();
    expect(cluster.secrets).toEqual([]);
    await clusterpass.start();
  });
});

describe('the account of a person', () => {
  const accounts = (): string[] =>
    [...cluster.objects('/serviceaccounts').keys()].filter((name) => name.startsWith(PEOPLE));

  it('is made when it is first needed, again if it was deleted, and removed after a week without use', async () => {
    const connector = await start();
    await place('a', person);
    expect(await answerOf('a')).toMatchObject({ status: 201 });
    expect(accounts()).toEqual([expect.stringMatching(/^clusterpass-people-devs\/jane-[0-9a-f]{20}$/)]);
    const [name = ''] = accounts();
    expect(cluster.objects('/serviceaccounts').get(name)?.metadata.annotations).toEqual({
      'clusterpass.dev/person': 'Jane',
    });
    const { uid } = cluster.objects('/serviceaccounts').get(name)?.metadata ?? {};
    await place('b', person);
    await answerOf('b');
    expect(cluster.objects('/serviceaccounts').get(name)?.metadata.uid).toBe(uid);
    cluster.remove('/serviceaccounts', name);
    await place('c', person);
    expect(await answerOf('c')).toMatchObject({ status: 201 });

    skippedMs = 6 * DAY_MS;
    await place('d', person);
    await answerOf('d');
    skippedMs = 12 * DAY_MS;
    await connector.sweep();
    expect(accounts()).toEqual([name]);
    skippedMs = 15 * DAY_MS;
    await connector.sweep();
    expect(accounts()).toEqual([]);
    expect(recordsOf().filter((record) => record.startsWith('person.'))).toEqual([]);
  });

  it('is not made for a group that is not allowed', async () => {
    await start();
    await place('a', { person: { ...person.person, group: 'ops' } });
    expect(await answerOf('a')).toMatchObject({ refusal: { reason: 'Forbidden' } });
    expect(accounts()).toEqual([]);
  });
});
