import { beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import { asUser, createObjects, issue } from './support/objects.ts';
import { grant, may, REGISTRY_GROUP } from './support/rbac.ts';
import { inCluster, MAY, RULES, review, WHO } from './support/reviews.ts';
import type { Answer } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/**
 * Reviews of the caller: who it is, and what it may do. With the API and the official client; impersonation.test.ts has
 * kubectl.
 */

const server = sharedTlsServer();
let builder: string;

beforeAll(async () => {
  await createObjects(server);
  builder = await issue(server);
});

describe('SelfSubjectReview and SelfSubjectRulesReview', () => {
  const ask = (path: string, body: unknown, token: string): Promise<Answer> =>
    server.call('POST', path, { body, token });
  const jill = asUser('jill').token;
  const nobody = asUser('nobody').token;

  const rules = (namespace: string, { path = RULES, token = jill } = {}) =>
    review(server, path, { spec: { namespace } }, token);

  describe('SelfSubjectReview', () => {
    it('depends on the cluster of the path: a service account has its local name in its own cluster only', async () => {
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
  });

  describe('SelfSubjectRulesReview', () => {
    const BASIC = [
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectrulesreviews'] },
    ];

    it('lists what every caller may do', async () => {
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

    it('lists the rules for a cluster; at the fleet it says that it is incomplete', async () => {
      const takeBack = await grant(server, {
        to: 'jill',
        rules: [may('get', 'pods', '', ['a'])],
        clusters: 'env=prod',
      });
      const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] };
      expect(await rules('ci', { path: inCluster(RULES, 'alpha') })).toMatchObject({
        resourceRules: expect.arrayContaining([...BASIC, rule]),
        incomplete: false,
      });
      expect((await rules('ci', { path: inCluster(RULES, 'beta') })).resourceRules).toEqual(BASIC);
      expect(await rules('ci')).toMatchObject({
        resourceRules: BASIC,
        incomplete: true,
        evaluationError:
          'rules that hold in some clusters only are not listed here, but below the path of each cluster',
      });
      await takeBack();
    });

    it('refuses a question about no namespace', async () => {
      for (const body of [{}, { spec: {} }, { spec: { namespace: '' } }]) {
        expectStatus(await ask(RULES, body, jill), badRequest('no namespace on request'));
      }
    });
  });
});

describe('SelfSubjectAccessReview', () => {
  const jill = asUser('jill').token;
  const nobody = asUser('nobody').token;
  const mayI = (attributes: object, { path = MAY, token = jill } = {}) =>
    review(server, path, { spec: { resourceAttributes: attributes } }, token);

  const CREATE_TOKEN = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'ci' };

  it('below the path of a cluster it is about no other cluster, as such a request is 404', async () => {
    const takeBack = await grant(server, {
      to: 'jill',
      rules: [may('get', 'clusters', REGISTRY_GROUP)],
      clusters: 'env=prod',
    });
    const get = { verb: 'get', group: REGISTRY_GROUP, resource: 'clusters' };
    const no = {
      allowed: false,
      reason: 'clusters are objects of the fleet: ask at the address of the fleet, without --cluster',
    };
    const path = inCluster(MAY, 'alpha');
    expect((await mayI({ ...get, name: 'alpha' }, { path })).allowed).toBe(true);
    expect(await mayI({ ...get, name: 'beta' }, { path })).toEqual(no);
    expect(await mayI({ ...get, name: 'beta', subresource: 'status' }, { path, token: server.adminToken })).toEqual(no);
    expect(await mayI({ ...get, name: 'beta' }, { path, token: server.adminToken })).toEqual(no);
    const profile = { verb: 'get', group: 'multicluster.x-k8s.io', resource: 'clusterprofiles', name: 'beta' };
    expect(await mayI(profile, { path, token: server.adminToken })).toEqual(no);
    const request = `/orchestrator/alpha/apis/${REGISTRY_GROUP}/v1alpha1/clusters/beta`;
    expect((await server.call('GET', request)).code).toBe(404);
    await takeBack();
  });

  it('decision 9: a list of clusters is refused to no caller', async () => {
    const list = { verb: 'list', group: REGISTRY_GROUP, resource: 'clusters' };
    const reason = 'everyone may list clusters, and is shown those that they may see';
    expect(await mayI(list, { token: nobody })).toEqual({ allowed: true, reason });
    expect(await mayI({ ...list, verb: 'watch' }, { token: nobody })).toEqual({ allowed: true, reason });
    expect((await server.call('GET', '/auth/v1/clusters', { token: nobody })).code).toBe(200);
    expect(await mayI({ ...list, name: 'alpha' }, { token: nobody })).toEqual({ allowed: false });
    expect(await mayI({ ...list, subresource: 'status' }, { token: nobody })).toEqual({ allowed: false });
  });

  it('agrees with the decision for the request itself', async () => {
    const takeBack = await grant(server, {
      to: 'jill',
      rules: [may('create', 'serviceaccounts/token', '', ['builder']), may('get', 'pods', '', ['web-0'])],
      clusters: 'kubernetes.io/metadata.name=alpha',
    });
    const asked = [
      ['POST', 'serviceaccounts/builder/token', { ...CREATE_TOKEN, name: 'builder' }],
      ['POST', 'serviceaccounts/other/token', { ...CREATE_TOKEN, name: 'other' }],
      ['GET', 'pods/web-0', { verb: 'get', resource: 'pods', namespace: 'ci', name: 'web-0' }],
      ['GET', 'pods/job-0', { verb: 'get', resource: 'pods', namespace: 'ci', name: 'job-0' }],
    ] as const;
    for (const cluster of ['alpha', 'beta']) {
      for (const [method, path, attributes] of asked) {
        const { allowed } = await mayI(attributes, { path: inCluster(MAY, cluster) });
        const { code } = await server.call(method, `/orchestrator/${cluster}/api/v1/namespaces/ci/${path}`, {
          token: jill,
          ...(method === 'POST' ? { body: { spec: { audiences: [] } } } : {}),
        });
        expect(code !== 403, `${cluster} ${path}`).toBe(allowed);
      }
    }
    for (const [path, isAllowed] of [
      ['/apis', true],
      ['/metrics', false],
    ] as const) {
      const { allowed } = await review(server, MAY, { spec: { nonResourceAttributes: { verb: 'get', path } } }, jill);
      const { code } = await server.call('GET', path, { token: jill });
      expect([path, allowed, code !== 403]).toEqual([path, isAllowed, isAllowed]);
    }
    await takeBack();
  });
});
