import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { connectorAudience, RENEW_SECONDS } from '../../src/api/connector.ts';
import { createNodeFetch } from '../../src/client/node.ts';
import { Transport } from '../../src/client/transport.ts';
import { FakeCluster } from '../../src/connector/cluster.fixture.ts';
import { runConnector } from '../../src/connector/run-connector.ts';
import { realTiming } from '../../src/lib/backoff.ts';
import { memberOf } from '../../src/lib/json.ts';
import { TLS } from '../../test/e2e/support/server.ts';
import { requestText } from '../support/client.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver, requestFile } from '../support/driver.ts';
import { type Figure, percentile, type Settings } from '../support/measure.ts';
import { clusterName, type FleetObject, tokenPath } from '../support/objects.ts';
import { atEnd, builtProgram, kill, makeFolder, startFleetServer } from '../support/processes.ts';

const NAMES = Array.from({ length: 1_000 }, (_, index) => clusterName(index));
const CALLER = { name: 'ann', token: 'token-of-ann-0123456789', groups: ['system:masters'] };
/** Orders a second that come evenly. */
const RATE = 20;
const IDENTITY = {
  issuer: 'https://kubernetes.default.svc',
  subject: 'system:serviceaccount:cp:cp',
  accountUID: 'uid',
};
const RULES = { orders: true, revocable: true, mirror: { accounts: false, pods: false }, people: [] };

function* objectsOf(keys: string): Generator<FleetObject> {
  for (const name of NAMES) {
    const metadata = { name, uid: `uid-of-${name}`, annotations: { 'clusterpass.dev/cluster-id': 'uid' } };
    const spec = { authInfo: { controller: { kind: 'Connector', name } } };
    yield { cluster: '', body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata, spec } };
    const identity = { clusterUID: metadata.uid, ...IDENTITY, keys };
    const body = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Connector', metadata: { name }, spec: identity };
    yield { cluster: '', body };
  }
}

type Sign = (claims: object) => Promise<string>;

/** The API server of a cluster, which answers at once. Its Lease is free. */
const apiOf = (sign: Sign): Transport => {
  const request = async (_method: string, path: string, { body }: { readonly body?: object } = {}) => {
    const [, namespace = '', name = ''] = /namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/.exec(path) ?? [];
    if (name === '')
      return { code: 200, value: { metadata: { uid: 'uid' }, columnDefinitions: [], keys: [], ...body } };
    const secret = { name: memberOf(body, 'spec', 'boundObjectRef', 'name'), uid: 'uid' };
    const about = { namespace, serviceaccount: { name, uid: 'uid' }, secret };
    const sub = `system:serviceaccount:${namespace}:${name}`;
    const token = await sign({ iss: IDENTITY.issuer, sub, aud: ['bench'], 'kubernetes.io': about });
    return { code: 201, value: { kind: 'TokenRequest', status: { token } } };
  };
  return { request, text: async () => ({ value: 'ok' }) } as unknown as Transport;
};

/** Megabytes of a connector as it runs in a Pod, when it has copied 500 Pods. */
async function memoryOfOne(url: string, token: string): Promise<number> {
  const cluster = await new FakeCluster().start();
  const put = (resource: string, name: string, uid: string, more: object = {}) =>
    cluster.put(`/${resource}`, { apiVersion: 'v1', kind: 'any', metadata: { name, uid, ...more }, spec: {} });
  put('namespaces', 'kube-system', 'uid');
  put('serviceaccounts', 'default', 'account', { namespace: 'kube-system' });
  for (let at = 0; at < 500; at++) put('pods', `p-${at}`, `pod-${at}`, { namespace: 'kube-system' });
  const cwd = await makeFolder();
  const config = 'apiVersion: clusterpass.dev/v1alpha1\nkind: ConnectorConfiguration\n';
  const files = { kubeconfig: cluster.kubeconfig, config, 'token-file': token };
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text);
  const flags = Object.keys(files).flatMap((name) => [`--${name}`, name]);
  const of = ['--cluster', NAMES.at(-1) ?? '', '--namespace', 'cp', '--certificate-authority', TLS.caFile];
  const args = [await builtProgram(), 'connector', ...of, ...flags];
  const child = spawn(process.execPath, args, { cwd, env: { HOME: cwd, CLUSTERPASS_SERVER: url }, stdio: 'ignore' });
  await sleep(60_000);
  const { now } = memoryOf(child.pid ?? 0);
  await Promise.all([kill(child), cluster.stop()]);
  return now;
}

/**
 * What 1,000 connectors cost one server: each has a watch, and reports every 20 seconds. Then orders, as many as come
 * evenly, and as many as it can. Connectors and callers share the processors with it. Each part takes five times
 * `--seconds`.
 */
export async function run({ seconds }: Settings): Promise<Figure[]> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({ keys: [await exportJWK(publicKey)] });
  const sign = (claims: object): Promise<string> =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  const fleet = { callers: [CALLER], objects: () => objectsOf(keys) };
  const server = await startFleetServer(fleet, { serveArgs: ['--max-tracked-tokens-per-caller', '100000'] });
  const { cpu, pid, port, url } = server;
  const bare = memoryOf(pid).now;

  const stop = new AbortController();
  const disconnect = atEnd(async () => stop.abort());
  const fetch = createNodeFetch({ ca: readFileSync(TLS.caFile, 'utf8') });
  const api = apiOf(sign);
  const start = async (name: string): Promise<string> => {
    const kubernetes = { namespace: 'cp', serviceaccount: { name: 'cp', uid: IDENTITY.accountUID } };
    const { issuer: iss, subject: sub } = IDENTITY;
    const token = await sign({ iss, sub, aud: connectorAudience(url, name), 'kubernetes.io': kubernetes });
    const transport = { server: url, fetch, timing: realTiming, userAgent: undefined, onWarning: undefined };
    const parts = { cluster: name, productName: 'orchestrator', namespace: 'cp', holder: name, version: '', api };
    const allow = [{ namespace: 'ci', accounts: ['*'], maxSeconds: 3600 }];
    const own = { rules: { ...RULES, allow }, token: async () => token, timing: realTiming, log: () => {} };
    const unused = { register: async () => {} };
    const to = new Transport({ ...transport, tokenProvider: () => token });
    void runConnector({ ...parts, ...own, ...unused, server: to }, stop.signal);
    return token;
  };
  // Handshakes are not measured.
  let token = '';
  for (const name of NAMES) [token] = await Promise.all([start(name), sleep(5)]);
  await sleep(RENEW_SECONDS * 1000);
  const connected = memoryOf(pid).now;
  const before = cpu();
  await sleep(seconds * 5_000);
  const idle = (cpu() - before) / (seconds * 5e6);

  const texts = NAMES.map((name) =>
    requestText('POST', tokenPath(name, 'ci', 'builder'), {
      token: CALLER.token,
      body: { spec: { audiences: ['bench'] } },
    }),
  );
  const requests = await requestFile(texts);
  const driver = new Driver();
  await driver.send({ do: 'connect', port, connections: 32 });
  const evenly = await driver.work({ connections: 32, rate: RATE, requests, seconds: seconds * 5 });
  const cpuBefore = cpu();
  const most = await driver.work({ connections: 32, requests, seconds: seconds * 5 });
  const cpuOfOrders = cpu() - cpuBefore - idle * most.seconds * 1e6;
  const { peak } = memoryOf(pid);
  await disconnect();
  const one = await memoryOfOne(url, token);
  const orders = most.codes['201'] ?? 0;
  const note = JSON.stringify([evenly.codes, most.codes]);
  return [
    {
      name: 'memory of the connectors',
      value: connected - bare,
      unit: 'MB more',
      note: `at most ${peak.toFixed(0)} MB`,
    },
    { name: 'CPU of the connectors, without orders', value: 100 * idle, unit: '% of a processor' },
    {
      name: `p99 of ${RATE} orders a second`,
      value: percentile(evenly.milliseconds, 0.99),
      unit: 'ms',
      limit: 300,
      note,
    },
    { name: 'orders, 32 at once', value: orders / most.seconds, unit: 'a second' },
    { name: 'memory of one connector', value: one, unit: 'MB', limit: 60 },
    { name: 'CPU of an order', value: cpuOfOrders / orders / 1000, unit: 'ms' },
  ];
}
