import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import {
  ASK,
  createAccount,
  createCluster,
  createNamespace,
  createWorld,
  post,
  tokenPath,
} from './support/token-world.ts';

/** Facts about the token operation that are not about one field: where it is, what it answers with, what it leaves out. */

let server: Server;
let uids: Awaited<ReturnType<typeof createWorld>>;

beforeAll(async () => {
  server = await startServer();
  uids = await createWorld(server);
});
afterAll(() => server.destroy());

const POD = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };

describe('the operation', () => {
  it('T-01: is a create in the core group, of an object of the authentication group', async () => {
    const { json } = await server.call('GET', '/orchestrator/alpha/api/v1');
    const entry = json.resources.find(({ name }: { name: string }) => name === 'serviceaccounts/token');
    expect(entry).toEqual({
      name: 'serviceaccounts/token',
      singularName: '',
      namespaced: true,
      group: 'authentication.k8s.io',
      version: 'v1',
      kind: 'TokenRequest',
      verbs: ['create'],
    });
    const answer = await post(server, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...ASK });
    expect([answer.code, answer.json.apiVersion, answer.json.kind]).toEqual([
      201,
      'authentication.k8s.io/v1',
      'TokenRequest',
    ]);
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' ? undefined : ASK;
      expectStatus(await server.call(method, tokenPath(), { body }), {
        code: 405,
        reason: 'MethodNotAllowed',
        message: 'the server does not allow this method on the requested resource',
        details: {},
      });
    }
  });

  it('T-02: is there in every cluster, from the moment the cluster is: each has an issuer', async () => {
    await createCluster(server, 'gamma');
    await createNamespace(server, 'ci', 'gamma');
    await createAccount(server, 'builder', 'ci', 'gamma');
    const { code, json } = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gamma') });
    expect(code).toBe(201);
    expect(decodeJwt(json.status.token).iss).toBe(`${server.url}/orchestrator/gamma`);
  });

  it('W-07: nothing is deprecated, and nothing says so', async () => {
    for (const path of [
      '/auth/v1/clusters',
      '/apis/clusterregistry.k8s.io/v1alpha1/clusters',
      '/apis/clusterregistry.k8s.io/v1alpha1/clusters/alpha',
      '/orchestrator/alpha/api/v1/namespaces/ci/pods',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      '/apis/clusterregistry.k8s.io/v1alpha1/watch/clusters?timeoutSeconds=1',
    ]) {
      const { code, headers } = await server.call('GET', path);
      expect([path, code, headers.get('warning')]).toEqual([path, 200, null]);
    }
    expect((await post(server, ASK)).headers.get('warning')).toBeNull();
  });
});

describe('what kube-apiserver adds and this does not', () => {
  it('T-08, decision 7: managedFields, whoever says to be the manager', async () => {
    const managedFields = [{ manager: 'me', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }];
    for (const [path, metadata] of [
      [tokenPath(), {}],
      [`${tokenPath()}?fieldManager=me`, {}],
      [`${tokenPath()}?fieldManager=me`, { managedFields }],
    ] as const) {
      const { code, json, text } = await post(server, { metadata, ...ASK }, { path });
      expect([code, Object.keys(json.metadata)]).toEqual([201, ['name', 'namespace', 'uid', 'creationTimestamp']]);
      expect(text).not.toContain('managedFields');
    }
  });

  it('T-11, decision 3: a token in a dry run', async () => {
    const path = `${tokenPath()}?dryRun=All`;
    const { code, json } = await post(server, { spec: { audiences: ['vault'], expirationSeconds: 700 } }, { path });
    expect(code).toBe(201);
    expect(json.metadata).toMatchObject({ name: 'builder', namespace: 'ci', uid: uids.builder });
    expect(json.spec).toEqual({ audiences: ['vault'], expirationSeconds: 700, boundObjectRef: null });
    expect(Object.keys(json.status)).toEqual(['token', 'expirationTimestamp']);
    expect(json.status.token).toBe('');
    const created = Date.parse(json.metadata.creationTimestamp);
    expect(Date.parse(json.status.expirationTimestamp)).toBe(created + 700_000);
  });

  it.each([
    ['by name', { kind: 'Node', apiVersion: 'v1', name: 'node-1' }],
    ['by name and uid', { kind: 'Node', apiVersion: 'v1', name: 'node-1', uid: 'x' }],
    ['without a name', { kind: 'Node', apiVersion: 'v1' }],
  ])('T-33, decision 5: a binding to a node, %s', async (_, boundObjectRef) => {
    const answer = await post(server, { spec: { audiences: [], boundObjectRef } });
    expectStatus(answer, badRequest('cannot bind token to object of type /v1, Kind=Node'));
  });

  it('T-21: a look at the node of a pod: its name is all there is to know', async () => {
    const { code, json } = await post(server, { spec: { audiences: [], boundObjectRef: POD } });
    expect(code).toBe(201);
    const claims = decodeJwt<{ 'kubernetes.io': { node: object } }>(json.status.token);
    expect(claims['kubernetes.io'].node).toEqual({ name: 'node-1' });
  });

  it('T-28, K-22, decision 6: a second, longer life', async () => {
    const { json } = await post(server, {
      spec: { audiences: [], expirationSeconds: 3607, boundObjectRef: POD },
    });
    const { exp = 0, iat = 0, ...claims } = decodeJwt(json.status.token);
    expect(exp - iat).toBe(3607);
    expect(Object.keys(claims['kubernetes.io'] as object)).toEqual(['namespace', 'node', 'pod', 'serviceaccount']);
  });
});

describe('T-12: the order of the checks, where the body is read', () => {
  const UNKNOWN = '{"spec":{"audiences":[]},"extra":1}';
  const options = (value: string, field: string, supported: string) => ({
    code: 422,
    reason: 'Invalid',
    message: `CreateOptions.meta.k8s.io "" is invalid: ${field}: Unsupported value: ${value}: supported values: ${supported}`,
    details: {
      group: 'meta.k8s.io',
      kind: 'CreateOptions',
      causes: [
        {
          reason: 'FieldValueNotSupported',
          message: `Unsupported value: ${value}: supported values: ${supported}`,
          field,
        },
      ],
    },
  });

  it('T-12e: options come after the size of the body', async () => {
    const answer = await post(server, 'x'.repeat(3_145_729), { path: `${tokenPath()}?dryRun=x` });
    expect(answer.code).toBe(413);
  });

  it('T-12e: and before its content, whatever is wrong with it', async () => {
    for (const body of ['', '{', '[]', '{"apiVersion":"v1","kind":"Pod"}', UNKNOWN]) {
      expectStatus(await post(server, body, { path: `${tokenPath()}?dryRun=x` }), options('["x"]', 'dryRun', '"All"'));
    }
  });

  it('T-12e: and before what the path leads to', async () => {
    const path = `${tokenPath('nobody', 'gone', 'gone')}?fieldValidation=strict`;
    expectStatus(
      await post(server, ASK, { path }),
      options('"strict"', 'fieldValidation', '"", "Ignore", "Strict", "Warn"'),
    );
  });

  const STRICT = badRequest(
    'TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: unknown field "extra"',
  );

  it.each([
    ['the namespace in it', tokenPath(), { metadata: { namespace: 'x' } }],
    ['the namespace of the path', tokenPath('builder', 'gone'), {}],
    ['the name in it', tokenPath(), { metadata: { name: 'x' } }],
    ['the account', tokenPath('nobody'), {}],
    ['its spec', tokenPath(), { spec: { audiences: [], expirationSeconds: 1 } }],
  ])('T-12f: strict decoding comes before %s', async (_, path, body) => {
    const answer = await post(server, { ...ASK, ...body, extra: 1 }, { path: `${path}?fieldValidation=Strict` });
    expectStatus(answer, STRICT);
  });

  it('T-12f: a value of the wrong type comes before an unknown field', async () => {
    const body = '{"extra":1,"spec":{"audiences":[],"expirationSeconds":"x"}}';
    expectStatus(
      await post(server, body, { path: `${tokenPath()}?fieldValidation=Strict` }),
      badRequest(
        'TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64',
      ),
    );
  });
});
