import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { addCluster, PUBLIC_LIST, patchCluster } from './support/fleet.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer, TLS } from './support/server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

/** The real program probes API servers on loopback every second. */

const authority = createAuthority('cluster CA');
const other = createAuthority('other CA');
const VERSION = 'v1.36.4+k3s1';

/** The time limit of a probe, five seconds, becomes an hour. */
const LONG_PROBES = `
  const start = globalThis.setTimeout;
  globalThis.setTimeout = (task, ms, ...args) => start(task, ms === 5_000 ? 3_600_000 : ms, ...args);
`;

let server: Server;
let api: FakeApiServer;
let watch: Watch;
/** The response of /readyz. */
let status = 200;

const spec = (changes: { address?: string; ca?: { cert: string } } = {}) => ({
  orchestratorApiEndpoints: {
    serverEndpoints: [{ serverAddress: changes.address ?? `https://127.0.0.1:${api.port}` }],
    caBundle: Buffer.from((changes.ca ?? authority).cert).toString('base64'),
  },
});

beforeAll(async () => {
  api = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), ({ path }) =>
    path === '/version'
      ? { status: 200, body: JSON.stringify({ gitVersion: VERSION }) }
      : { status, body: status === 200 ? 'ok' : '[-]etcd failed: reason withheld\n' },
  );
  server = await startServer({
    tls: true,
    args: ['--probe-interval', '1s', '--cluster-networks', '127.0.0.0/8'],
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(LONG_PROBES)}` },
  });
  watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true`);
});
afterAll(async () => {
  watch.close();
  await server.destroy();
  await api.close();
});

const readyIn = ({ object }: WatchEvent) =>
  object.status?.conditions?.find(({ type }: { type: string }) => type === 'Ready') ?? {};

/** The first event in which the cluster has this condition; every event before it is about something else. */
async function becomes(name: string, expected: string): Promise<WatchEvent> {
  const events = await watch.until((event) => {
    const { status: ready, reason } = readyIn(event);
    return event.object.metadata.name === name && `${ready} ${reason}` === expected;
  });
  return events.at(-1) as WatchEvent;
}

describe('the prober', () => {
  it('finds a new cluster ready, with its version and its type', async () => {
    await addCluster(server, 'alpha', { spec: spec() });
    const { object } = await becomes('alpha', 'True ProbeSucceeded');
    expect(object.status).toMatchObject({ version: VERSION, type: 'k3s' });
    expect(object.metadata.generation).toBe(1);
  });

  it('causes no watch event while the result stays the same', async () => {
    const { resourceVersion } = (await server.call('GET', `${CLUSTERS}/alpha`)).json.metadata;
    const seen = api.requests.length;
    await expect.poll(() => api.requests.length).toBeGreaterThanOrEqual(seen + 6);
    expect((await server.call('GET', `${CLUSTERS}/alpha`)).json.metadata.resourceVersion).toBe(resourceVersion);
  });

  it('A11: sets False after three failures in a row, with the cause only if it was ready before, and True again', async () => {
    const theirs = { type: 'Audited', status: 'True', reason: 'Fine' };
    const headers = { 'Content-Type': 'application/json-patch+json' };
    const body = [{ op: 'add', path: '/status/conditions/0', value: theirs }];
    expect((await server.call('PATCH', `${CLUSTERS}/alpha/status`, { headers, body })).code).toBe(200);
    status = 500;
    await addCluster(server, 'strangers-ca', { spec: spec({ ca: other }) });
    await addCluster(server, 'closed-port', { spec: spec({ address: 'https://127.0.0.1:1' }) });
    const asked = api.requests.length;
    const expected = new Map([
      ['alpha', 'False ProbeServerNotReady'],
      ['strangers-ca', 'False ProbeNotYetSucceeded'],
      ['closed-port', 'False ProbeNotYetSucceeded'],
    ]);
    const events = await watch.until((event) => {
      const { name } = event.object.metadata;
      const { status: ready, reason } = readyIn(event);
      if (`${ready} ${reason}` === expected.get(name)) expected.delete(name);
      return expected.size === 0;
    });
    expect(api.requests.length - asked).toBeGreaterThanOrEqual(3);
    const messages = Object.fromEntries(events.map((event) => [event.object.metadata.name, readyIn(event).message]));
    expect(messages.alpha).toBe('The API server says that it is not ready (500 from /readyz); failed checks: etcd.');
    expect(messages['strangers-ca']).toBe(messages['closed-port']);
    status = 200;
    await expect.poll(() => server.output.stderr).toMatch(/"cluster":"closed-port","reason":"ProbeNetworkFailed"/);
    const { conditions } = (await becomes('alpha', 'True ProbeSucceeded')).object.status;
    // Conditions of other writers are unchanged, and in the same order.
    expect(conditions).toEqual([theirs, expect.objectContaining({ type: 'Ready' })]);
  });

  it('probes a cluster at once when its CA was corrected', async () => {
    await patchCluster(server, 'strangers-ca', { spec: spec() });
    await becomes('strangers-ca', 'True ProbeSucceeded');
  });

  it('A43: makes clusters read the keys again after one was revoked, with a token that no key verifies', async () => {
    const keys = '/apis/clusterpass.dev/v1alpha1/signingkeys';
    const { items } = (await server.call('GET', `${keys}?fieldSelector=status.state%3DNext`)).json;
    const seen = api.requests.length;
    expect((await server.call('DELETE', `${keys}/${items[0].metadata.name}`)).code).toBe(200);
    const refreshes = () => api.requests.slice(seen).filter(({ headers }) => headers.authorization !== undefined);
    // Three for each of two clusters.
    await expect.poll(() => refreshes().length).toBe(6);
    const issuers = refreshes().map(({ method, path, headers }) => {
      const claims = decodeJwt((headers.authorization ?? '').replace('Bearer ', ''));
      return `${method} ${path} ${claims.iss} ${claims.aud}`;
    });
    expect(new Set(issuers)).toEqual(
      new Set(
        ['alpha', 'strangers-ca']
          .map((name) => `${server.url}/orchestrator/${name}`)
          .map((issuer) => `GET /version ${issuer} ${issuer}`),
      ),
    );
    const published = (await server.call('GET', '/orchestrator/alpha/openid/v1/jwks', { token: null })).text;
    const { kid } = decodeProtectedHeader((refreshes()[0]?.headers.authorization ?? '').replace('Bearer ', ''));
    expect(published).not.toContain(kid);
    const metrics = async () => (await server.call('GET', '/metrics')).text;
    await expect.poll(metrics).toMatch(/^clusterpass_key_set_refreshes_total 2$/m);
  });

  it('does not probe a cluster whose condition has another writer', async () => {
    const theirs = { type: 'Ready', status: 'False', reason: 'NodesLost' };
    await addCluster(server, 'tended', { annotations: { 'clusterpass.dev/probe': 'disabled' }, spec: spec() });
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    await server.call('PATCH', `${CLUSTERS}/tended/status`, { headers, body: { status: { conditions: [theirs] } } });
    await patchCluster(server, 'tended', { metadata: { annotations: { 'clusterpass.dev/probe': null } } });
    const seen = api.requests.length;
    await expect.poll(() => api.requests.length).toBeGreaterThanOrEqual(seen + 8);
    const { conditions } = (await server.call('GET', `${CLUSTERS}/tended`)).json.status;
    expect(conditions).toEqual([theirs]);
    await patchCluster(server, 'tended', { metadata: { annotations: { 'clusterpass.dev/probe': 'enabled' } } });
    await becomes('tended', 'True ProbeSucceeded');
  });

  it('refuses an annotation with an unknown value', async () => {
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const body = { metadata: { annotations: { 'clusterpass.dev/probe': 'false' } } };
    const answer = await server.call('PATCH', `${CLUSTERS}/alpha`, { headers, body });
    expect([answer.code, answer.json.message]).toEqual([
      422,
      'Cluster.clusterregistry.k8s.io "alpha" is invalid: metadata.annotations[clusterpass.dev/probe]: Unsupported value: "false": supported values: "enabled", "disabled"',
    ]);
  });

  it('is shown by clusterpass get and describe', async () => {
    const admin = await Person.at({
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: server.adminToken,
      CLUSTERPASS_CA: TLS.caFile,
    });
    const table = await admin.ok(['get', 'clusters']);
    expect(table).toMatch(/^alpha +True +k3s +v1\.36\.4\+k3s1 /m);
    expect(table).toMatch(/^closed-port +False +<none> +<none> /m);
    expect(await admin.ok(['describe', 'cluster', 'closed-port'])).toMatch(
      /Ready +False .* ProbeNotYetSucceeded +No probe of this cluster has succeeded yet\./,
    );
  });
});

describeWithKubectl('kubectl wait', () => {
  it('ends when the prober has found the cluster ready', async () => {
    await addCluster(server, 'awaited', { spec: spec() });
    const waiting = ['wait', '--for=condition=Ready', 'cluster/awaited', '--timeout=60s'];
    expect(await kubectlOk(server, waiting)).toContain('cluster.clusterregistry.k8s.io/awaited condition met');
  });
});

describe('a stop', () => {
  it('does not wait for a probe that is under way', async () => {
    const arrived = Promise.withResolvers<void>();
    api.answer = () => {
      arrived.resolve();
      return undefined;
    };
    await arrived.promise;
    // Otherwise it would take an hour, the time limit of a probe here.
    expect(await server.stop()).toBe(0);
  });
});
