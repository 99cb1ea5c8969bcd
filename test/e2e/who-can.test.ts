import { beforeAll, describe, expect, it } from 'vitest';
import { cluster, json, status } from '../../src/client/script-server.fixture.ts';
import { applyYaml } from './support/apply.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { asUser, create, createCluster, createObjects, remove } from './support/objects.ts';
import { CLUSTERS, RBAC, RBAC_GROUP } from './support/paths.ts';
import { grant, group, may, REGISTRY_GROUP } from './support/rbac.ts';
import { inCluster, review } from './support/reviews.ts';
import { personAt } from './support/scripted.ts';
import { sharedServer } from './support/shared-server.ts';

/** Who can do something, what a user reaches, and why: the API and the commands. */

const WHO_CAN = '/apis/clusterpass.dev/v1alpha1/resourceaccessreviews';
const REACH = '/apis/clusterpass.dev/v1alpha1/subjectreachreviews';
const tokens = may('create', 'serviceaccounts/token');
const builder = may('create', 'serviceaccounts/token', '', ['builder']);
const see = may('get', 'clusters', REGISTRY_GROUP);
const asItself = may('create', 'clusters/userpass', REGISTRY_GROUP);
const ask = (resource: string) => may('create', resource, 'clusterpass.dev');

const server = sharedServer();
let admin: Person;
let owner: Person;

beforeAll(async () => {
  await createObjects(server);
  await grant(server, { to: 'carl', rules: [see, tokens, asItself], clusters: 'env=prod' });
  const devs = { name: 'devs-build', to: [group('devs')], role: 'devs-build', clusters: 'env=dev' };
  await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'devs-build' }, rules: [builder] });
  await create(server, FLEET_BINDINGS, fleetBinding({ ...devs, fields: { namespaces: ['ci'] } }));
  await grant(server, { to: { kind: 'ServiceAccount', namespace: 'ci', name: 'other' }, rules: [builder] });
  // Reads one binding, and sees one cluster.
  const read = [may('get', 'fleetrolebindings', 'clusterpass.dev', ['devs-build'])];
  await grant(server, { to: 'owner', rules: read });
  await grant(server, {
    to: 'owner',
    rules: [ask('resourceaccessreviews'), ask('subjectreachreviews')],
  });
  await grant(server, { to: 'owner', rules: [see, may('get', 'serviceaccounts')], clusters: 'env=dev' });
  [admin, owner] = await Promise.all([Person.as(server), Person.as(server, 'owner')]);
});

const account = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'ci', name: 'builder' };
const whoCan = async (path: string, resourceAttributes: object, token = server.adminToken) =>
  review(server, path, { spec: { resourceAttributes } }, token);
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
const names = ({ subjects }: any): string[] =>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  subjects.map(({ kind, name }: any) => `${kind}:${name}`);

const HIDDEN = 'bindings that you may not read are left out';

const squeeze = (text: string): string => text.replaceAll(' ', '');

describe('ClusterGrantReview', () => {
  const GRANTS = '/apis/clusterpass.dev/v1alpha1/clustergrantreviews';
  type Listed = { grants: { subjects: { kind: string; name: string }[]; change?: string }[] };
  const grantsIn = async (cluster: string, spec: object, token = server.adminToken): Promise<string[]> => {
    const { grants } = (await review(server, inCluster(GRANTS, cluster), { spec }, token)) as Listed;
    return grants.map(({ subjects, change = '' }) => `${change}${subjects.map(({ name }) => name).join()}`).sort();
  };

  it('lists the bindings that hold in a cluster, and what other labels would change', async () => {
    const now = await grantsIn('beta', {});
    expect(now).toEqual(expect.arrayContaining(['devs', 'owner', 'system:masters']));
    expect(now).not.toContain('carl');
    const next = await grantsIn('beta', { labels: { env: 'prod' } });
    expect(next).toEqual(
      expect.arrayContaining(['Begins carl', 'Ends devs', 'Ends owner', 'system:masters'].map(squeeze)),
    );
    expect(await grantsIn('new', { labels: { env: 'prod' } })).toEqual(
      expect.arrayContaining([squeeze('Begins carl')]),
    );
  });

  it('shows bindings that the caller may read, and needs a permission in the cluster', async () => {
    const spec = { labels: { env: 'prod' } };
    const path = inCluster(GRANTS, 'beta');
    expect((await server.call('POST', path, { body: { spec }, ...asUser('owner') })).code).toBe(403);
    const withdraw = await grant(server, { to: 'owner', rules: [ask('clustergrantreviews')], clusters: 'env=dev' });
    expect(await grantsIn('beta', spec, asUser('owner').token)).toEqual([squeeze('Ends devs')]);
    expect((await server.call('POST', inCluster(GRANTS), { body: { spec }, ...asUser('owner') })).code).toBe(403);
    expect((await server.call('POST', GRANTS, { body: { spec } })).code).toBe(400);
    await withdraw();
  });

  it('A17: of a cluster that the caller may not get, it says what it says of one that does not exist', async () => {
    const { token } = asUser('owner');
    const taken = await Promise.all([
      grant(server, { to: group('ops'), rules: [builder], namespace: 'ci', clusters: 'env=prod' }),
      grant(server, { to: 'owner', rules: [ask('clustergrantreviews')] }),
    ]);
    expect(await grantsIn('alpha', {})).toContain('ops');
    for (const spec of [{}, { labels: { env: 'prod' } }, { labels: { env: 'dev' } }]) {
      expect(await grantsIn('alpha', spec, token)).toEqual(await grantsIn('absent', spec, token));
    }
    for (const take of taken) await take();
  });
});

describe('AuditEventReview', () => {
  const EVENTS = '/apis/clusterpass.dev/v1alpha1/auditeventreviews';
  type Event = { verb: string; resource?: string; user?: string; cluster?: string; code?: number };
  type Listed = { events: Event[]; incomplete: boolean; instance: string; sequence: number };
  const eventsOf = (path: string, spec: object, token = server.adminToken): Promise<Listed> =>
    review(server, path, { spec }, token) as Promise<Listed>;

  it('A9: lists the last events of a user and of a cluster, the newest first, and later ones after a number', async () => {
    const token = asUser('carl').token;
    expect((await server.call('GET', `/apis/${REGISTRY_GROUP}/v1alpha1/clusters/alpha`, { token })).code).toBe(200);
    const first = await eventsOf(EVENTS, { user: 'carl' });
    expect(first.events[0]).toMatchObject({
      verb: 'get',
      resource: 'clusters',
      user: 'carl',
      cluster: 'alpha',
      code: 200,
    });
    expect(first.events.every(({ user }) => user === 'carl')).toBe(true);
    const { instance, sequence: after } = first;
    expect((await eventsOf(EVENTS, { user: 'carl', instance, after })).events).toEqual([]);
    // Of another process the number means nothing.
    expect((await eventsOf(EVENTS, { user: 'carl', instance: 'other', after })).events.length).toBeGreaterThan(0);
    const dryRun = `/apis/${REGISTRY_GROUP}/v1alpha1/clusters/alpha?dryRun=All`;
    expect((await server.call('DELETE', dryRun)).code).toBe(200);
    expect((await eventsOf(EVENTS, { cluster: 'alpha' })).events[0]).toMatchObject({ verb: 'delete', dryRun: true });
    const changes = await eventsOf(EVENTS, { cluster: 'alpha', changesOnly: true, limit: 1 });
    expect(changes.events).toMatchObject([{ verb: 'create', cluster: 'alpha' }]);
    expect(changes.incomplete).toBe(true);
    expect(changes.events.map(({ resource }) => resource)).not.toContain('auditeventreviews');
  });

  it('A9: lists only what was refused or failed', async () => {
    const token = asUser('carl').token;
    const path = (name: string): string => `/apis/${REGISTRY_GROUP}/v1alpha1/clusters/${name}`;
    expect((await server.call('DELETE', path('alpha'), { token })).code).toBe(403);
    expect((await server.call('GET', path('alpha'), { token })).code).toBe(200);
    const { events } = await eventsOf(EVENTS, { user: 'carl', failuresOnly: true });
    expect(events[0]).toMatchObject({ verb: 'delete', resource: 'clusters', cluster: 'alpha', code: 403 });
    expect(events.every(({ code = 0 }) => code >= 400)).toBe(true);
  });

  it('needs a permission, in the fleet or in the cluster of the path, and shows only events of that cluster', async () => {
    const { token } = asUser('owner');
    const path = inCluster(EVENTS, 'beta');
    expect((await server.call('POST', path, { body: { spec: {} }, token })).code).toBe(403);
    const withdraw = await grant(server, { to: 'owner', rules: [ask('auditeventreviews')], clusters: 'env=dev' });
    const { events } = await eventsOf(path, {}, token);
    expect(events.length).toBeGreaterThan(0);
    expect(new Set(events.map(({ cluster }) => cluster))).toEqual(new Set(['beta']));
    expect((await server.call('POST', EVENTS, { body: { spec: { cluster: 'beta' } }, token })).code).toBe(403);
    await withdraw();
  });
});

describe('ResourceAccessReview', () => {
  it('lists subjects with the binding and the role behind each', async () => {
    const status = await whoCan(inCluster(WHO_CAN, 'beta'), account);
    expect(status).toEqual({
      subjects: [
        {
          kind: 'Group',
          name: 'devs',
          binding: { kind: 'FleetRoleBinding', name: 'devs-build' },
          role: { kind: 'ClusterRole', name: 'devs-build' },
        },
        {
          kind: 'Group',
          name: 'system:masters',
          binding: { kind: 'ClusterRoleBinding', name: 'cluster-admin' },
          role: { kind: 'ClusterRole', name: 'cluster-admin' },
        },
        {
          kind: 'ServiceAccount',
          namespace: 'ci',
          name: 'other',
          binding: { kind: 'ClusterRoleBinding', name: expect.stringMatching(/^granted-/) },
          role: { kind: 'ClusterRole', name: expect.stringMatching(/^granted-/) },
        },
      ],
      incomplete: false,
    });
  });

  it('is about the cluster of the path; outside of a cluster there are no local accounts', async () => {
    expect(names(await whoCan(inCluster(WHO_CAN), account))).toEqual(
      expect.arrayContaining(['User:carl', 'ServiceAccount:other']),
    );
    expect(new Set(names(await whoCan(WHO_CAN, account)))).toEqual(new Set(['Group:system:masters']));
    const cluster = { verb: 'get', group: REGISTRY_GROUP, resource: 'clusters', name: 'alpha' };
    expect(names(await whoCan(WHO_CAN, cluster))).toContain('User:carl');
    expect(names(await whoCan(WHO_CAN, { ...cluster, name: 'beta' }))).not.toContain('User:carl');
  });

  it('lists at most 10,000 subjects, and says that there are more', async () => {
    const roleRef = { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'cluster-admin' };
    const subjects = Array.from({ length: 4_000 }, (_, i) => ({ kind: 'User', name: `u${i}` }));
    const bindings = ['many-1', 'many-2', 'many-3'];
    const path = `${RBAC}/clusterrolebindings`;
    for (const name of bindings) await create(server, path, { metadata: { name }, subjects, roleRef });
    const status = await whoCan(WHO_CAN, account);
    expect([status.incomplete, status.evaluationError]).toEqual([true, 'there are more subjects than are listed']);
    expect(status.subjects.length).toBeLessThanOrEqual(10_000);
    for (const name of bindings) await remove(server, `${path}/${name}`);
  });

  it('leaves out bindings that the caller may not read, and says so', async () => {
    const status = await whoCan(inCluster(WHO_CAN, 'beta'), account, asUser('owner').token);
    expect(names(status)).toEqual(['Group:devs', 'Group:system:masters']);
    expect([status.incomplete, status.evaluationError]).toEqual([true, HIDDEN]);
    const body = { spec: { resourceAttributes: account } };
    expect((await server.call('POST', WHO_CAN, { body, ...asUser('nobody') })).code).toBe(403);
  });

  it('A17: of a cluster that the caller may not get, it says what it says of one that does not exist', async () => {
    const builders = { to: group('ops'), rules: [builder], namespace: 'ci' };
    const take = await grant(server, { ...builders, clusters: 'env=prod' });
    expect(names(await whoCan(inCluster(WHO_CAN, 'alpha'), account))).toContain('Group:ops');
    const { token } = asUser('owner');
    const [hidden, absent] = await Promise.all(
      ['alpha', 'absent'].map((cluster) => whoCan(inCluster(WHO_CAN, cluster), account, token)),
    );
    expect(hidden).toEqual(absent);
    expect(hidden.evaluationError).toContain('the labels of a cluster that you may not get do not count');
    const get = { verb: 'get', group: REGISTRY_GROUP, resource: 'clusters' };
    const [byName, byAbsentName] = await Promise.all(
      ['alpha', 'absent'].map((name) => whoCan(WHO_CAN, { ...get, name }, token)),
    );
    expect(byName).toEqual(byAbsentName);
    await take();
  });

  it('without a name, lists those who may for some names, with these names', async () => {
    const { name: _, ...any } = account;
    const status = await whoCan(inCluster(WHO_CAN, 'beta'), any);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    const found = status.subjects.map(({ name, resourceNames }: any) => [name, resourceNames]);
    expect(found).toEqual([
      ['devs', ['builder']],
      ['system:masters', undefined],
      ['other', ['builder']],
    ]);
    const { name: __, ...anyOther } = { ...account, verb: 'delete' };
    expect(names(await whoCan(inCluster(WHO_CAN, 'beta'), anyOther))).toEqual(['Group:system:masters']);
    const table = await admin.ok(
      'auth who-can create serviceaccounts --subresource token -n ci --cluster beta'.split(' '),
    );
    expect(table).toMatch(/^KIND +NAME +BINDING +ROLE +ONLY$/m);
    expect(table).toMatch(/^Group +devs .*ClusterRole\/devs-build +builder$/m);
    expect(table).toMatch(/^Group +system:masters .*ClusterRole\/cluster-admin +<all>$/m);
  });

  it('with reach, lists everyone who reaches the cluster: what, until when and through which binding', async () => {
    const expiresAt = '2999-01-01T00:00:00Z';
    const fields = { expiresAt, maxPassSeconds: 900, agents: 'Allow', approval: { by: 'ApproverAlways' } };
    const taken = await Promise.all([
      grant(server, { to: 'onlooker', rules: [may('list', 'clusters', REGISTRY_GROUP, ['beta'])] }),
      grant(server, { to: 'asker', rules: [tokens], clusters: 'env=dev', fields }),
      grant(server, { to: 'boss', rules: [may('create', 'fleetrolebindings', 'clusterpass.dev')] }),
      grant(server, { to: 'actor', rules: [may('impersonate', 'users', '', ['carl'])], clusters: 'env=dev' }),
    ]);
    const status = await review(server, inCluster(WHO_CAN, 'beta'), { spec: { reach: true } }, server.adminToken);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    const rowsOf = (name: string): any[] => status.subjects.filter((row: any) => row.name === name);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const givenTo = (name: string): unknown[] => rowsOf(name).flatMap(({ gives }: any) => gives);
    expect(givenTo('devs')).toEqual([{ action: 'AccountPasses', namespaces: ['ci'], names: ['builder'] }]);
    expect(givenTo('onlooker')).toEqual([{ action: 'See' }]);
    expect(rowsOf('asker')).toEqual([
      {
        kind: 'User',
        name: 'asker',
        gives: [{ action: 'ReviewedPasses' }],
        binding: { kind: 'FleetRoleBinding', name: expect.stringMatching(/^granted-/) },
        role: { kind: 'ClusterRole', name: expect.stringMatching(/^granted-/) },
        ...{ expiresAt, agents: 'Allow', approval: 'ApproverAlways', maxPassSeconds: 900 },
      },
    ]);
    expect(givenTo('boss')).toEqual([{ action: 'Grant' }]);
    expect(givenTo('actor')).toEqual([{ action: 'ActAsUser', names: ['carl'] }]);
    expect(givenTo('other')).toEqual([{ action: 'AccountPasses', names: ['builder'] }]);
    // They need no binding, so the removal of theirs takes nothing from them.
    expect(rowsOf('system:masters').map(({ binding }) => binding?.name)).toEqual(['cluster-admin', undefined]);
    expect(status.subjects.map(({ name }: { name: string }) => name)).not.toContain('carl');
    for (const name of ['owner', 'system:authenticated']) expect(givenTo(name)).not.toContainEqual({ action: 'Grant' });
    for (const take of taken) await take();
  });

  it('A17: with reach, shows what the caller may read, and of a cluster that it may not get as of none', async () => {
    const { token } = asUser('owner');
    const ofCluster = (cluster: string) =>
      review(server, inCluster(WHO_CAN, cluster), { spec: { reach: true } }, token);
    const beta = await ofCluster('beta');
    expect(names(beta)).toEqual(['Group:devs', 'Group:system:masters']);
    expect(beta.evaluationError).toBe(HIDDEN);
    expect(await ofCluster('alpha')).toEqual(await ofCluster('absent'));
  });
});

describe('SubjectReachReview', () => {
  const reach = (spec: object, { path = REACH, token = server.adminToken } = {}) =>
    review(server, path, { spec }, token);

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  const given = ({ clusters }: any): unknown[] =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    clusters.map(({ name, subjects }: any) => [name, ...subjects.map(({ name: to, gives }: any) => [to, gives])]);

  it('lists what a user reaches in each cluster, through which binding', async () => {
    const { clusters, incomplete } = await reach({ user: 'carl' });
    const reaches = [{ action: 'See' }, { action: 'AccountPasses' }, { action: 'OwnPasses' }];
    expect([given({ clusters }), incomplete]).toEqual([[['alpha', ['carl', reaches]]], false]);
    expect(clusters[0].subjects[0]).toMatchObject({ kind: 'User', binding: { kind: 'FleetRoleBinding' } });
  });

  it('of groups, and of an account in its own cluster', async () => {
    const passes = { action: 'AccountPasses', names: ['builder'] };
    expect(given(await reach({ groups: ['devs'] }))).toEqual([['beta', ['devs', [{ ...passes, namespaces: ['ci'] }]]]]);
    expect(given(await reach({ user: 'system:cluster:alpha:serviceaccount:ci:other' }))).toEqual([
      ['alpha', ['other', [passes]]],
    ]);
  });

  it('shows the clusters and the bindings that the caller may get, and says when others are left out', async () => {
    const token = asUser('owner').token;
    const hidden = { incomplete: true, evaluationError: HIDDEN };
    expect(await reach({ user: 'carl' }, { token })).toEqual({ clusters: [], ...hidden });
    const { clusters } = await reach({ groups: ['devs'] }, { token });
    expect(clusters[0].subjects[0].binding).toEqual({ kind: 'FleetRoleBinding', name: 'devs-build' });
    // A17: nor is the account of the binding named.
    const other = { user: 'system:cluster:beta:serviceaccount:ci:other' };
    expect((await reach(other)).clusters).toHaveLength(1);
    expect(await reach(other, { token })).toEqual({ clusters: [], ...hidden });
  });

  it('A17: a page does not tell that clusters follow which the caller may not get', async () => {
    const token = asUser('owner').token;
    const spec = { groups: ['system:masters'], limit: 1 };
    await createCluster(server, 'hidden', { env: 'prod' });
    const { clusters, ...rest } = await reach(spec, { token });
    const hidden = { incomplete: true, evaluationError: HIDDEN };
    expect([clusters.map(({ name }: { name: string }) => name), rest]).toEqual([['beta'], hidden]);
    expect((await server.call('DELETE', `${CLUSTERS}/hidden`)).code).toBe(200);
  });

  it('has pages, also below the path of a cluster', async () => {
    const first = await reach({ groups: ['system:masters'], limit: 1 });
    expect([first.clusters.length, first.clusters[0].name, first.continue]).toEqual([1, 'alpha', 'alpha']);
    const second = await reach({ groups: ['system:masters'], limit: 1, continue: first.continue });
    expect([second.clusters[0].name, second.continue]).toEqual(['beta', undefined]);
    await createCluster(server, 'gamma', { env: 'test' });
    const both = await reach({ groups: ['system:masters'], limit: 2 });
    expect([both.clusters.map(({ name }: { name: string }) => name), both.continue]).toEqual([
      ['alpha', 'beta'],
      'beta',
    ]);
    expect((await server.call('DELETE', `${CLUSTERS}/gamma`)).code).toBe(200);
    const beta = await reach({ groups: ['system:masters'] }, { path: inCluster(REACH, 'beta') });
    expect(beta.clusters.map(({ name }: { name: string }) => name)).toEqual(['beta']);
    for (const [spec, field] of [
      [{}, 'spec.user'],
      [{ user: 'x', limit: 0 }, 'spec.limit'],
      [{ user: 'x', limit: 1001 }, 'spec.limit'],
    ] as const) {
      const { code, json } = await server.call('POST', REACH, { body: { spec } });
      expect([code, json.details.causes[0].field]).toEqual([422, field]);
    }
  });
});

describe('clusterpass auth who-can', () => {
  it('prints a table', async () => {
    const flags = ['--subresource', 'token', '-n', 'ci', '--cluster', 'beta'];
    const text = await admin.ok(['auth', 'who-can', 'create', 'serviceaccounts/builder', ...flags]);
    expect(await admin.ok(['auth', 'who-can', 'create', 'serviceaccounts', 'builder', ...flags])).toBe(text);
    const lines = text.split('\n');
    expect(lines[0]).toMatch(/^KIND +NAME +BINDING +ROLE$/);
    expect(lines[1]).toMatch(/^Group +devs +FleetRoleBinding\/devs-build +ClusterRole\/devs-build$/);
    expect(lines.join('\n')).toMatch(/^ServiceAccount +ci\/other +ClusterRoleBinding\/granted-\d+ /m);
    expect(lines.join('\n')).toMatch(/^Group +system:masters +ClusterRoleBinding\/cluster-admin /m);
  });

  it('by cluster and by account', async () => {
    const everyone = await admin.ok(['auth', 'who-can', '--cluster', 'alpha']);
    expect(everyone).toMatch(/^KIND +NAME +BINDING +ROLE +GIVES\n/);
    expect(everyone).toMatch(
      /^User +carl +.* sees it; passes of every account in every namespace; passes as a person$/m,
    );
    expect(everyone).toMatch(/^Group +system:masters +<none> +<none> +everything$/m);
    expect(await admin.ok(['auth', 'who-can', '--cluster', 'alpha', '--no-headers'])).not.toContain('KIND');
    const byAccount = await admin.ok(['auth', 'who-can', '--cluster', 'beta', '--account', 'ci/builder', '-o', 'json']);
    expect(names(JSON.parse(byAccount))).toContain('Group:devs');
    const { stderr } = await owner.run(['auth', 'who-can', '--cluster', 'beta', '--account', 'ci/builder']);
    expect(stderr).toBe('Warning: bindings that you may not read are left out\n');
  });

  it('says that a cluster or an account does not exist, to callers who may get it', async () => {
    const notFound = 'Error from server (NotFound): clusters.clusterregistry.k8s.io "absent" not found\n';
    expect(await admin.fails(['auth', 'who-can', '--cluster', 'absent'])).toBe(notFound);
    expect(await admin.fails(['auth', 'who-can', 'get', 'pods', '--cluster', 'absent', '-o', 'json'])).toBe(notFound);
    const toAbsent = ['auth', 'who-can', '--cluster', 'beta', '--account', 'ci/bulder'];
    const missing = 'Warning: serviceaccounts "bulder" not found';
    expect((await admin.run(toAbsent)).stderr).toBe(`${missing}\n`);
    expect((await owner.run(toAbsent)).stderr).toContain(missing);
    // The owner may get neither alpha nor a cluster that does not exist.
    const [hidden, absent] = await Promise.all(
      ['alpha', 'absent'].map((cluster) =>
        owner.run(['auth', 'who-can', '--cluster', cluster, '--account', 'ci/absent']),
      ),
    );
    expect(hidden).toEqual(absent);
    expect(hidden?.stderr).not.toContain('not found');
  });
});

describe('clusterpass auth reach', () => {
  it('prints clusters and accounts', async () => {
    const text = await admin.ok(['auth', 'reach', 'carl']);
    expect(text).toMatch(
      /^CLUSTER +KIND +NAME +BINDING +ROLE +GIVES\nalpha +User +carl +FleetRoleBinding\/granted-\d+ .* sees it; passes of every account in every namespace; passes as a person\n$/,
    );
    const groups = 'Warning: --group was not given: bindings of groups other than system:authenticated do not count.\n';
    expect((await admin.run(['auth', 'reach', 'nobody'])).stderr).toBe(`No clusters found.\n${groups}`);
    expect((await admin.run(['auth', 'reach', 'nobody', '--group', 'none'])).stderr).toBe('No clusters found.\n');
    expect(JSON.parse(await admin.ok(['auth', 'reach', 'x', '--group', 'devs', '-o', 'json'])).clusters).toHaveLength(
      1,
    );
  });
});

describe('clusterpass auth why', () => {
  const token = ['create', 'serviceaccounts/builder', '--subresource', 'token', '-n', 'ci', '--cluster', 'alpha'];

  it('names the binding behind a yes', async () => {
    expect(await admin.ok(['auth', 'why', ...token])).toBe('yes\nmembers of system:masters may do everything\n');
    expect(await admin.ok(['auth', 'why', ...token, '--user', 'carl'])).toMatch(
      /^yes\nRBAC: allowed by FleetRoleBinding "granted-\d+" of ClusterRole "granted-\d+" to User "carl"\n$/,
    );
  });

  it('prints the objects that would allow a denied request', async () => {
    const { code, stdout } = await admin.run(['auth', 'why', ...token, '--user', 'nobody']);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^# no\n# No binding allows it\.\n# --group was not given: bindings of groups other than system:authenticated do not count\.\n\n# These objects would allow it\.\napiVersion: /,
    );
    await applyYaml(server, stdout);
    expect(await admin.ok(['auth', 'why', ...token, '--user', 'nobody'])).toMatch(/^yes\n/);
    expect((await admin.run(['auth', 'why', ...token.slice(0, -1), 'beta', '--user', 'nobody'])).code).toBe(1);
    const nobody = await Person.as(server, 'nobody');
    expect(await nobody.ok(['auth', 'why', ...token])).toMatch(
      /FleetRoleBinding "create-serviceaccounts-token-builder-nobody-alpha-[0-9a-f]{8}" .* to User "nobody"\n$/,
    );
  });

  it('of a path of the server', async () => {
    const question = ['auth', 'why', 'get', '/metrics', '--user', 'kim'];
    const { code, stdout, stderr } = await admin.run(question);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain('- nonResourceURLs:\n  - /metrics\n  verbs:\n  - get\n');
    await applyYaml(server, stdout);
    expect(await admin.ok(question)).toMatch(/^yes\nRBAC: allowed by ClusterRoleBinding "get-metrics-kim-/);
    expect(await admin.fails([...question, 'x'])).toBe('error: a path cannot be combined with NAME\n');
    expect(await admin.fails([...question, '--subresource', 'x'])).toBe(
      'error: --subresource cannot be used with a path\n',
    );
    expect(await admin.fails(['request', 'create', 'get', '/metrics', '--cluster', 'alpha', '--reason', 'x'])).toBe(
      'error: "/metrics" is not TYPE or TYPE/NAME\n',
    );
  });
});

describe('clusterpass grant', () => {
  const args = ['grant', 'jill', '--role', 'clusterpass:viewer', '-l', 'env=dev'];

  it('says who gains what and where, and writes one binding that granting again changes', async () => {
    const dryRun = await admin.ok([...args, '--for', '8h']);
    expect(dryRun).toMatch(/^User jill gets ClusterRole clusterpass:viewer until \S+Z in 1 cluster: beta\n/);
    expect(dryRun).toMatch(
      /\nfleetrolebinding\.clusterpass\.dev\/jill-\S+ not changed \(server dry run\): add --apply/,
    );
    const jill = await Person.as(server, 'jill');
    const visible = () => jill.run(['get', 'clusters', '-o', 'name']).then(({ stdout }) => stdout);
    expect(await visible()).toBe('');

    expect(await admin.ok([...args, '--for', '8h', '--apply'])).toMatch(/ applied\n$/);
    expect(await visible()).toBe('cluster.clusterregistry.k8s.io/beta\n');
    const again = await admin.run([...args, '--agents', '--apply', '-o', 'json']);
    expect(again.stderr).toMatch(/^User jill, with its agents, gets .* without an end in 1 cluster: beta\n/);
    const elsewhere = await admin.ok([...args.slice(0, -2), '--cluster', 'alpha']);
    expect(elsewhere).toMatch(/without an end in 1 cluster: alpha\nfleetrolebinding/);
    const { metadata, spec } = JSON.parse(again.stdout);
    const stored = (await server.call('GET', `${FLEET_BINDINGS}/${metadata.name}`)).json;
    expect(stored.spec).toEqual(spec);
    expect(spec).not.toHaveProperty('expiresAt');
    await remove(server, `${FLEET_BINDINGS}/${metadata.name}`);
  });

  it('refuses what the server refuses, and a role that does not exist', async () => {
    const typo = await admin.fails(['grant', 'jill', '--role', 'clusterpass:viewr', '-l', 'env=dev']);
    expect(typo).toMatch(/"clusterpass:viewr" not found\n$/);
    expect(await admin.fails(['grant', 'jill', '--role', 'clusterpass:viewer', '--cluster', 'absent'])).toMatch(
      /"absent" not found/,
    );
    expect(await owner.fails([...args, '--apply'])).toMatch(/Forbidden/);
  });
});

describe('a failed read is not taken for a result', () => {
  const review = json(201, { status: { subjects: [] } });
  const failure = status(500, 'InternalError', 'the store is down');
  const message = 'Error from server (InternalError): the store is down\n';

  it.each([
    ['the cluster', [review, failure]],
    ['the account', [review, json(200, cluster('alpha', 1)), failure]],
  ])('of %s', async (_, responders) => {
    const jane = await personAt(responders);
    const result = await jane.run(['auth', 'who-can', '--cluster', 'alpha', '--account', 'ci/builder']);
    expect(result).toEqual({ code: 1, stdout: '', stderr: message });
  });
});
