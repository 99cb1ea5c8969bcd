import { afterAll, beforeAll, expect, it, test } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { grant, group, may, RBAC, REGISTRY_GROUP } from './support/rbac.ts';
import { inCluster, MAY, review } from './support/reviews.ts';
import { type Server, startServer } from './support/server.ts';
import { asUser, create, createWorld, remove } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: ['devs', 'ops'], nobody: [] } });
  await createWorld(server);
});
afterAll(() => server.destroy());

const jane = asUser('jane').token;
const nobody = asUser('nobody').token;
const mayI = (attributes: object, { path = MAY, token = jane } = {}) =>
  review(server, path, { spec: { resourceAttributes: attributes } }, token);

const CREATE_TOKEN = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'ci' };

it('says no without a reason when there is none', async () => {
  const { json, code } = await server.call('POST', MAY, {
    body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    token: nobody,
  });
  expect(code).toBe(201);
  expect(json).toEqual({
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
    status: { allowed: false },
  });
});

it('names the binding, the role and the subject that allow it', async () => {
  const takeBack = await grant(server, { to: group('devs'), rules: [may('create', 'serviceaccounts/token')] });
  const status = await mayI({ ...CREATE_TOKEN, name: 'builder' });
  expect(status.allowed).toBe(true);
  expect(status.reason).toMatch(
    /^RBAC: allowed by ClusterRoleBinding "(granted-\d+)" of ClusterRole "\1" to Group "devs"$/,
  );
  expect((await mayI(CREATE_TOKEN, { token: nobody })).allowed).toBe(false);
  await takeBack();
  expect(await mayI(CREATE_TOKEN)).toEqual({ allowed: false });
});

it('a RoleBinding counts in its namespace', async () => {
  const takeBack = await grant(server, { to: 'jane', rules: [may('get', 'pods')], namespace: 'ci' });
  const status = await mayI({ verb: 'get', resource: 'pods', namespace: 'ci' });
  expect(status.reason).toMatch(
    /^RBAC: allowed by RoleBinding "(granted-\d+)\/ci" of ClusterRole "\1" to User "jane"$/,
  );
  expect(await mayI({ verb: 'get', resource: 'pods', namespace: 'shop' })).toEqual({ allowed: false });
  expect(await mayI({ verb: 'get', resource: 'pods' })).toEqual({ allowed: false });
  await takeBack();
});

it('metadata that says nothing is none', async () => {
  const body = { metadata: { generation: 0, labels: {}, name: '' }, spec: { resourceAttributes: { verb: 'get' } } };
  expect(await review(server, MAY, body, nobody)).toEqual({ allowed: false });
});

it('is about the cluster below whose path it is asked', async () => {
  const takeBack = await grant(server, {
    to: 'jane',
    rules: [may('create', 'serviceaccounts/token')],
    clusters: 'env=prod',
  });
  const at = async (path: string) => (await mayI(CREATE_TOKEN, { path })).allowed;
  expect(await at(inCluster(MAY, 'alpha'))).toBe(true);
  expect(await at(inCluster(MAY, 'beta'))).toBe(false);
  expect(await at(inCluster(MAY, 'no-such-cluster'))).toBe(false);
  expect(await at(MAY)).toBe(false);
  await takeBack();
});

it('at the fleet it can be about an entry of the registry', async () => {
  const takeBack = await grant(server, {
    to: 'jane',
    rules: [may('get', 'clusters', REGISTRY_GROUP)],
    clusters: 'env=prod',
  });
  const about = (name: string) => mayI({ verb: 'get', group: REGISTRY_GROUP, resource: 'clusters', name });
  expect((await about('alpha')).allowed).toBe(true);
  expect((await about('beta')).allowed).toBe(false);
  expect((await about('no-such-cluster')).allowed).toBe(false);
  expect((await about('')).allowed).toBe(false);
  await takeBack();
});

it('decision 9: a list of clusters is refused to nobody', async () => {
  const list = { verb: 'list', group: REGISTRY_GROUP, resource: 'clusters' };
  const reason = 'everyone may list clusters, and is shown those that they may see';
  expect(await mayI(list, { token: nobody })).toEqual({ allowed: true, reason });
  expect(await mayI({ ...list, verb: 'watch' }, { token: nobody })).toEqual({ allowed: true, reason });
  expect((await server.call('GET', '/auth/v1/clusters', { token: nobody })).code).toBe(200);
  expect(await mayI({ ...list, name: 'alpha' }, { token: nobody })).toEqual({ allowed: false });
  expect(await mayI({ ...list, subresource: 'status' }, { token: nobody })).toEqual({ allowed: false });
});

it('is true to what then happens', async () => {
  const takeBack = await grant(server, {
    to: 'jane',
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
        token: jane,
        ...(method === 'POST' ? { body: { spec: { audiences: [] } } } : {}),
      });
      expect(code !== 403, `${cluster} ${path}`).toBe(allowed);
    }
  }
  await takeBack();
});

it('answers for paths', async () => {
  const path = (nonResourceAttributes: object, at = MAY) =>
    review(server, at, { spec: { nonResourceAttributes } }, jane);
  for (const at of [MAY, inCluster(MAY)]) {
    expect(await path({ verb: 'get', path: '/apis' }, at)).toEqual({
      allowed: true,
      reason:
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    });
    expect(await path({ verb: 'get', path: '/metrics' }, at)).toEqual({ allowed: false });
  }
});

it('says what is wrong with the rules', async () => {
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'dangling' },
    subjects: [group('ops')],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'lost' },
  });
  const reason = 'RBAC: clusterrole.rbac.authorization.k8s.io "lost" not found';
  expect(await mayI({ verb: 'get', resource: 'pods' })).toEqual({ allowed: false, reason });
  await remove(server, `${RBAC}/clusterrolebindings/dangling`);
});

const invalid = (field: string, reason: string, text: string) => ({
  code: 422,
  reason: 'Invalid',
  message: `SelfSubjectAccessReview.authorization.k8s.io "" is invalid: ${field}: ${text}`,
  details: {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectAccessReview',
    causes: [{ reason, message: text, field }],
  },
});

test.each([
  [
    {},
    'spec.resourceAttributes',
    'FieldValueInvalid',
    'Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
  ],
  [
    { spec: { resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/x' } } },
    'spec.nonResourceAttributes',
    'FieldValueInvalid',
    'Invalid value: {"path":"/x"}: cannot be specified in combination with resourceAttributes',
  ],
  [
    {
      metadata: { name: 'x', generation: 0, labels: {}, uid: '', managedFields: [{}] },
      spec: { resourceAttributes: {} },
    },
    'metadata',
    'FieldValueInvalid',
    'Invalid value: {"name":"x"}: must be empty',
  ],
  [
    { spec: { resourceAttributes: { fieldSelector: { rawSelector: 'a=b', requirements: [{ key: 'a' }] } } } },
    'spec.resourceAttributes.fieldSelector.rawSelector',
    'FieldValueInvalid',
    'Invalid value: "a=b": may not specified at the same time as requirements',
  ],
  [
    { spec: { resourceAttributes: { labelSelector: {} } } },
    'spec.resourceAttributes.labelSelector.requirements',
    'FieldValueRequired',
    'Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required',
  ],
])('refuses %j', async (body, field, reason, text) => {
  expectStatus(await server.call('POST', MAY, { body, token: jane }), invalid(field, reason, text));
});
