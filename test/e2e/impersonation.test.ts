import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { auditLogOf, eventsOf } from './support/audit.ts';
import { describeWithKubectl, kubectl } from './support/kubectl.ts';
import { ASK, asUser, createObjects, post } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { grant, group, may, REGISTRY_GROUP, user } from './support/rbac.ts';
import { inCluster, review } from './support/reviews.ts';
import { MOST_TRACKED, sharedTlsServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

/**
 * Impersonation in a fleet: where it holds, what is recorded, and kubectl. The recorded answers are replayed elsewhere.
 */

const server = sharedTlsServer();
let log: string;

const asCarol = { 'Impersonate-User': 'carol' };
const impersonate = (name: string) => may('impersonate', 'users', '', [name]);
const tokens = may('create', 'serviceaccounts/token');

beforeAll(async () => {
  log = auditLogOf(server);
  await createObjects(server);
  await grant(server, { to: 'alice', rules: [impersonate('carol')], clusters: 'env=prod' });
  await grant(server, {
    to: 'carol',
    rules: [tokens, may('list', 'namespaces'), may('get', 'clusters', REGISTRY_GROUP)],
  });
});

describe('where an impersonation holds', () => {
  it('only in clusters where it is allowed', async () => {
    const alice = { ...asUser('alice'), headers: asCarol };
    expect((await server.call('GET', inCluster('/api/v1/namespaces'), alice)).code).toBe(200);
    for (const path of [inCluster('/api/v1/namespaces', 'beta'), CLUSTERS, inCluster('/api/v1/namespaces', 'gone')]) {
      const { code, json } = await server.call('GET', path, alice);
      expect([code, json.message], path).toEqual([
        403,
        'users "carol" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
      ]);
    }
    // A Cluster object belongs to the cluster that it describes.
    expect((await server.call('GET', `${CLUSTERS}/alpha`, alice)).code).toBe(200);
    expect((await server.call('GET', `${CLUSTERS}/beta`, alice)).code).toBe(403);
  });

  it('a token for the audience of another cluster needs the permission there', async () => {
    const beta = `${server.url}/orchestrator/beta`;
    const body = { spec: { audiences: [beta] } };
    expect((await post(server, body, asUser('carol'))).code).toBe(201);
    const { code, json } = await post(server, body, { ...asUser('alice'), headers: asCarol });
    expect([code, json.message]).toEqual([422, expect.stringContaining('is the audience of cluster "beta"')]);
  });

  it('grants are checked against the impersonated user', async () => {
    const undo = await grant(server, {
      to: 'carol',
      rules: [may('create', 'clusterroles', 'rbac.authorization.k8s.io')],
    });
    onTestFinished(undo);
    const body = { metadata: { name: 'more' }, rules: [may('delete', 'secrets')] };
    const { code, json } = await server.call('POST', `${RBAC}/clusterroles`, { body, headers: asCarol });
    expect([code, json.message]).toEqual([
      403,
      expect.stringContaining('user "carol" (groups=["system:authenticated"]) is attempting to grant RBAC permissions'),
    ]);
  });

  it('a watch ends when the permission to impersonate is withdrawn', async () => {
    const undo = await grant(server, { to: 'nobody', rules: [impersonate('carol')] });
    await grant(server, { to: 'carol', rules: [may('watch', 'namespaces')] });
    const path = inCluster('/api/v1/namespaces?watch=true&resourceVersion=0');
    const watch = await Watch.open(server, path, asUser('nobody').token, asCarol);
    onTestFinished(() => watch.close());
    expect((await watch.next())?.type).toBe('ADDED');
    await undo();
    const events = await watch.until(({ type }) => type === 'ERROR');
    expect(events.at(-1)?.object).toMatchObject({ code: 401 });
  });
});

describe('what is recorded', () => {
  it('a token: both users', async () => {
    const answer = await post(server, ASK, { ...asUser('alice'), headers: asCarol });
    expect(answer.code, answer.text).toBe(201);
    const [event] = await eventsOf(log, answer.headers.get('audit-id'));
    expect(event).toMatchObject({
      user: { username: 'alice', uid: 'uid-alice', groups: ['system:authenticated'] },
      impersonatedUser: { username: 'carol', groups: ['system:authenticated'] },
      annotations: { 'authorization.k8s.io/decision': 'allow' },
    });
    expect(event.annotations['authorization.k8s.io/reason']).toMatch(/ to User "carol"$/);
    expect(Object.keys(event).slice(7, 9)).toEqual(['user', 'impersonatedUser']);
  });

  it('a refused impersonation: the caller alone', async () => {
    const headers = { 'Impersonate-User': 'dave' };
    const answer = await server.call('GET', CLUSTERS, { ...asUser('alice'), headers });
    const [event] = await eventsOf(log, answer.headers.get('audit-id'));
    expect([event.user.username, event.impersonatedUser, event.responseStatus.code]).toEqual(['alice', undefined, 403]);
    expect(event.annotations['authorization.k8s.io/decision']).toBe('forbid');
  });

  it('tracked passes count for the impersonator', async () => {
    const body = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
    const undo = await grant(server, { to: 'alice', rules: [impersonate('carol'), impersonate('nobody'), tokens] });
    onTestFinished(undo);
    const asks = (name: string) => post(server, body, { ...asUser('alice'), headers: { 'Impersonate-User': name } });
    for (let issued = 0; issued < MOST_TRACKED; issued++) expect((await asks('carol')).code).toBe(201);
    const { code, json } = await asks('carol');
    expect([code, json.message]).toEqual([429, expect.stringContaining('User "alice" has 40 tracked passes,')]);
    expect((await post(server, body, asUser('carol'))).code).toBe(201);
  });
});

describe('reviews about others', () => {
  const SAR = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const asked = { user: 'alice', resourceAttributes: { verb: 'impersonate', resource: 'users', name: 'carol' } };

  it('can be permitted in some clusters, and in some namespaces', async () => {
    const auth = 'authorization.k8s.io';
    onTestFinished(
      await grant(server, { to: 'nobody', rules: [may('create', 'subjectaccessreviews', auth)], clusters: 'env=dev' }),
    );
    onTestFinished(
      await grant(server, { to: 'nobody', rules: [may('create', 'localsubjectaccessreviews', auth)], namespace: 'ci' }),
    );
    const ask = async (path: string, spec: object = asked) =>
      (await server.call('POST', path, { body: { spec }, ...asUser('nobody') })).code;
    expect([await ask(inCluster(SAR, 'beta')), await ask(inCluster(SAR)), await ask(SAR)]).toEqual([201, 403, 403]);
    const local = (namespace: string) => `/apis/${auth}/v1/namespaces/${namespace}/localsubjectaccessreviews`;
    const inCi = { ...asked, resourceAttributes: { ...asked.resourceAttributes, namespace: 'ci' } };
    expect([await ask(local('ci'), inCi), await ask(inCluster(local('ci')), inCi), await ask(local('shop'))]).toEqual([
      201, 201, 403,
    ]);
  });

  it('name a service account as the binding does', async () => {
    onTestFinished(
      await grant(server, {
        to: { kind: 'ServiceAccount', namespace: 'ci', name: 'other' },
        rules: [may('get', 'pods')],
      }),
    );
    onTestFinished(await grant(server, { to: group('readers'), rules: [may('list', 'pods')] }));
    onTestFinished(await grant(server, { to: user('eve'), rules: [may('watch', 'pods')] }));
    const reason = async (spec: object) =>
      (await review(server, inCluster(SAR), { spec }, server.adminToken)).reason.replace(/.* to /, '');
    const pods = (verb: string) => ({ resourceAttributes: { verb, resource: 'pods' } });
    expect(await reason({ user: 'system:serviceaccount:ci:other', ...pods('get') })).toBe('ServiceAccount "other/ci"');
    expect(await reason({ groups: ['readers'], ...pods('list') })).toBe('Group "readers"');
    expect(await reason({ user: 'eve', ...pods('watch') })).toBe('User "eve"');
  });
});

describeWithKubectl('kubectl --as', () => {
  const alpha = { clusterPath: '/orchestrator/alpha' };

  it('auth can-i, at the fleet and in a cluster', async () => {
    const canI = async (args: string[], options = {}) =>
      (await kubectl(server, ['auth', 'can-i', ...args], options)).stdout.trim();
    const token = ['create', 'serviceaccounts/builder', '--subresource=token', '-n', 'ci'];
    expect(await canI([...token, '--as', 'carol'], alpha)).toBe('yes');
    expect(await canI([...token, '--as', 'dave'], alpha)).toBe('no');
    expect(await canI(['get', 'clusters.clusterregistry.k8s.io', '--as', 'carol'])).toBe('yes');
    expect(await canI(['list', 'namespaces', '--as', 'carol'], { ...alpha, ...asUser('alice') })).toBe('yes');
  });
});
