import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import {
  ASK,
  createAccount,
  createCluster,
  createNamespace,
  createObjects,
  post,
  tokenPath,
} from './support/objects.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** TokenRequest: query parameters, annotations, warnings, and differences to kube-apiserver. */

const server = sharedServer();
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  uids = await createObjects(server);
});

describe('query parameters and unknown fields', () => {
  /** Query parameters of the token request, unknown fields, and the warnings for them. */

  const ask = (query: string, body: unknown = ASK, headers: Record<string, string> = {}): Promise<Answer> =>
    post(server, body, { path: `${tokenPath()}?${query}`, headers });

  it('W-06: warnings: decoding first, then the clamp', async () => {
    const { warnings } = await ask('', { spec: { audiences: [], expirationSeconds: 99999 }, x: 1 });
    expect(warnings).toEqual(['unknown field "x"', 'requested expiration of 99999 seconds shortened to 86400 seconds']);
  });
});

describe('the contract of kube-apiserver', () => {
  /** Facts about the whole token operation: its path, its response, and what it leaves out. */

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

    it('T-02: exists in every cluster as soon as the cluster is created: each has an issuer', async () => {
      await createCluster(server, 'gamma');
      await createNamespace(server, 'ci', 'gamma');
      await createAccount(server, 'builder', 'ci', 'gamma');
      const { code, json } = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gamma') });
      expect(code).toBe(201);
      expect(decodeJwt(json.status.token).iss).toBe(`${server.url}/orchestrator/gamma`);
    });

    it('W-07: nothing is deprecated, so there is no such warning', async () => {
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

  describe('what kube-apiserver adds and Clusterpass does not', () => {
    it('T-08, decision 7: managedFields, for every value of fieldManager', async () => {
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
  });

  describe('T-12: the order of the checks around the parsing of the body', () => {
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

    it('T-12e: options come before the content of the body', async () => {
      for (const body of ['', '{', '[]', '{"apiVersion":"v1","kind":"Pod"}', UNKNOWN]) {
        expectStatus(
          await post(server, body, { path: `${tokenPath()}?dryRun=x` }),
          options('["x"]', 'dryRun', '"All"'),
        );
      }
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
  });
});

describe('values that a caller can know before a request, and require', () => {
  /** What a caller can know about a token before the request, and require in it. */

  const FOR = 'clusterpass.dev/for';

  let published: Record<string, string>;

  beforeAll(async () => {
    const query = '?fieldSelector=metadata.name%3Dalpha';
    const [alpha] = (await server.call('GET', `/auth/v1/clusters${query}`)).json.items;
    published = alpha.metadata.annotations;
  });

  const ask = (annotations: Record<string, string>, spec: object = {}, path = tokenPath()) =>
    post(server, { metadata: { annotations }, spec: { audiences: [], ...spec } }, { path });

  it('the published values of a cluster: are those of its tokens: the issuer, the audience and the longest lifetime', async () => {
    const { json, warnings } = await ask({}, { expirationSeconds: 100_000 });
    const claims = decodeJwt(json.status.token);
    expect(claims.iss).toBe(published['clusterpass.dev/issuer']);
    expect(claims.aud).toEqual([published['clusterpass.dev/audience']]);
    const longest = Number(published['clusterpass.dev/max-expiration-seconds']);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(longest);
    expect(warnings).toEqual([`requested expiration of 100000 seconds shortened to ${longest} seconds`]);
  });

  describe('a token for the cluster', () => {
    const api = (): string => `${server.url}/orchestrator/alpha`;
    const warning = () =>
      `this token will not open the API of cluster "alpha": its audiences do not include "${api()}"`;

    it('comes with a warning when the cluster will not accept it', async () => {
      const answer = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] });
      expect([answer.code, answer.warnings]).toEqual([201, [warning()]]);
      const dry = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] }, `${tokenPath()}?dryRun=All`);
      expect(dry.warnings).toEqual([warning()]);
    });
  });
});
