import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Grant, grant, group, may, type PolicyRule, RBAC, RBAC_GROUP, REGISTRY_GROUP } from './support/rbac.ts';
import { type Server, startServer } from './support/server.ts';
import {
  ASK,
  asUser,
  CLUSTERS,
  create,
  createWorld,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/token-world.ts';

let server: Server;
const taken: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startServer({ users: { jane: ['staff', 'eu'], root: ['system:masters'] } });
  await createWorld(server);
});
afterAll(() => server.destroy());
afterEach(async () => {
  for (const takeBack of taken.splice(0)) await takeBack();
});

const given = async (options: Grant): Promise<void> => {
  taken.push(await grant(server, options));
};
const codeOf = async (method: string, path: string, token = asUser('jane').token): Promise<number> =>
  (await server.call(method, path, { token, ...(method === 'POST' ? { body: ASK } : {}) })).code;
const mayIssue = async (account = 'builder', namespace = 'ci', cluster = 'alpha'): Promise<boolean> =>
  (await codeOf('POST', `${tokenPath(account, namespace, cluster)}?dryRun=All`)) === 201;
const seen = async (path = '/auth/v1/clusters', token = asUser('jane').token): Promise<string[]> => {
  const { code, json } = await server.call('GET', path, { token });
  expect(code).toBe(200);
  return json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
};

const TOKEN = may('create', 'serviceaccounts/token');

describe('P-12: a rule matches whole words', () => {
  it.each<[PolicyRule, boolean]>([
    [TOKEN, true],
    [may('*', 'serviceaccounts/token'), true],
    [may('create', '*'), true],
    [may('create', '*/token'), true],
    [may('create', 'serviceaccounts/token', '*'), true],
    [may('create', 'serviceaccounts'), false],
    [may('create', 'serviceaccounts/*'), false],
    [may('create', 'service*'), false],
    [may('crea*', 'serviceaccounts/token'), false],
    [may('CREATE', 'serviceaccounts/token'), false],
    [may('create', 'serviceaccounts/token', 'authentication.k8s.io'), false],
    // P-13
    [may('create', 'serviceaccounts/token', '', ['builder']), true],
    [may('create', 'serviceaccounts/token', '', ['other']), false],
    [may('create', 'serviceaccounts/token', '', ['*']), false],
    [{ verbs: ['create'], nonResourceURLs: ['*'] }, false],
  ])('%j', async (rule, allowed) => {
    await given({ to: 'jane', rules: [rule] });
    expect(await mayIssue()).toBe(allowed);
  });
});

describe('P-13: names', () => {
  it('do not allow a list, unless it is narrowed to one', async () => {
    await given({ to: 'jane', rules: [may('list', 'pods', '', ['web-0'])] });
    expect(await codeOf('GET', inNamespace('pods'))).toBe(403);
    expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dother-0`)).toBe(403);
    expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%21%3Dweb-0`)).toBe(403);
    expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dweb-0`)).toBe(200);
  });

  it('P-14: nothing else in a selector counts', async () => {
    await given({ to: 'jane', rules: [may('list', 'pods')] });
    expect(await codeOf('GET', `${inNamespace('pods')}?labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dx`)).toBe(200);
  });

  it('never allow a create in a collection', async () => {
    await given({ to: 'jane', rules: [may('create', 'serviceaccounts', '', ['mine'])] });
    const body = { metadata: { name: 'mine' } };
    expect((await server.call('POST', inNamespace('serviceaccounts'), { body, ...asUser('jane') })).code).toBe(403);
  });
});

describe('P-10, P-11, P-17: a namespace', () => {
  it('is as far as a RoleBinding reaches', async () => {
    await given({ to: 'jane', rules: [TOKEN, may('list', 'pods')], namespace: 'ci' });
    expect(await mayIssue()).toBe(true);
    expect(await mayIssue('builder', 'ci', 'beta')).toBe(true);
    expect(await codeOf('POST', tokenPath('builder', 'shop'))).toBe(403);
    // P-11: all or nothing.
    expect(await codeOf('GET', inNamespace('pods'))).toBe(200);
    expect(await codeOf('GET', '/orchestrator/alpha/api/v1/pods')).toBe(403);
  });

  it('may have roles of its own', async () => {
    const path = `${RBAC}/namespaces/ci`;
    await create(server, `${path}/roles`, { metadata: { name: 'own' }, rules: [TOKEN] });
    await create(server, `${path}/rolebindings`, {
      metadata: { name: 'own' },
      subjects: [{ kind: 'Group', apiGroup: RBAC_GROUP, name: 'staff' }],
      roleRef: { apiGroup: RBAC_GROUP, kind: 'Role', name: 'own' },
    });
    expect(await mayIssue()).toBe(true);
    await remove(server, `${path}/roles/own`);
    expect(await mayIssue()).toBe(false);
    await remove(server, `${path}/rolebindings/own`);
  });
});

describe('the dimension of the fleet', () => {
  it.each([
    ['env=prod', true, false],
    ['env in (dev)', false, true],
    ['env', true, true],
    ['!env', false, false],
    ['kubernetes.io/metadata.name=beta', false, true],
    ['', true, true],
  ])('a binding for %j holds where the labels match', async (clusters, alpha, beta) => {
    await given({ to: 'jane', rules: [TOKEN, may('list', 'clusters', REGISTRY_GROUP)], clusters });
    expect([await mayIssue(), await mayIssue('builder', 'ci', 'beta')]).toEqual([alpha, beta]);
    expect(await seen()).toEqual([...(alpha ? ['alpha'] : []), ...(beta ? ['beta'] : [])]);
  });

  it('follows the labels at once', async () => {
    await given({ to: 'jane', rules: [TOKEN], clusters: 'env=prod' });
    const label = async (env: string | null) =>
      server.call('PATCH', `${CLUSTERS}/beta`, {
        body: { metadata: { labels: { env } } },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
    for (const env of ['prod', 'dev']) {
      expect((await label(env)).code).toBe(200);
      expect(await mayIssue('builder', 'ci', 'beta')).toBe(env === 'prod');
    }
  });

  it('a binding for some clusters gives nothing at the fleet', async () => {
    await given({ to: 'jane', rules: [may('*', '*', '*')], clusters: 'env=prod' });
    expect(await codeOf('GET', `${RBAC}/clusterroles`)).toBe(403);
    expect(await codeOf('DELETE', CLUSTERS)).toBe(403);
    expect(await codeOf('GET', `${CLUSTERS}/alpha`)).toBe(200);
    expect(await codeOf('GET', `${CLUSTERS}/beta`)).toBe(403);
    const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'x' } };
    expect((await server.call('POST', CLUSTERS, { body, ...asUser('jane') })).code).toBe(403);
  });

  it('a selector that can not be read is refused', async () => {
    for (const bindings of ['clusterrolebindings', 'namespaces/ci/rolebindings']) {
      const answer = await server.call('POST', `${RBAC}/${bindings}`, {
        body: {
          metadata: { name: 'odd', annotations: { 'clusterpass.dev/clusters': 'env in (' } },
          roleRef: { kind: 'ClusterRole', name: 'x' },
        },
      });
      expect(answer.code).toBe(422);
      expect(answer.json.details.causes[0].field).toBe('metadata.annotations[clusterpass.dev/clusters]');
    }
  });
});

describe('P-11, decision 9: the list of clusters', () => {
  it.each(['/auth/v1/clusters', CLUSTERS])('%s is empty for who may see nothing, and never refused', async (path) => {
    expect(await seen(path)).toEqual([]);
    const { code, json } = await server.call('GET', `${path}?limit=1`, asUser('jane'));
    expect(code).toBe(200);
    expect(json.metadata.continue).toBe('');
    expect(json.metadata.remainingItemCount).toBeUndefined();
  });

  it.each(['/auth/v1/clusters', CLUSTERS])('%s shows what may be listed, by name too', async (path) => {
    await given({ to: 'jane', rules: [may('list', 'clusters', REGISTRY_GROUP, ['beta'])] });
    expect(await seen(path)).toEqual(['beta']);
    expect(await seen(`${path}?fieldSelector=metadata.name%3Dalpha`)).toEqual([]);
    expect(await seen(`${path}?labelSelector=env%3Dprod`)).toEqual([]);
    expect(await codeOf('GET', `${CLUSTERS}/beta`)).toBe(403);
  });

  it('is not what a get, a watch or a RoleBinding allows', async () => {
    await given({
      to: 'jane',
      rules: [may('get', 'clusters', REGISTRY_GROUP), may('watch', 'clusters', REGISTRY_GROUP)],
    });
    await given({ to: 'jane', rules: [may('list', 'clusters', REGISTRY_GROUP)], namespace: 'ci' });
    await given({ to: 'jane', rules: [may('list', 'clusters')] });
    await given({ to: 'jane', rules: [may('list', 'clusters/status', REGISTRY_GROUP)] });
    expect(await seen()).toEqual([]);
  });
});

describe('P-16, K-30: subjects', () => {
  it('a group', async () => {
    await given({ to: group('eu'), rules: [TOKEN] });
    expect(await mayIssue()).toBe(true);
  });

  it('a user is not a group, and the other way round', async () => {
    await given({ to: group('jane'), rules: [TOKEN] });
    await given({ to: 'staff', rules: [TOKEN] });
    expect(await mayIssue()).toBe(false);
  });

  it('everyone who is somebody', async () => {
    await given({ to: group('system:authenticated'), rules: [TOKEN] });
    expect(await mayIssue()).toBe(true);
  });

  it('a service account is itself at home, and a stranger everywhere else', async () => {
    const token = await issue(server);
    const rules = [may('list', 'pods'), may('list', 'clusters', REGISTRY_GROUP)];
    const allowed = async () => [
      await codeOf('GET', inNamespace('pods'), token),
      await codeOf('GET', inNamespace('pods', 'ci', 'beta'), token),
      await seen('/auth/v1/clusters', token),
    ];
    expect(await allowed()).toEqual([403, 403, []]);
    await given({ to: { kind: 'ServiceAccount', namespace: 'ci', name: 'builder' }, rules });
    expect(await allowed()).toEqual([200, 403, ['alpha']]);
    await given({ to: group('system:cluster:alpha:serviceaccounts'), rules });
    expect(await allowed()).toEqual([200, 200, ['alpha', 'beta']]);
  });

  it('P-16: a service account in a RoleBinding is of that namespace unless it says otherwise', async () => {
    const token = await issue(server);
    await given({ to: { kind: 'ServiceAccount', name: 'builder' }, rules: [may('list', 'pods')], namespace: 'ci' });
    expect(await codeOf('GET', inNamespace('pods'), token)).toBe(200);
    const binding = await server.call('POST', `${RBAC}/clusterrolebindings`, {
      body: {
        metadata: { name: 'homeless' },
        subjects: [{ kind: 'ServiceAccount', name: 'builder' }],
        roleRef: { kind: 'ClusterRole', name: 'x' },
      },
    });
    expect(binding.code).toBe(422);
    expect(binding.json.message).toBe(
      'ClusterRoleBinding.rbac.authorization.k8s.io "homeless" is invalid: subjects[0].namespace: Required value',
    );
  });

  it('P-19: system:masters may do everything, whatever the rules', async () => {
    const { token } = asUser('root');
    expect(await codeOf('GET', `${RBAC}/clusterroles`, token)).toBe(200);
    expect(await seen('/auth/v1/clusters', token)).toEqual(['alpha', 'beta']);
  });
});

it('P-18: an aggregated role has the rules of the roles it gathers', async () => {
  await create(server, `${RBAC}/clusterroles`, {
    metadata: { name: 'gathered' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { into: 'gathered' } }] },
  });
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'gathered' },
    subjects: [{ kind: 'User', apiGroup: RBAC_GROUP, name: 'jane' }],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'gathered' },
  });
  expect(await mayIssue()).toBe(false);
  await create(server, `${RBAC}/clusterroles`, {
    metadata: { name: 'part', labels: { into: 'gathered' } },
    rules: [TOKEN],
  });
  expect(await mayIssue()).toBe(true);
  await remove(server, `${RBAC}/clusterroles/part`);
  expect(await mayIssue()).toBe(false);
});

it('P-15: paths are matched whole, or by what they begin with', async () => {
  const codes = async (path: string) => codeOf('GET', path);
  expect(await codes('/metrics')).toBe(403);
  await given({ to: 'jane', rules: [{ verbs: ['get'], nonResourceURLs: ['/logs/*', '/exact'] }] });
  // 404: allowed, and not there.
  expect(await Promise.all(['/exact', '/logs/a', '/logs', '/exact/a', '/exac'].map(codes))).toEqual([
    404, 404, 403, 403, 403,
  ]);
});

it('no binding survives what it is bound to by being cached', async () => {
  for (let round = 0; round < 20; round++) {
    const takeBack = await grant(server, { to: 'jane', rules: [TOKEN] });
    expect(await mayIssue()).toBe(true);
    await takeBack();
    expect(await mayIssue()).toBe(false);
  }
});
