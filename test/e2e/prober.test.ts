import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { addCluster, PUBLIC_LIST } from './support/fleet.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { type Server, startServer, TLS } from './support/server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

/** The real program probes API servers on loopback every second. */

const authority = createAuthority('cluster CA');
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
const status = 200;

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

  it('A43: makes clusters read the keys again after one was revoked, with a token that no key verifies', async () => {
    const keys = '/apis/clusterpass.dev/v1alpha1/signingkeys';
    const { items } = (await server.call('GET', `${keys}?fieldSelector=status.state%3DNext`)).json;
    const seen = api.requests.length;
    expect((await server.call('DELETE', `${keys}/${items[0].metadata.name}`)).code).toBe(200);
    const refreshes = () => api.requests.slice(seen).filter(({ headers }) => headers.authorization !== undefined);
    await expect.poll(() => refreshes().length).toBe(3);
    const issuers = refreshes().map(({ method, path, headers }) => {
      const claims = decodeJwt((headers.authorization ?? '').replace('Bearer ', ''));
      return `${method} ${path} ${claims.iss} ${claims.aud}`;
    });
    const issuer = `${server.url}/orchestrator/alpha`;
    expect(new Set(issuers)).toEqual(new Set([`GET /version ${issuer} ${issuer}`]));
    const published = (await server.call('GET', '/orchestrator/alpha/openid/v1/jwks', { token: null })).text;
    const { kid } = decodeProtectedHeader((refreshes()[0]?.headers.authorization ?? '').replace('Bearer ', ''));
    expect(published).not.toContain(kid);
    const metrics = async () => (await server.call('GET', '/metrics')).text;
    await expect.poll(metrics).toMatch(/^clusterpass_key_set_refreshes_total 1$/m);
  });

  it('is shown by clusterpass get and describe', async () => {
    const admin = await Person.at({
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: server.adminToken,
      CLUSTERPASS_CA: TLS.caFile,
    });
    expect(await admin.ok(['get', 'clusters'])).toMatch(/^alpha +True +k3s +v1\.36\.4\+k3s1 /m);
    expect(await admin.ok(['describe', 'cluster', 'alpha'])).toMatch(/Ready +True .* ProbeSucceeded/);
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
