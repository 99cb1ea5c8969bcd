import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { CONFIRMED_ANNOTATION, endpointDigest } from '../../src/api/clusters/confirmed-endpoint.ts';
import { ENDPOINT_AUTHORS_ANNOTATION } from '../../src/api/domain-keys.ts';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { addCluster, PUBLIC_LIST } from './support/fleet.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { bind } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

/**
 * A server that probes API servers on loopback every second. A14: with --confirm-endpoints, a caller who may update a
 * cluster does not receive the tokens of its users.
 */

const authority = createAuthority('cluster CA');
const thief = createAuthority('CA of a thief');
const FIELD = 'orchestratorApiEndpoints';
const bundle = ({ cert }: { cert: string }): string => Buffer.from(cert).toString('base64');

/** The time limit of a probe, five seconds, becomes an hour. */
const LONG_PROBES = `
  const start = globalThis.setTimeout;
  globalThis.setTimeout = (task, ms, ...args) => start(task, ms === 5_000 ? 3_600_000 : ms, ...args);
`;

let server: Server;
let real: FakeApiServer;
let evil: FakeApiServer;
let jane: Person;
let admin: Person;
let patcher: Person;

const endpoints = (port: number, ca = authority) => ({
  serverEndpoints: [{ serverAddress: `https://127.0.0.1:${port}` }],
  caBundle: bundle(ca),
});

beforeAll(async () => {
  const answers = () => ({ status: 200, body: '{"gitVersion":"v1.36.4"}' });
  real = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), answers);
  evil = await startApiServer(thief.issue({ names: ['127.0.0.1'] }), answers);
  server = await startServer({
    tls: true,
    users: { jane: [], editor: [], patcher: [], confirmer: [] },
    args: ['--confirm-endpoints', '--cluster-networks', '127.0.0.0/8', '--probe-interval', '1s'],
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(LONG_PROBES)}` },
  });
  const clusters = (...verbs: string[]) => ({ verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] });
  const see = ['get', 'list', 'watch'];
  await bind(server, 'jane', { kind: 'User', name: 'jane' }, clusters(...see));
  await bind(server, 'editor', { kind: 'User', name: 'editor' }, clusters(...see, 'update', 'patch'));
  await bind(server, 'patcher', { kind: 'User', name: 'patcher' }, clusters(...see, 'patch'));
  await bind(server, 'confirmer', { kind: 'User', name: 'confirmer' }, clusters('get', 'update', 'patch', 'confirm'));
  for (const name of ['alpha', 'beta', 'gamma', 'delta']) await register(name);
  const at = (user: string, token = tokenOf(user)) =>
    Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: token, CLUSTERPASS_CA: TLS.caFile });
  jane = await at('jane');
  patcher = await at('patcher');
  admin = await at('admin', server.adminToken);
});
afterAll(async () => {
  await server.destroy();
  await Promise.all([real.close(), evil.close()]);
});

async function register(name: string): Promise<void> {
  const body = { ...CLUSTER_TYPE, metadata: { name }, spec: { [FIELD]: endpoints(real.port) } };
  const made = await server.call('POST', CLUSTERS, { body });
  expect(made.code, made.text).toBe(201);
}

const patch = (name: string, body: object, user = 'editor', headers = {}): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${name}`, {
    body,
    headers: { 'Content-Type': 'application/merge-patch+json', ...headers },
    token: user === 'admin' ? server.adminToken : tokenOf(user),
  });
const redirect = (name: string, user?: string) => patch(name, { spec: { [FIELD]: endpoints(evil.port, thief) } }, user);
const get = async (name: string, token = tokenOf('jane')) =>
  (await server.call('GET', `${CLUSTERS}/${name}`, { token })).json;
const confirmation = async (name: string) => endpointDigest(await get(name, tokenOf('editor')), 'orchestrator');
const conditionOf = (cluster: { status?: { conditions?: { type: string }[] } }) =>
  cluster.status?.conditions?.find(({ type }) => type === 'EndpointsConfirmed');
const nothingOfTheThief = (text: string): void => {
  for (const mark of [String(evil.port), bundle(thief)]) expect(text).not.toContain(mark);
};

describe('A14: an edited endpoint', () => {
  it('waits, and the response to its writer has a warning', async () => {
    const answer = await redirect('alpha');
    expect(answer.code, answer.text).toBe(200);
    expect(answer.warnings.join()).toContain('clusterpass confirm alpha');
    expect(answer.json.spec).toEqual({
      [FIELD]: endpoints(evil.port, thief),
      confirmedEndpoints: endpoints(real.port),
    });
    expect(conditionOf(await get('alpha'))).toMatchObject({
      status: 'False',
      reason: 'ChangeWaits',
      message: expect.stringContaining('The address and the caBundle in the spec of this cluster changed'),
    });
  });

  it('is in no list, watch, table, kubeconfig or cluster profile', async () => {
    const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true`);
    await redirect('beta');
    const isHeld = (object: Parameters<typeof conditionOf>[0]) => conditionOf(object) !== undefined;
    const events = await watch.until(({ object }) => object.metadata.name === 'beta' && isHeld(object));
    watch.close();
    nothingOfTheThief(JSON.stringify(events));
    const table = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    for (const path of [
      PUBLIC_LIST,
      CLUSTERS,
      `${CLUSTERS}/alpha`,
      '/auth/v1/clusters/alpha/kubeconfig?as=ci/builder',
    ]) {
      for (const headers of [{}, ...(path.includes('kubeconfig') ? [] : [table])]) {
        const answer = await server.call('GET', path, { token: tokenOf('jane'), headers });
        expect(answer.code, answer.text).toBe(200);
        expect(answer.text).toContain(String(real.port));
        nothingOfTheThief(answer.text);
      }
    }
    // A caller who may update the cluster sees the written endpoints; those in force are the same for all.
    for (const path of [PUBLIC_LIST, '/auth/v1/clusters/alpha/kubeconfig?as=ci/builder']) {
      nothingOfTheThief((await server.call('GET', path)).text);
    }
    nothingOfTheThief((await server.call('GET', CLUSTERS, { headers: table })).text);
    for (const token of [tokenOf('jane'), server.adminToken]) {
      const profiles = await server.call('GET', '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles', { token });
      expect(profiles.text).toContain(String(real.port));
      nothingOfTheThief(profiles.text);
    }
  });

  it('is in nothing that the command line prints or writes, for an administrator either', async () => {
    for (const person of [jane, admin]) {
      for (const form of ['wide', 'yaml', 'json']) nothingOfTheThief(await person.ok(['get', 'clusters', '-o', form]));
      nothingOfTheThief(await person.ok(['get', 'clusters', 'alpha', '-o', 'yaml']));
      expect(await person.ok(['describe', 'cluster', 'alpha'])).toMatch(/EndpointsConfirmed +False .* ChangeWaits/);
      nothingOfTheThief(await person.ok(['describe', 'cluster', 'alpha']));
      await person.run(['kubeconfig', '--as', 'ci/builder', '--output', 'fleet']);
      nothingOfTheThief(await readFile(join(person.home, 'fleet'), 'utf8'));
    }
  });

  it('is not connected to: the prober asks the confirmed address', async () => {
    const seen = real.requests.length;
    await expect.poll(() => real.requests.length).toBeGreaterThan(seen + 8);
    expect(evil.connections).toBe(0);
  });

  it('is confirmed by a caller with the verb `confirm` only', async () => {
    const annotations = { [CONFIRMED_ANNOTATION]: await confirmation('alpha') };
    const refused = await patch('alpha', { metadata: { annotations } });
    expect([refused.code, refused.json.message]).toEqual([403, expect.stringContaining('cannot confirm resource')]);
    // Nor in one write with the change, nor by the field of the server.
    expect((await patch('gamma', { metadata: { annotations }, spec: { [FIELD]: endpoints(evil.port) } })).code).toBe(
      403,
    );
    const forged = await patch('alpha', { spec: { confirmedEndpoints: endpoints(evil.port, thief) } });
    expect([forged.code, forged.json.details.causes[0].field]).toEqual([422, 'spec.confirmedEndpoints']);
    nothingOfTheThief(JSON.stringify(await get('alpha')));
  });

  it('is not confirmed by a person who wrote a part of it, also under another identity', async () => {
    const confirm = async (user: string, headers?: Record<string, string>) => {
      const annotations = { [CONFIRMED_ANNOTATION]: await confirmation('epsilon') };
      return patch('epsilon', { metadata: { annotations } }, user, headers);
    };
    const own = [403, expect.stringContaining('another person confirms a change of the endpoints')];
    await register('epsilon');
    expect((await redirect('epsilon', 'confirmer')).code).toBe(200);
    // Another author changes the rest, and claims to be the only one.
    const claim = { annotations: { [ENDPOINT_AUTHORS_ANNOTATION]: '[]' } };
    await patch('epsilon', { metadata: claim, spec: { [FIELD]: { caBundle: bundle(authority) } } });
    for (const [user, headers] of [
      ['confirmer', undefined],
      ['admin', { 'Impersonate-User': 'confirmer' }],
    ] as const) {
      const answer = await confirm(user, headers);
      expect([answer.code, answer.json.message]).toEqual(own);
    }
    // Nor in advance: the change itself would then be in force at once.
    const digest = { [CONFIRMED_ANNOTATION]: await confirmation('epsilon') };
    await patch('epsilon', { spec: { [FIELD]: endpoints(real.port) } });
    expect((await patch('epsilon', { metadata: { annotations: digest } }, 'confirmer')).code).toBe(200);
    const changed = await patch('epsilon', { spec: { [FIELD]: endpoints(evil.port, authority) } }, 'confirmer');
    expect([changed.code, changed.json.message]).toEqual(own);
    expect(JSON.stringify(await get('epsilon'))).not.toContain(String(evil.port));
    await patch('epsilon', { metadata: { annotations: { [CONFIRMED_ANNOTATION]: null } } });
    expect((await redirect('epsilon', 'confirmer')).code).toBe(200);
    expect((await confirm('admin')).code).toBe(200);
    expect((await get('epsilon')).spec).toEqual({ [FIELD]: endpoints(evil.port, thief) });
  });

  it('is shown to the person who confirms, beside what it replaces; then clients get it', async () => {
    await redirect('gamma');
    const text = await admin.ok(['confirm', 'gamma']);
    expect(text).toMatch(new RegExp(`^Until now: +https://127\\.0\\.0\\.1:${real.port}$`, 'm'));
    expect(text).toMatch(/^CA until now: +CN=cluster CA \(SHA-256 /m);
    expect(text).toMatch(new RegExp(`^Address: +https://127\\.0\\.0\\.1:${evil.port}$`, 'm'));
    expect(text).toMatch(/^CA: +CN=CA of a thief \(SHA-256 /m);
    const cluster = await get('gamma');
    expect(cluster.spec).toEqual({ [FIELD]: endpoints(evil.port, thief) });
    expect(conditionOf(cluster)).toMatchObject({ status: 'True', reason: 'Confirmed' });
    expect(await patcher.fails(['confirm', 'gamma'])).toContain('you may not see the whole cluster "gamma"');
  });

  describe('A17: for a caller who may patch, and does not see it', () => {
    interface Way {
      readonly query: string;
      readonly type: string;
    }
    const write = (spec: object, { query, type }: Way, user = 'patcher'): Promise<Answer> =>
      server.call('PATCH', `${CLUSTERS}/zeta?${query}`, {
        body: { ...CLUSTER_TYPE, metadata: { name: 'zeta' }, spec },
        headers: { 'Content-Type': type },
        token: tokenOf(user),
      });
    const MERGE = { query: 'dryRun=All', type: 'application/merge-patch+json' };
    const APPLY = { query: 'fieldManager=patcher&dryRun=All', type: 'application/apply-patch+yaml' };
    const FORCE = { ...APPLY, query: `${APPLY.query}&force=true` };
    const AS_EDITOR = { ...APPLY, query: 'fieldManager=editor&force=true' };
    const { caBundle, ...address } = endpoints(0);

    beforeAll(async () => {
      await register('zeta');
      const changed = await write({ [FIELD]: endpoints(evil.port, thief) }, AS_EDITOR, 'editor');
      expect(changed.code, changed.text).toBe(200);
    });

    it.each([
      ['a merge patch', MERGE],
      ['an apply', APPLY],
      ['a forced apply', FORCE],
    ])('%s has the same response to a right guess and to a wrong one', async (_, way) => {
      const guesses = [
        endpoints(evil.port, thief),
        endpoints(evil.port + 1, thief),
        { ...endpoints(evil.port, thief), caBundle },
        { serverEndpoints: endpoints(evil.port).serverEndpoints },
        address,
        { caBundle: bundle(thief) },
      ];
      const answers = await Promise.all(guesses.map((guess) => write({ [FIELD]: guess }, way)));
      expect(answers.map(({ code, text, warnings }) => [code, text, warnings])).toEqual(
        guesses.map(() => [403, answers[0]?.text, []]),
      );
      expect(answers[0]?.json.message).toContain(
        'user "patcher" cannot set spec without permission to update the cluster',
      );
    });

    it('stays when the endpoints that the caller sees are sent back', async () => {
      for (const way of [MERGE, FORCE]) {
        const query = way.query.replace('dryRun=All', '');
        const answer = await write({ [FIELD]: endpoints(real.port) }, { ...way, query });
        expect(answer.code, answer.text).toBe(200);
      }
      // The prober may write the status between the read and the write. Clients then repeat both.
      const replace = async (change: object): Promise<Answer> => {
        const [shown] = (await server.call('GET', `${PUBLIC_LIST}?fieldSelector=metadata.name=zeta`)).json.items;
        return server.call('PUT', `${CLUSTERS}/zeta`, { body: { ...shown, ...change } });
      };
      await expect.poll(async () => (await replace({})).code).toBe(200);
      const message = async () => (await replace({ spec: { [FIELD]: endpoints(0) } })).json.message;
      await expect.poll(message).toContain('was made from the public view: read the whole cluster to set spec');
      expect((await get('zeta', tokenOf('editor'))).spec[FIELD]).toEqual(endpoints(evil.port, thief));
    });

    it('is not removed, by an apply in the name of its manager either', async () => {
      expect((await write({ [FIELD]: null }, { ...MERGE, query: '' })).code).toBe(403);
      const emptied = await write({}, AS_EDITOR);
      expect(emptied.code, emptied.text).toBe(200);
      expect((await get('zeta', tokenOf('editor'))).spec[FIELD]).toEqual(endpoints(evil.port, thief));
    });
  });
});

describe('A14: clusterpass kubeconfig', () => {
  const AS = ['kubeconfig', '--as', 'ci/builder', '--output', 'watched'];
  const addressOf = async (name: string): Promise<string> => {
    const { clusters } = parse(await readFile(join(jane.home, 'watched'), 'utf8'));
    return clusters.find((entry: { name: string }) => entry.name === name).cluster.server;
  };

  const moved = (from: number, to: number): string =>
    `changed: delta: the address changed from https://127.0.0.1:${from} to https://127.0.0.1:${to}`;

  it('follows a change that was confirmed at the server, and says so', async () => {
    await jane.run(AS);
    expect(await addressOf('delta')).toBe(`https://127.0.0.1:${real.port}`);
    await redirect('delta');
    expect((await jane.run(AS)).stderr).not.toContain('changed:');
    const annotations = { [CONFIRMED_ANNOTATION]: await confirmation('delta') };
    expect((await patch('delta', { metadata: { annotations } }, 'confirmer')).code).toBe(200);
    const { code, stderr } = await jane.run(AS);
    expect(stderr).toContain(`${moved(real.port, evil.port)}, as confirmed at the server\n`);
    expect(stderr).toMatch(/changed: delta: the CA changed from CN=cluster CA \(SHA-256 .* to CN=CA of a thief \(/);
    expect(stderr).not.toContain('left unchanged');
    expect([code, await addressOf('delta')]).toEqual([0, `https://127.0.0.1:${evil.port}`]);
    expect((await jane.run(AS)).stderr).not.toContain('changed:');
  });
});

describeWithKubectl('A14: kubectl', () => {
  it('prints that a change waits, and an unchanged manifest changes nothing', async () => {
    await register('applied');
    const manifest = (port: number): string =>
      JSON.stringify({ ...CLUSTER_TYPE, metadata: { name: 'applied' }, spec: { [FIELD]: endpoints(port) } });
    const apply = (port: number) => kubectlOk(server, ['apply', '-f', '-'], { stdin: manifest(port) });
    await apply(real.port);
    await apply(evil.port);
    const waiting = await get('applied', server.adminToken);
    expect(waiting.spec.confirmedEndpoints).toEqual(endpoints(real.port));
    expect(await apply(evil.port)).toContain('unchanged');
    await apply(real.port);
    expect((await get('applied', server.adminToken)).spec).toEqual({ [FIELD]: endpoints(real.port) });
  });
});

describe('the prober', () => {
  const VERSION = 'v1.36.4+k3s1';
  let api: FakeApiServer;
  let watch: Watch;

  beforeAll(async () => {
    api = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), ({ path }) =>
      path === '/version'
        ? { status: 200, body: JSON.stringify({ gitVersion: VERSION }) }
        : { status: 200, body: 'ok' },
    );
    watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true`);
  });
  afterAll(async () => {
    watch.close();
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

  it('finds a new cluster ready, with its version and its type', async () => {
    await addCluster(server, 'probed', { spec: { [FIELD]: endpoints(api.port) } });
    const { object } = await becomes('probed', 'True ProbeSucceeded');
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
    const issuer = `${server.url}/orchestrator/probed`;
    expect(new Set(issuers)).toEqual(new Set([`GET /version ${issuer} ${issuer}`]));
    const published = (await server.call('GET', '/orchestrator/probed/openid/v1/jwks', { token: null })).text;
    const { kid } = decodeProtectedHeader((refreshes()[0]?.headers.authorization ?? '').replace('Bearer ', ''));
    expect(published).not.toContain(kid);
  });
});
