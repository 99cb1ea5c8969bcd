import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, selfSigned } from '../../src/clusters/upstream/certificates.fixture.ts';
import { expectStatus, expectUnauthorized } from './support/expect-status.ts';
import { kindCase, objectOf } from './support/kinds.ts';
import {
  asUser,
  bind,
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
} from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { sharedServer } from './support/shared-server.ts';

/** The fields of a Cluster, and the objects that are deleted with a cluster or a namespace. */

const server = sharedServer();

beforeAll(() => createCluster(server, 'alpha'));

it('Z-07: what kube-apiserver leaves out of a built-in kind, and a patch with it that changes nothing', async () => {
  await createNamespace(server, 'z-07', 'alpha');
  const patched = async (path: string, body: object) => {
    const { code, json } = await server.call('PATCH', path, { body });
    expect(code, json.message).toBe(200);
    return json;
  };
  const account = kindCase('ServiceAccount');
  const accounts = account.path.replace('/namespaces/ci/', '/namespaces/z-07/');
  const secrets = [{ name: 'a', namespace: 'z-07', uid: 'u', kind: 'Secret' }];
  const made = await create(server, accounts, { metadata: { name: 'z' }, secrets, imagePullSecrets: [] });
  expect([made.secrets, made.imagePullSecrets]).toEqual([[{ name: 'a' }], undefined]);
  expect(await patched(`${accounts}/z`, { secrets, imagePullSecrets: [] })).toEqual(made);
  const [roles, bindings] = [kindCase('ClusterRole').path, kindCase('ClusterRoleBinding').path];
  const role = await create(server, roles, { metadata: { name: 'z-07' } });
  expect(JSON.stringify(role)).toContain('"rules":null');
  for (const rules of [[], null]) expect(await patched(`${roles}/z-07`, { rules })).toEqual(role);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'z-07' };
  const binding = await create(server, bindings, { metadata: { name: 'z-07' }, subjects: [], roleRef });
  expect(binding).not.toHaveProperty('subjects');
  expect(await patched(`${bindings}/z-07`, { subjects: [] })).toEqual(binding);
});

describe('the fields of a Cluster', () => {
  const of = kindCase('Cluster');
  const named = (name: string) => `${of.path}/${name}`;

  beforeAll(async () => {
    const clusters = (verbs: string[]) => ({
      verbs,
      apiGroups: [of.group],
      resources: ['clusters', 'clusters/status'],
    });
    await bind(server, 'viewer', { kind: 'User', name: 'viewer' }, clusters(['get', 'list', 'watch']));
    await bind(server, 'patcher', { kind: 'User', name: 'patcher' }, clusters(['get', 'patch', 'create', 'delete']));
  });

  const CONDITION = { type: 'Ready', status: 'True', reason: 'Fine', lastHeartbeatTime: '2026-01-02T03:04:05Z' };
  const STATUS = { conditions: [CONDITION], type: 'k3s', version: 'v1.36.4' };

  describe('status', () => {
    it('L-03: is dropped on create and on update, and kept by them', async () => {
      const made = await create(server, of.path, { ...objectOf(of, { name: 'calm' }), status: STATUS });
      expect(made.status).toBeUndefined();
      const put = await server.call('PUT', named('calm'), { body: { ...made, status: STATUS } });
      expect(put.json).toEqual(made);
      await server.call('PATCH', `${named('calm')}/status`, { body: { status: STATUS } });
      const { json: current } = await server.call('GET', named('calm'));
      const { status: _, ...without } = current;
      const kept = await server.call('PUT', named('calm'), { body: { ...without, ...of.changed } });
      expect(kept.json.status).toEqual(STATUS);
    });

    it.each(['POST', 'DELETE'])('R-05: is not for %s', async (method) => {
      const answer = await server.call(method, `${named('odd')}/status`, method === 'POST' ? { body: {} } : {});
      const verb = method === 'POST' ? 'create' : 'delete';
      expectStatus(answer, {
        code: 405,
        reason: 'MethodNotAllowed',
        message: `${verb} is not supported on resources of kind "clusters.clusterregistry.k8s.io"`,
        details: { group: of.group, kind: 'clusters' },
      });
    });
  });

  it('generation: counts changes of the spec, and no others', async () => {
    const generations: number[] = [];
    const note = ({ metadata }: { metadata: { generation: number } }) => generations.push(metadata.generation);
    note(await create(server, of.path, objectOf(of, { name: 'counted' })));
    for (const [path, body] of [
      [named('counted'), { metadata: { labels: { a: 'b' }, generation: 40 } }],
      [`${named('counted')}/status`, { status: STATUS }],
      [named('counted'), of.changed],
      [named('counted'), { spec: { authInfo: { user: { name: 'x' } } } }],
      [named('counted'), { spec: null }],
    ] as const) {
      note((await server.call('PATCH', path, { body })).json);
    }
    expect(generations).toEqual([1, 1, 1, 2, 3, 4]);
  });

  describe('a hidden field', () => {
    const secretive = (name: string) => ({
      ...objectOf(of, {
        name,
        finalizers: ['example.com/a'],
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', note: 'x' },
      }),
      spec: { ...(of.content as { spec: object }).spec, authInfo: { user: { kind: 'Secret', name: 'credential' } } },
    });

    it('is kept when the spec is replaced, and removed on request', async () => {
      const made = await create(server, of.path, secretive('kept'));
      const { finalizers: _, ...metadata } = made.metadata;
      const put = await server.call('PUT', named('kept'), { body: { ...made, metadata, ...of.changed } });
      expect(put.json.spec).toEqual({ ...(of.changed as { spec: object }).spec, authInfo: made.spec.authInfo });
      expect(put.json.metadata.finalizers).toBeUndefined();
      const emptied = await server.call('PUT', named('kept'), {
        body: { ...put.json, spec: { ...put.json.spec, authInfo: {} } },
      });
      expect(emptied.json.spec.authInfo).toEqual({});
      const gone = await server.call('PATCH', named('kept'), { body: { spec: { authInfo: null } } });
      expect(gone.json.spec.authInfo).toBeUndefined();
    });

    it('computed annotations are shown, and never stored', async () => {
      const issuer = `${server.url}/orchestrator/computed`;
      const computed = {
        'clusterpass.dev/issuer': 'https://evil.example',
        'clusterpass.dev/audience': 'https://evil.example',
        'clusterpass.dev/max-expiration-seconds': '1',
      };
      const made = await create(server, of.path, objectOf(of, { name: 'computed', annotations: computed }));
      expect(made.metadata.annotations).toBeUndefined();
      await server.call('PATCH', named('computed'), { body: { metadata: { annotations: computed } } });
      expect((await server.call('GET', named('computed'))).json).toEqual(made);
      const shown = await server.call('GET', named('computed'), asUser('viewer'));
      expect(shown.json.metadata.annotations).toEqual({
        'clusterpass.dev/issuer': issuer,
        'clusterpass.dev/audience': issuer,
        'clusterpass.dev/max-expiration-seconds': '86400',
      });
    });
  });

  const authority = createAuthority('ca');
  const expired = createAuthority('old ca', { notAfter: Date.now() - 1000 });
  const encoded = (text: string): string => Buffer.from(text).toString('base64');

  describe('C-F: an address has one meaning', () => {
    it.each([
      ['contains no certificate: it must be a PEM file', 'bm90IGEgY2VydGlmaWNhdGU='],
      ['certificate 1 cannot be read', encoded('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n')],
      ['certificate 1 is not a CA certificate', encoded(selfSigned('leaf').cert)],
      ['certificate 2 is not a CA certificate', encoded(authority.cert + selfSigned('leaf').cert)],
      ['every certificate has expired', encoded(expired.cert)],
      ['contains more than 64 certificates', encoded(authority.cert.repeat(65))],
      ['contains a private key, which every caller could read', encoded(authority.cert + authority.key)],
    ])('a caBundle is refused: %s', async (why, caBundle) => {
      const spec = { orchestratorApiEndpoints: { caBundle } };
      const answer = await server.call('POST', of.path, { body: objectOf(of, { name: 'bundled' }, { spec }) });
      expect(answer.code, answer.text).toBe(422);
      expect(answer.json.message).toMatch(
        /spec\.orchestratorApiEndpoints\.caBundle: Invalid value: "<\d+ characters>": /,
      );
      expect(answer.json.message).toContain(why);
    });

    it.each(['insecureSkipTLSVerify', 'insecure-skip-tls-verify'])(
      'A13: the check of certificates cannot be turned off by %s',
      async (field) => {
        const at = 'spec.orchestratorApiEndpoints';
        const create = (endpoints: object, query = '') => {
          const body = objectOf(of, { name: 'loose' }, { spec: { orchestratorApiEndpoints: endpoints } });
          return server.call('POST', `${of.path}${query}`, { body });
        };
        const serverAddress = 'https://h';
        for (const query of ['', '?fieldValidation=Ignore', '?fieldValidation=Strict']) {
          for (const [endpoints, path] of [
            [{ serverEndpoints: [{ serverAddress }], [field]: true }, `${at}.${field}`],
            [{ serverEndpoints: [{ serverAddress, [field]: true }] }, `${at}.serverEndpoints[0].${field}`],
          ] as const) {
            const refused = await create(endpoints, query);
            expect([refused.code, refused.json.details.causes]).toEqual([
              422,
              [{ reason: 'FieldValueForbidden', message: expect.stringContaining('always verified'), field: path }],
            ]);
          }
        }
        // The value false is valid.
        const warned = await create({ serverEndpoints: [{ serverAddress }], [field]: false }, '?dryRun=All');
        expect([warned.code, warned.warnings]).toEqual([201, [`unknown field "${at}.${field}"`]]);
      },
    );
  });
});

describe('deletion propagation', () => {
  const patch = (path: string, body: object) => server.call('PATCH', path, { body });
  const namespacePath = (name: string, cluster = 'alpha') => `/orchestrator/${cluster}/api/v1/namespaces/${name}`;
  const RESOURCES = ['serviceaccounts', 'pods', 'secrets'];
  const HELD = ['example.com/hold'];

  /** A namespace with one object of each kind, and a token that depends on it. */
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
    it('is deleted with its objects and tokens, and without other objects', async () => {
      const token = await furnish('gone');
      const neighbour = await furnish('gone-not');
      await remove(server, namespacePath('gone'));
      expect((await server.call('GET', namespacePath('gone'))).code).toBe(404);
      expect(await countIn('gone')).toBe(0);
      expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
      expect(await countIn('gone-not')).toBe(3);
      expect(await codeFor(server, neighbour)).toBe(200);
      // Created again, it is another cluster.
      await furnish('gone');
      expect(await codeFor(server, token)).toBe(401);
    });

    it('T-12j: accepts no new objects while it waits for a finalizer, and its objects are deleted at once', async () => {
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
  });

  it('a cluster: waits for finalizers inside it, accepts no new objects, and is deleted after the last of them', async () => {
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

  describe('a secret', () => {
    const path = inNamespace('secrets', 'safe');
    it.each(['data', 'stringData'])('S-10: is accepted with %s, which is not kept and not repeated', async (field) => {
      if (field === 'data') await createNamespace(server, 'safe');
      const canary = 'c2VjcmV0LWNhbmFyeQ==';
      const name = `with-${field.toLowerCase()}`;
      const content = { [field]: { password: canary } };
      const annotations = {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ type: 'a', ...content }),
      };
      const warning = [`299 - "Clusterpass keeps only a part of a Secret; dropped: ${field}"`];
      const strict = '?fieldValidation=Strict';
      const answers = [
        await server.call('POST', path + strict, { body: { metadata: { name, annotations }, ...content } }),
        await server.call('PUT', `${path}/${name}${strict}`, { body: { metadata: { name, annotations }, ...content } }),
      ];
      const patches: Record<string, unknown> = {
        merge: content,
        'strategic-merge': content,
        json: [{ op: 'add', path: `/${field}`, value: content[field] }],
      };
      for (const [type, body] of Object.entries(patches)) {
        const headers = { 'Content-Type': `application/${type}-patch+json` };
        answers.push(await server.call('PATCH', `${path}/${name}${strict}`, { body, headers }));
      }
      expect(answers.map(({ code }) => code)).toEqual([201, 200, 200, 200, 200]);
      for (const { headers } of answers) expect([headers.get('warning')]).toEqual(warning);
      const kept = (await server.call('GET', `${path}/${name}`)).text;
      expect(JSON.parse(kept)).not.toHaveProperty(field);
      expect(JSON.parse(kept).metadata.annotations).toEqual({
        'kubectl.kubernetes.io/last-applied-configuration': '{"type":"a"}\n',
      });
      expect(answers.map(({ text }) => text).join('') + kept + server.output.stderr).not.toContain(canary);
    });
  });
});
