import { compactDecrypt, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ORDER_TYPE, type OrderAnswer, personAccountName } from '../api/connector.ts';
import { connectorSpec, connectorStatus } from '../api/kinds/connector.ts';
import { createNodeFetch } from '../client/node.ts';
import { type Fetch, Transport } from '../client/transport.ts';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { FakeHub, HUB_TOKEN } from '../sync/hub.fixture.ts';
import { FakeCluster } from './cluster.fixture.ts';
import { runConnector } from './run-connector.ts';

/** The whole program, beside a Clusterpass that takes its token while that is valid, by the keys that it reported. */

const BASE = 'https://clusterpass.example';
const PRODUCT = 'orchestrator';
const ROOT = `/${PRODUCT}/alpha`;
const CLUSTER = { name: 'alpha', uid: 'cluster-uid', id: 'kube-system-uid' };
const CONNECTORS = 'clusterpass.dev/connectors';
const ORDERS = 'clusterpass.dev/tokenorders';
const HOUR_MS = 3_600_000;

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

async function newKey(kid: string, alg = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

let clusterpass: FakeHub;
let cluster: FakeCluster;
let skippedMs: number;

const timing: Timing = {
  now: () => Date.now() + skippedMs,
  pause: (ms, signal) => realTiming.pause(Math.min(ms, 20), signal),
  random: () => 0,
};
const seconds = (): number => Math.floor(timing.now() / 1000);

beforeEach(async () => {
  clusterpass = await new FakeHub({ 'clusterpass.dev': ['v1alpha1'] }).start();
  cluster = await new FakeCluster().start();
  const metadata = { name: 'kube-system', uid: CLUSTER.id };
  cluster.put('/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
  skippedMs = 0;
});
afterEach(() => Promise.all([clusterpass.stop(), cluster.stop()]));

const put = (collection: string, name: string, spec: object): unknown =>
  clusterpass.put(collection, { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'any', metadata: { name }, spec });
const stored = () => {
  const object = clusterpass.objects(CONNECTORS).get('alpha');
  if (object === undefined) throw new Error('it is not registered');
  return object;
};
const keysAtServer = (): string => connectorStatus(stored()).keys ?? connectorSpec(stored()).keys ?? '';

/** As Clusterpass: an expired token, or one of a key that it does not know, is 401. */
function serverFetch(): Fetch {
  const fetch = createNodeFetch({});
  return (input, init) => {
    const token = new Headers(init?.headers).get('authorization')?.slice('Bearer '.length) ?? '';
    const isValid =
      (decodeJwt(token).exp ?? 0) > seconds() && keysAtServer().includes(decodeProtectedHeader(token).kid ?? '');
    if (!isValid) return Promise.resolve(Response.json({ kind: 'Status', code: 401 }, { status: 401 }));
    const headers = { ...(init?.headers as object), Authorization: `Bearer ${HUB_TOKEN}` };
    return fetch(String(input).replace(ROOT, ''), { ...init, headers });
  };
}

it('A55: nine days of renewals: of its token, the keys of the cluster and the tokens of people, leave nothing behind', async () => {
  const [ours, answerKey, first] = await Promise.all([newKey('ours'), newKey('answer', 'ECDH-ES'), newKey('day-0')]);
  let current = first;
  clusterpass.answer = ({ path }) =>
    path === '/openid/v1/jwks' ? { code: 200, value: { keys: [ours.jwk] } } : undefined;
  cluster.keys = { keys: [first.jwk] };
  const keys = JSON.stringify(cluster.keys);
  const spec = { clusterUID: CLUSTER.uid, keys };
  put(CONNECTORS, 'alpha', spec);
  /** Renewed before the former one ends. */
  const projected = (at: number): Promise<string> =>
    new SignJWT({
      ...{ aud: `${BASE}/connectors/alpha`, exp: Math.floor((Date.now() + at) / 1000) + 3600 },
    })
      .setProtectedHeader({ alg: 'ES256', kid: current.kid })
      .sign(current.privateKey);
  let token = await projected(0);
  const transport = (server: string, fetch: Fetch, tokenProvider: () => string): Transport =>
    new Transport({ server, fetch, timing, tokenProvider, userAgent: undefined, onWarning: undefined });
  const stop = new AbortController();
  const log: string[] = [];
  const running = runConnector(
    {
      ...{ cluster: 'alpha', productName: PRODUCT, namespace: 'cp', holder: 'pod-1', version: '1.0', timing },
      server: transport(clusterpass.url, serverFetch(), () => token),
      api: transport(cluster.url, createNodeFetch({}), () => HUB_TOKEN),
      register: () => Promise.reject(new Error('it is registered')),
      token: async () => token,
      rules: {
        ...{ orders: true, revocable: true, mirror: { accounts: false, pods: false }, allow: [] },
        people: [{ group: 'devs', maxSeconds: 3600 }],
      },
      log: (line) => void log.push(line),
    },
    stop.signal,
  );

  /** A person's token for an hour. */
  const renew = async (name: string, order: string): Promise<void> => {
    const claims = {
      ...{ iss: `${BASE}${ROOT}`, aud: `${BASE}/connectors/alpha`, jti: order, cluster: CLUSTER, revocable: true },
      ...{ iat: seconds(), exp: seconds() + 15, requester: { user: name, groups: [] }, answerKey: answerKey.jwk },
      person: { name, group: 'devs', audiences: [], expirationSeconds: 3600 },
    };
    const header = { alg: 'ES256', kid: 'ours', typ: ORDER_TYPE };
    const signed = await new SignJWT(claims).setProtectedHeader(header).sign(ours.privateKey);
    put(ORDERS, order, { order: signed });
    const answer = () => (clusterpass.objects(ORDERS).get(order)?.status as { answer?: string } | undefined)?.answer;
    await expect.poll(answer, { interval: 10 }).toBeDefined();
    const { plaintext } = await compactDecrypt(answer() ?? '', answerKey.privateKey);
    expect(JSON.parse(Buffer.from(plaintext).toString()) as OrderAnswer).toMatchObject({ order, status: 201 });
  };
  const reported = (): Promise<void> => {
    const since = timing.now() - 1000;
    return expect
      .poll(() => Date.parse(connectorStatus(stored()).renewTime ?? ''), { interval: 10 })
      .toBeGreaterThanOrEqual(since);
  };
  const recorded = (): string[] =>
    Object.keys(
      (cluster.objects('/configmaps').get('cp/clusterpass-connector-records') as { data?: object })?.data ?? {},
    );

  await renew('Max', 'order-of-max');
  for (let hour = 0; hour < 9 * 24; hour += 6) {
    token = await projected(hour * HOUR_MS);
    skippedMs = hour * HOUR_MS;
    if (hour % 24 === 12) {
      // A new key signs after it was published, and the former one is still known.
      const next = await newKey(`day-${hour}`);
      cluster.keys = { keys: [next.jwk, current.jwk] };
      await expect.poll(keysAtServer, { interval: 10 }).toContain(next.kid);
      current = next;
      token = await projected(skippedMs);
    }
    await renew('Jane', `order-${hour}`);
    await reported();
    // As Clusterpass, when the token has ended.
    for (const name of clusterpass.objects(ORDERS).keys()) {
      if (name !== `order-${hour}`) clusterpass.remove(ORDERS, name);
    }
  }
  const jane = personAccountName('Jane');
  const people = 'clusterpass-people-devs';
  await expect.poll(() => cluster.secrets).toEqual([`${people}/clusterpass-pass-order-210`]);
  expect([...cluster.objects('/serviceaccounts').keys()]).toEqual([`${people}/${jane}`]);
  expect(recorded().toSorted()).toEqual(['order-210', `person.${people}.${jane}`]);
  expect(log.filter((line) => !line.includes(': 201'))).toEqual(['leads for the cluster alpha']);
  stop.abort();
  await running;
});
