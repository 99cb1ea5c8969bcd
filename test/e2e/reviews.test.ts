import { AuthenticationV1Api, AuthorizationV1Api, KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus, expectUnauthorized } from './support/expect-status.ts';
import { grant, may } from './support/rbac.ts';
import { inCluster, MAY, RULES, review, WHO } from './support/reviews.ts';
import { type Answer, type Server, startServer, TLS } from './support/server.ts';
import { asUser, createWorld, issue } from './support/token-world.ts';

let server: Server;
let builder: string;

beforeAll(async () => {
  server = await startServer({ users: { jane: ['devs', 'ops'], nobody: [] }, tls: true });
  await createWorld(server);
  builder = await issue(server);
});
afterAll(() => server.destroy());

const ask = (path: string, body: unknown, token: string): Promise<Answer> => server.call('POST', path, { body, token });
const jane = asUser('jane').token;
const nobody = asUser('nobody').token;

const rules = (namespace: string, { path = RULES, token = jane } = {}) =>
  review(server, path, { spec: { namespace } }, token);

describe('SelfSubjectReview', () => {
  it('tells who the caller is', async () => {
    const { json, code } = await ask(WHO, {}, jane);
    expect(code).toBe(201);
    expect(json).toEqual({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
      status: { userInfo: { username: 'jane', uid: 'uid-jane', groups: ['devs', 'ops', 'system:authenticated'] } },
    });
    expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'metadata', 'status']);
  });

  it('tells it as of the place asked: a service account is local only at home', async () => {
    const nameAt = async (path: string) => (await review(server, path, {}, builder)).userInfo;
    expect(await nameAt(inCluster(WHO))).toMatchObject({
      username: 'system:serviceaccount:ci:builder',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
    });
    for (const path of [WHO, inCluster(WHO, 'beta'), inCluster(WHO, 'no-such-cluster')]) {
      expect(await nameAt(path), path).toMatchObject({
        username: 'system:cluster:alpha:serviceaccount:ci:builder',
        groups: ['system:cluster:alpha:serviceaccounts', 'system:authenticated'],
      });
    }
  });

  it('a status that is sent along is not believed', async () => {
    const body = { status: { userInfo: { username: 'root', groups: ['system:masters'], extra: { a: ['b'] } } } };
    expect((await review(server, WHO, body, jane)).userInfo.username).toBe('jane');
  });
});

describe('SelfSubjectRulesReview', () => {
  const BASIC = [
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectrulesreviews'] },
  ];

  it('lists what everyone may do', async () => {
    const { json } = await ask(RULES, { spec: { namespace: 'ci' } }, nobody);
    expect(json).toEqual({
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {},
      status: {
        resourceRules: BASIC,
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: expect.arrayContaining(['/api', '/openapi/*']) }],
        incomplete: false,
      },
    });
  });

  it('in a cluster, what holds there; at the fleet it says that there is more', async () => {
    const takeBack = await grant(server, { to: 'jane', rules: [may('get', 'pods', '', ['a'])], clusters: 'env=prod' });
    const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] };
    expect(await rules('ci', { path: inCluster(RULES, 'alpha') })).toMatchObject({
      resourceRules: expect.arrayContaining([...BASIC, rule]),
      incomplete: false,
    });
    expect((await rules('ci', { path: inCluster(RULES, 'beta') })).resourceRules).toEqual(BASIC);
    expect(await rules('ci')).toMatchObject({
      resourceRules: BASIC,
      incomplete: true,
      evaluationError: 'rules that hold in some clusters only are not listed here, but below the path of each cluster',
    });
    await takeBack();
  });

  it('refuses a question about no namespace', async () => {
    for (const body of [{}, { spec: {} }, { spec: { namespace: '' } }]) {
      expectStatus(await ask(RULES, body, jane), badRequest('no namespace on request'));
    }
  });
});

describe('all of them', () => {
  it('are for callers who are known', async () => {
    for (const path of [WHO, MAY, RULES, inCluster(WHO)]) {
      expectUnauthorized(await server.call('POST', path, { body: {}, token: null }));
    }
  });

  it('can be created, and nothing else', async () => {
    const admin = { body: {} };
    for (const path of [WHO, MAY, RULES, inCluster(MAY)]) {
      for (const method of ['GET', 'DELETE']) expect((await server.call(method, path)).code, method).toBe(405);
      for (const below of ['/x', '/x/status', '//status'])
        expect((await server.call('POST', path + below, admin)).code).toBe(404);
      const namespaced = path.replace('/v1/', '/v1/namespaces/ci/');
      expect((await server.call('POST', namespaced, admin)).code, namespaced).toBe(404);
    }
    expect((await server.call('POST', '/apis/authentication.k8s.io/v1beta1/selfsubjectreviews', admin)).code).toBe(404);
  });

  it('know the options of a create', async () => {
    const body = { spec: { namespace: 'ci' }, x: 1 };
    expect((await ask(RULES, body, jane)).warnings).toEqual(['unknown field "x"']);
    expect((await ask(`${RULES}?dryRun=All&fieldValidation=Ignore`, body, jane)).warnings).toEqual([]);
    expectStatus(
      await ask(`${RULES}?fieldValidation=Strict`, body, jane),
      badRequest(
        'SelfSubjectRulesReview in version "v1" cannot be handled as a SelfSubjectRulesReview: strict decoding error: unknown field "x"',
      ),
    );
    expect((await ask(`${RULES}?dryRun=some`, body, jane)).code).toBe(422);
    expectStatus(
      await ask(MAY, { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' }, jane),
      badRequest(
        'SelfSubjectReview in version "v1" cannot be handled as a SelfSubjectAccessReview: no kind "SelfSubjectReview" is registered for version "authentication.k8s.io/v1"',
      ),
    );
  });

  it('come as YAML too', async () => {
    const headers = { Accept: 'application/yaml', 'Content-Type': 'application/yaml' };
    const { text } = await server.call('POST', WHO, { body: '{}', headers, token: jane });
    expect(text).toContain('  userInfo:\n');
  });
});

it('the official client asks them', async () => {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'a', server: `${server.url}/orchestrator/alpha`, caFile: TLS.caFile }],
    users: [{ name: 'b', token: builder }],
    contexts: [{ name: 'c', cluster: 'a', user: 'b' }],
    currentContext: 'c',
  });
  const self = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  expect(self.status?.userInfo?.username).toBe('system:serviceaccount:ci:builder');
  const authorization = config.makeApiClient(AuthorizationV1Api);
  const access = await authorization.createSelfSubjectAccessReview({
    body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
  });
  expect(access.status?.allowed).toBe(false);
  const listed = await authorization.createSelfSubjectRulesReview({ body: { spec: { namespace: 'ci' } } });
  expect(listed.status?.incomplete).toBe(false);
});
