import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, expectUnauthorized } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import {
  CLUSTERS,
  codeFor,
  create,
  createAccount,
  createCluster,
  createNamespace,
  createPod,
  createSecret,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/token-world.ts';
import { brief, Watch } from './support/watch.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createCluster(server, 'alpha');
});
afterAll(() => server.destroy());

const PATCH = { 'Content-Type': 'application/merge-patch+json' };
const patch = (path: string, body: object) => server.call('PATCH', path, { body, headers: PATCH });
const namespacePath = (name: string, cluster = 'alpha') => `/orchestrator/${cluster}/api/v1/namespaces/${name}`;
const RESOURCES = ['serviceaccounts', 'pods', 'secrets'];
const HELD = ['example.com/hold'];

/** A namespace with one thing of each kind, and a token that hangs on it. */
async function furnish(namespace: string, cluster = 'alpha'): Promise<string> {
  await createNamespace(server, namespace, cluster);
  await createAccount(server, 'builder', namespace, cluster);
  await createPod(server, 'web', { serviceAccountName: 'builder' }, namespace, cluster);
  await createSecret(server, 'tls', namespace, cluster);
  const token = await issue(server, tokenPath('builder', namespace, cluster));
  expect(await codeFor(server, token)).toBe(200);
  return token;
}

async function countIn(namespace: string, cluster = 'alpha'): Promise<number> {
  const lists = await Promise.all(
    RESOURCES.map((resource) => server.call('GET', inNamespace(resource, namespace, cluster))),
  );
  return lists.reduce((sum, { json }) => sum + json.items.length, 0);
}

describe('a namespace', () => {
  it('takes everything in it along, tokens included, and nothing beside it', async () => {
    const token = await furnish('gone');
    const neighbour = await furnish('gone-not');
    await remove(server, namespacePath('gone'));
    expect((await server.call('GET', namespacePath('gone'))).code).toBe(404);
    expect(await countIn('gone')).toBe(0);
    expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
    expect(await countIn('gone-not')).toBe(3);
    expect(await codeFor(server, neighbour)).toBe(200);
    // Made anew, it is another one.
    await furnish('gone');
    expect(await codeFor(server, token)).toBe(401);
  });

  it('tells watchers of everything that goes with it', async () => {
    await furnish('watched');
    const { json } = await server.call('GET', inNamespace('pods', 'watched'));
    const { resourceVersion } = json.metadata;
    const open = (resource: string) =>
      Watch.open(server, `${inNamespace(resource, 'watched')}?watch=true&resourceVersion=${resourceVersion}`);
    const watches = await Promise.all(RESOURCES.map(open));
    const namespaces = await Watch.open(
      server,
      `/orchestrator/alpha/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=${resourceVersion}`,
    );
    await remove(server, namespacePath('watched'));
    const events = await Promise.all(watches.map((watch) => watch.take(1)));
    expect(events.flat().map(brief)).toEqual(['DELETED builder', 'DELETED web', 'DELETED tls']);
    const seen = await namespaces.take(2);
    expect(seen.map(brief)).toEqual(['MODIFIED watched', 'DELETED watched']);
    expect(seen[0]?.object.status).toEqual({ phase: 'Terminating' });
    for (const watch of [...watches, namespaces]) watch.close();
  });

  it('T-12j: takes nothing new while it waits for a finalizer, and its content goes at once', async () => {
    const token = await furnish('held');
    await patch(namespacePath('held'), { metadata: { finalizers: HELD } });
    const answer = await server.call('DELETE', namespacePath('held'));
    expect(answer.json).toMatchObject({ metadata: { name: 'held' }, status: { phase: 'Terminating' } });
    expect(await countIn('held')).toBe(0);
    expect(await codeFor(server, token)).toBe(401);
    for (const resource of RESOURCES) {
      const refused = {
        code: 403,
        reason: 'Forbidden',
        message: `${resource} "new" is forbidden: unable to create new content in namespace held because it is being terminated`,
        details: {
          name: 'new',
          kind: resource,
          causes: [
            {
              reason: 'NamespaceTerminating',
              message: 'namespace held is being terminated',
              field: 'metadata.namespace',
            },
          ],
        },
      };
      const path = inNamespace(resource, 'held');
      expectStatus(await server.call('POST', path, { body: { metadata: { name: 'new' } } }), refused);
      expectStatus(await server.call('POST', `${path}?dryRun=All`, { body: { metadata: { name: 'new' } } }), refused);
    }
    await patch(namespacePath('held'), { metadata: { finalizers: null } });
    expect((await server.call('GET', namespacePath('held'))).code).toBe(404);
  });

  it('waits for the finalizers of what is in it', async () => {
    const token = await furnish('busy');
    const account = `${inNamespace('serviceaccounts', 'busy')}/builder`;
    await patch(account, { metadata: { finalizers: HELD } });
    const answer = await server.call('DELETE', namespacePath('busy'));
    expect(answer.json).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    const left = await server.call('GET', account);
    expect(left.json.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(await countIn('busy')).toBe(1);
    // K-20: a grace of a minute for what is on its way out.
    expect(await codeFor(server, token)).toBe(200);
    await patch(account, { metadata: { finalizers: null } });
    expect((await server.call('GET', account)).code).toBe(404);
    expect((await server.call('GET', namespacePath('busy'))).code).toBe(404);
    expect(await codeFor(server, token)).toBe(401);
  });

  it('that is missing is what is missing', async () => {
    const missing = { code: 404, reason: 'NotFound', message: 'namespaces "nowhere" not found' };
    for (const resource of RESOURCES) {
      const answer = await server.call('POST', inNamespace(resource, 'nowhere'), { body: { metadata: { name: 'x' } } });
      expectStatus(answer, { ...missing, details: { name: 'nowhere', kind: 'namespaces' } });
      expect((await server.call('GET', inNamespace(resource, 'nowhere'))).json.items).toEqual([]);
    }
  });
});

describe('a cluster', () => {
  it('takes all its namespaces along, and those of no cluster whose name starts like its own', async () => {
    const tokens: string[] = [];
    for (const cluster of ['b', 'bb']) {
      await createCluster(server, cluster);
      for (const namespace of ['ci', 'shop']) tokens.push(await furnish(namespace, cluster));
    }
    await remove(server, `${CLUSTERS}/b`);
    expect(await Promise.all(tokens.map((token) => codeFor(server, token)))).toEqual([401, 401, 200, 200]);
    expectStatus(await server.call('POST', tokenPath('builder', 'ci', 'b'), { body: { spec: { audiences: [] } } }), {
      code: 404,
      reason: 'NotFound',
      message: 'clusters.clusterregistry.k8s.io "b" not found',
      details: { name: 'b', group: 'clusterregistry.k8s.io', kind: 'clusters' },
    });
    await createCluster(server, 'b');
    expect((await server.call('GET', '/orchestrator/b/api/v1/namespaces')).json.items).toEqual([]);
    expect((await server.call('GET', '/orchestrator/b/api/v1/pods')).json.items).toEqual([]);
    expect(await countIn('ci', 'bb')).toBe(3);
    expect(await codeFor(server, tokens[0] ?? '')).toBe(401);
  });

  it('waits for finalizers inside it, takes nothing new, and goes with the last of them', async () => {
    await createCluster(server, 'c');
    await furnish('ci', 'c');
    await furnish('shop', 'c');
    const pod = `${inNamespace('pods', 'ci', 'c')}/web`;
    await patch(pod, { metadata: { finalizers: HELD } });
    await patch(namespacePath('shop', 'c'), { metadata: { finalizers: HELD } });
    const answer = await server.call('DELETE', `${CLUSTERS}/c`);
    expect(answer.json).toMatchObject({ kind: 'Cluster', metadata: { name: 'c' } });
    const { json } = await server.call('GET', '/orchestrator/c/api/v1/namespaces');
    expect(json.items.map((item: { status: object }) => item.status)).toEqual([
      { phase: 'Terminating' },
      { phase: 'Terminating' },
    ]);
    expectStatus(
      await server.call('POST', '/orchestrator/c/api/v1/namespaces', { body: { metadata: { name: 'new' } } }),
      {
        code: 403,
        reason: 'Forbidden',
        message:
          'namespaces "new" is forbidden: unable to create new content in cluster c because it is being terminated',
        details: {
          name: 'new',
          kind: 'namespaces',
          causes: [
            { reason: 'ClusterTerminating', message: 'cluster c is being terminated', field: 'metadata.cluster' },
          ],
        },
      },
    );
    await patch(namespacePath('shop', 'c'), { metadata: { finalizers: null } });
    expect((await server.call('GET', namespacePath('shop', 'c'))).code).toBe(404);
    expect((await server.call('GET', `${CLUSTERS}/c`)).code).toBe(200);
    await patch(pod, { metadata: { finalizers: null } });
    expect((await server.call('GET', `${CLUSTERS}/c`)).code).toBe(404);
    expect((await server.call('GET', namespacePath('ci', 'c'))).code).toBe(404);
  });

  it('with much in it goes in one request', async () => {
    await createCluster(server, 'full');
    for (const namespace of ['n1', 'n2', 'n3']) await createNamespace(server, namespace, 'full');
    const names = Array.from({ length: 300 }, (_, index) => `sa-${index}`);
    await Promise.all(names.map((name, index) => createAccount(server, name, `n${(index % 3) + 1}`, 'full')));
    await remove(server, `${CLUSTERS}/full`);
    expect((await server.call('GET', '/orchestrator/full/api/v1/serviceaccounts')).json.items).toEqual([]);
  });

  it('leaves nothing behind of what is created while it goes', async () => {
    for (let round = 0; round < 10; round++) {
      await createCluster(server, 'raced');
      await createNamespace(server, 'ci', 'raced');
      const creating = Array.from({ length: 20 }, (_, index) =>
        server.call('POST', inNamespace('serviceaccounts', 'ci', 'raced'), {
          body: { metadata: { name: `sa-${index}` } },
        }),
      );
      const deleting = server.call('DELETE', `${CLUSTERS}/raced`);
      const codes = (await Promise.all(creating)).map(({ code }) => code);
      expect(codes.filter((code) => ![201, 403, 404, 409].includes(code))).toEqual([]);
      expect((await deleting).code).toBe(200);
      await createCluster(server, 'raced');
      expect((await server.call('GET', '/orchestrator/raced/api/v1/serviceaccounts')).json.items).toEqual([]);
      await remove(server, `${CLUSTERS}/raced`);
    }
  });
});

describe('a secret', () => {
  const path = inNamespace('secrets', 'safe');
  const message =
    'Forbidden: secret data is not stored: a Secret here only serves to bind tokens to, send it without data';

  it.each(['data', 'stringData'])('is not kept with %s, and what was in it is not repeated', async (field) => {
    if (field === 'data') await createNamespace(server, 'safe');
    const canary = 'c2VjcmV0LWNhbmFyeQ==';
    const body = { metadata: { name: 'x' }, [field]: { password: canary } };
    const answer = await server.call('POST', path, { body });
    expectStatus(answer, {
      code: 422,
      reason: 'Invalid',
      message: `Secret "x" is invalid: ${field}: ${message}`,
      details: { name: 'x', kind: 'Secret', causes: [{ reason: 'FieldValueForbidden', message, field }] },
    });
    const name = `empty-${field.toLowerCase()}`;
    const empty = await create(server, path, { metadata: { name }, [field]: {} });
    expect(empty).not.toHaveProperty(field);
    const patched = await patch(`${path}/${name}`, { [field]: { password: canary } });
    expect(patched.code).toBe(422);
    expect(patched.text + answer.text + server.output.stderr).not.toContain(canary);
  });

  it('has a type that stays', async () => {
    const made = await create(server, path, { metadata: { name: 'typed' }, type: 'kubernetes.io/tls' });
    expect(made.type).toBe('kubernetes.io/tls');
    const changed = await patch(`${path}/typed`, { type: 'Opaque' });
    expect(changed.json.details.causes).toEqual([
      { reason: 'FieldValueInvalid', message: 'Invalid value: "Opaque": field is immutable', field: 'type' },
    ]);
    const { json } = await server.call('GET', `${path}?fieldSelector=type%3Dkubernetes.io%2Ftls`);
    expect(json.items).toHaveLength(1);
  });
});
