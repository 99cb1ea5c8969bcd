import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CONFIRMED_ANNOTATION, endpointDigest } from '../../src/api/clusters/confirmed-endpoint.ts';
import { CLUSTER_ID_ANNOTATION } from '../../src/api/domain-keys.ts';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { clusterObject, conditionOf, goodAnswer, patchSpec, register, writeCredential } from './support/forwarding.ts';
import {
  ASK,
  asUser,
  bind,
  create,
  createAccount,
  createCluster,
  createNamespace,
  issue,
  post,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** Credentials of clusters are used where an administrator has confirmed the endpoint. */

const authority = createAuthority('cluster CA');
const thief = createAuthority('another CA');

const server = sharedServer();
let cluster: FakeApiServer;
let other: FakeApiServer;

beforeAll(async () => {
  cluster = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), goodAnswer);
  other = await startApiServer(thief.issue({ names: ['127.0.0.1'] }), goodAnswer);
  const clusters = (verbs: string[]) => ({ verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] });
  const registrar = clusters(['get', 'list', 'create', 'update', 'patch', 'delete']);
  await bind(server, 'registrar', { kind: 'User', name: 'registrar' }, registrar);
  await bind(server, 'confirmer', { kind: 'User', name: 'confirmer' }, clusters(['get', 'update', 'patch', 'confirm']));
});
beforeEach(() => {
  for (const one of [cluster, other]) one.requests.length = 0;
});
afterAll(() => Promise.all([cluster.close(), other.close()]));

const ask = (name: string): Promise<Answer> =>
  server.call('POST', tokenPath('builder', 'ci', name), { body: { spec: { audiences: [] } } });
const registered = (name: string) =>
  register(server, { name, port: cluster.port, ca: authority.cert }, `canary-${name}`);
const digestOf = async (name: string): Promise<string> =>
  endpointDigest((await server.call('GET', `${CLUSTERS}/${name}`)).json, 'orchestrator');
const annotate = (name: string, value: string | null, token?: string) =>
  patchSpec(server, name, { metadata: { annotations: { [CONFIRMED_ANNOTATION]: value } } }, token);
const endpoint = (port: number) => [{ serverAddress: `https://127.0.0.1:${port}` }];

describe('A14, C-F: a credential is bound to the address and the CA', () => {
  it('one that is not confirmed is not used, and the condition names the command that confirms it', async () => {
    await writeCredential(server, 'fresh', { token: 'canary-fresh' });
    await create(server, CLUSTERS, clusterObject({ name: 'fresh', port: cluster.port, ca: authority.cert }));
    const condition = await conditionOf(server, 'fresh', 'NotConfirmed');
    expect(condition).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/: clusterpass confirm fresh$/),
    });
    const answer = await ask('fresh');
    expect([answer.code, answer.json.reason]).toEqual([502, 'BadGateway']);
    expect(answer.json.message).toContain('no administrator has confirmed it');
    // Neither names the credential.
    expect(JSON.stringify(condition) + answer.text).not.toMatch(/fleet|canary|sha256-/);
    expect(cluster.requests).toEqual([]);

    const admin = await Person.as(server);
    const said = await admin.ok(['confirm', 'fresh']);
    expect(said).toContain('fleet/fresh');
    expect(said).toContain(`https://127.0.0.1:${cluster.port}`);
    expect(said).toMatch(/CN=cluster CA \(SHA-256 (?:[0-9A-F]{2}:){31}[0-9A-F]{2}\)/);
    expect(said).toContain('cluster.clusterregistry.k8s.io/fresh confirmed\n');
    expect(await conditionOf(server, 'fresh', 'NotUsedYet')).toMatchObject({ status: 'Unknown' });
    expect((await ask('fresh')).code).toBe(201);
    expect(await conditionOf(server, 'fresh', 'Accepted')).toMatchObject({ status: 'True' });
    expect(await admin.ok(['confirm', 'fresh', '--print'])).toBe(`${await digestOf('fresh')}\n`);
  });

  it.each<[string, () => object]>([
    [
      'the address',
      () => ({
        orchestratorApiEndpoints: {
          serverEndpoints: endpoint(other.port),
          caBundle: Buffer.from(thief.cert).toString('base64'),
        },
      }),
    ],
    ['the CA', () => ({ orchestratorApiEndpoints: { caBundle: Buffer.from(thief.cert).toString('base64') } })],
    [
      'the order of addresses',
      () => ({ orchestratorApiEndpoints: { serverEndpoints: [...endpoint(1), ...endpoint(2)] } }),
    ],
    ['the credential', () => ({ authInfo: { controller: { name: 'fresh' } } })],
  ])('a change of %s by a caller who may not confirm stops its use', async (what, spec) => {
    const name = `moved-${what.replaceAll(' ', '-').toLowerCase()}`;
    await registered(name);
    expect((await ask(name)).code).toBe(201);
    await conditionOf(server, name, 'Accepted');
    cluster.requests.length = 0;
    const changed = await patchSpec(server, name, { spec: spec() }, tokenOf('registrar'));
    expect(changed.code, changed.text).toBe(200);
    expect((await ask(name)).code).toBe(502);
    expect(await conditionOf(server, name, 'NotConfirmed')).toMatchObject({ status: 'False' });
    expect([cluster.requests, other.requests]).toEqual([[], []]);
    // Nor can the caller confirm it, with any verb.
    const value = await digestOf(name);
    expect((await annotate(name, value, tokenOf('registrar'))).json.message).toBe(
      `clusters.clusterregistry.k8s.io "${name}" is forbidden: User "registrar" cannot confirm resource "clusters" in API group "clusterregistry.k8s.io" at the cluster scope`,
    );
    const { json } = await server.call('GET', `${CLUSTERS}/${name}`, asUser('registrar'));
    json.metadata.annotations = { [CONFIRMED_ANNOTATION]: value };
    expect((await server.call('PUT', `${CLUSTERS}/${name}`, { body: json, ...asUser('registrar') })).code).toBe(403);
    expect((await ask(name)).code).toBe(502);
  });

  it('another cluster at the address gets no request, until its identity is confirmed', async () => {
    await registered('swapped');
    const identified = (id: string) =>
      patchSpec(server, 'swapped', { metadata: { annotations: { [CLUSTER_ID_ANNOTATION]: id } } });
    const { answer } = cluster;
    cluster.answer = (request, socket) =>
      request.method === 'GET' ? { status: 200, body: '{"metadata": {"uid": "new"}}' } : answer(request, socket);
    onTestFinished(() => {
      cluster.answer = answer;
    });
    await identified('old');
    const refused = await ask('swapped');
    expect([refused.code, refused.json.message]).toEqual([502, expect.stringContaining('another cluster')]);
    expect(await conditionOf(server, 'swapped', 'OtherCluster')).toMatchObject({ status: 'False' });
    expect(cluster.requests.map(({ method }) => method)).toEqual(['GET']);
    await identified('new');
    expect((await ask('swapped')).code).toBe(201);
    expect(await conditionOf(server, 'swapped', 'Accepted')).toMatchObject({ status: 'True' });
  });

  it('a caller who registers a cluster again with the name of a credential does not get it', async () => {
    await registered('replaced');
    expect((await server.call('DELETE', `${CLUSTERS}/replaced`, asUser('registrar'))).code).toBe(200);
    const body = clusterObject({ name: 'replaced', port: other.port, ca: thief.cert });
    body.metadata.annotations[CONFIRMED_ANNOTATION] = endpointDigest(body, 'orchestrator');
    expect((await server.call('POST', CLUSTERS, { body, ...asUser('registrar') })).code).toBe(403);
    body.metadata.annotations = {};
    expect((await server.call('POST', CLUSTERS, { body, ...asUser('registrar') })).code).toBe(201);
    expect((await ask('replaced')).code).toBe(502);
    expect(other.requests).toEqual([]);
  });

  it('a caller who may confirm does so with kubectl’s patch, and then the changed CA is used', async () => {
    await registered('rotated');
    const caBundle = Buffer.from(thief.cert).toString('base64');
    await patchSpec(server, 'rotated', {
      spec: { orchestratorApiEndpoints: { caBundle, serverEndpoints: endpoint(other.port) } },
    });
    expect((await annotate('rotated', 'sha256-0', tokenOf('confirmer'))).code).toBe(200);
    expect((await ask('rotated')).code).toBe(502);
    expect((await annotate('rotated', await digestOf('rotated'), tokenOf('confirmer'))).code).toBe(200);
    expect((await ask('rotated')).code).toBe(201);
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer canary-rotated']);
    expect(cluster.requests).toEqual([]);
    // A caller who may update the cluster can withdraw the confirmation.
    expect((await annotate('rotated', null, tokenOf('registrar'))).code).toBe(200);
    expect((await ask('rotated')).code).toBe(502);
  });
});

describe('a cluster that changes who issues its tokens', () => {
  beforeAll(async () => {
    await createCluster(server, 'turning');
    await createNamespace(server, 'ci', 'turning');
    await createAccount(server, 'builder', 'ci', 'turning');
  });

  it('the server signs nothing for a cluster while that issues its own tokens', async () => {
    const path = tokenPath('builder', 'ci', 'turning');
    const controller = { kind: 'Secret', namespace: 'fleet', name: 'none' };
    for (let round = 0; round < 2; round++) {
      await issue(server, path);
      await issue(server, path);
      expect((await patchSpec(server, 'turning', { spec: { authInfo: { controller } } })).code).toBe(200);
      // It has no address, so no request is sent to it.
      for (let again = 0; again < 2; again++)
        expect((await post(server, ASK, { path })).code).toBeGreaterThanOrEqual(400);
      expect((await patchSpec(server, 'turning', { spec: { authInfo: null } })).code).toBe(200);
    }
    await issue(server, path);
  });
});
