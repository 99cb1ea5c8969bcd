import { afterEach, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { expectStatus } from './support/expect-status.ts';
import { ASK, asUser, create, createObjects, inNamespace, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS, RBAC, RBAC_GROUP } from './support/paths.ts';
import { type Grant, grant, group, may, REGISTRY_GROUP, user } from './support/rbac.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

/** The rules that apply to a request, and the message of a refusal. */

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await createObjects(server);
});

describe('rules, subjects and bindings', () => {
  const taken: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const takeBack of taken.splice(0)) await takeBack();
  });

  const given = async (options: Grant): Promise<void> => {
    taken.push(await grant(server, options));
  };
  const codeOf = async (method: string, path: string, token = asUser('june').token): Promise<number> =>
    (await server.call(method, path, { token, ...(method === 'POST' ? { body: ASK } : {}) })).code;
  const mayIssue = async (account = 'builder', namespace = 'ci', cluster = 'alpha'): Promise<boolean> =>
    (await codeOf('POST', `${tokenPath(account, namespace, cluster)}?dryRun=All`)) === 201;
  const seen = async (path = '/auth/v1/clusters', token = asUser('june').token): Promise<string[]> => {
    const { code, json } = await server.call('GET', path, { token });
    expect(code).toBe(200);
    return json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
  };

  const TOKEN = may('create', 'serviceaccounts/token');

  describe('P-13: names', () => {
    it('do not allow a list, unless its field selector has one name', async () => {
      await given({ to: 'june', rules: [may('list', 'pods', '', ['web-0'])] });
      expect(await codeOf('GET', inNamespace('pods'))).toBe(403);
      expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dother-0`)).toBe(403);
      expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%21%3Dweb-0`)).toBe(403);
      expect(await codeOf('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dweb-0`)).toBe(200);
    });

    it('P-14: nothing else in a selector counts', async () => {
      await given({ to: 'june', rules: [may('list', 'pods')] });
      expect(await codeOf('GET', `${inNamespace('pods')}?labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dx`)).toBe(
        200,
      );
    });

    it('never allow a create in a collection', async () => {
      await given({ to: 'june', rules: [may('create', 'serviceaccounts', '', ['mine'])] });
      const body = { metadata: { name: 'mine' } };
      expect((await server.call('POST', inNamespace('serviceaccounts'), { body, ...asUser('june') })).code).toBe(403);
    });
  });

  describe('the clusters of a binding', () => {
    it('follows the labels at once', async () => {
      await given({ to: 'june', rules: [TOKEN], clusters: 'env=prod' });
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

    it('a binding for some clusters grants nothing at the fleet', async () => {
      await given({ to: 'june', rules: [may('*', '*', '*')], clusters: 'env=prod' });
      expect(await codeOf('GET', `${RBAC}/clusterroles`)).toBe(403);
      expect(await codeOf('DELETE', CLUSTERS)).toBe(403);
      expect(await codeOf('GET', `${CLUSTERS}/alpha`)).toBe(200);
      expect(await codeOf('GET', `${CLUSTERS}/beta`)).toBe(403);
      const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'x' } };
      expect((await server.call('POST', CLUSTERS, { body, ...asUser('june') })).code).toBe(403);
    });

    it.each<readonly [string, unknown, string]>([
      ['is missing', undefined, ''],
      ['is of two kinds', { all: true, names: ['alpha'] }, ''],
      [
        'has 65 requirements',
        {
          selector: { matchExpressions: Array.from({ length: 65 }, (_, i) => ({ key: `k${i}`, operator: 'Exists' })) },
        },
        '.selector',
      ],
    ])('a field clusters that %s is refused', async (_, clusters, field) => {
      const { spec, ...type } = fleetBinding({ name: 'odd', to: ['june'], role: 'x' }) as { spec: object };
      for (const query of ['', '?fieldValidation=Ignore']) {
        const answer = await server.call('POST', `${FLEET_BINDINGS}${query}`, {
          body: { ...type, spec: { ...spec, clusters } },
        });
        expect([answer.code, answer.json.details.causes[0].field]).toEqual([422, `spec.clusters${field}`]);
      }
      expect((await server.call('GET', `${FLEET_BINDINGS}/odd`)).code).toBe(404);
    });
  });

  describe('P-11, decision 9: the list of clusters', () => {
    it.each(['/auth/v1/clusters', CLUSTERS])(
      '%s is empty for a caller who may see nothing, and never refused',
      async (path) => {
        expect(await seen(path)).toEqual([]);
        const { code, json } = await server.call('GET', `${path}?limit=1`, asUser('june'));
        expect(code).toBe(200);
        expect(json.metadata.continue).toBe('');
        expect(json.metadata.remainingItemCount).toBeUndefined();
      },
    );

    it.each(['/auth/v1/clusters', CLUSTERS])('%s shows what may be listed, by name too', async (path) => {
      await given({ to: 'june', rules: [may('list', 'clusters', REGISTRY_GROUP, ['beta'])] });
      expect(await seen(path)).toEqual(['beta']);
      expect(await seen(`${path}?fieldSelector=metadata.name%3Dalpha`)).toEqual([]);
      expect(await seen(`${path}?labelSelector=env%3Dprod`)).toEqual([]);
      expect(await codeOf('GET', `${CLUSTERS}/beta`)).toBe(403);
    });

    it('is not what a get, a watch or a RoleBinding allows', async () => {
      await given({
        to: 'june',
        rules: [may('get', 'clusters', REGISTRY_GROUP), may('watch', 'clusters', REGISTRY_GROUP)],
      });
      await given({ to: 'june', rules: [may('list', 'clusters', REGISTRY_GROUP)], namespace: 'ci' });
      await given({ to: 'june', rules: [may('list', 'clusters')] });
      await given({ to: 'june', rules: [may('list', 'clusters/status', REGISTRY_GROUP)] });
      expect(await seen()).toEqual([]);
    });
  });

  describe('P-16, K-30: subjects', () => {
    it('a service account has its local name in its own cluster only', async () => {
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
  });

  it('a cached decision ends with its binding', async () => {
    for (let round = 0; round < 20; round++) {
      const takeBack = await grant(server, { to: 'june', rules: [TOKEN] });
      expect(await mayIssue()).toBe(true);
      await takeBack();
      expect(await mayIssue()).toBe(false);
    }
  });
});

describe('refusals', () => {
  interface Case {
    readonly method: string;
    readonly path: string;
    readonly verb: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly group?: string;
    readonly name?: string;
    readonly namespace?: string;
  }

  const IN_ALPHA = '/orchestrator/alpha/api/v1';

  /** P-01, P-02, P-04: a request of each form; src/http/request/request-info.test.ts has all verbs and paths. */
  const CASES: readonly Case[] = [
    {
      method: 'POST',
      path: tokenPath(),
      verb: 'create',
      resource: 'serviceaccounts',
      subresource: 'token',
      name: 'builder',
      namespace: 'ci',
    },
    { method: 'GET', path: inNamespace('pods'), verb: 'list', resource: 'pods', namespace: 'ci' },
    { method: 'GET', path: `${IN_ALPHA}/watch/namespaces/ci/pods`, verb: 'watch', resource: 'pods', namespace: 'ci' },
    {
      method: 'GET',
      path: `${inNamespace('pods')}?watch=1&limit=abc&fieldSelector=metadata.name%3Dx`,
      verb: 'watch',
      resource: 'pods',
      namespace: 'ci',
    },
    {
      method: 'PUT',
      path: `${IN_ALPHA}/namespaces/ci/status`,
      verb: 'update',
      resource: 'namespaces',
      subresource: 'status',
      name: 'ci',
      namespace: 'ci',
    },
    { method: 'DELETE', path: CLUSTERS, verb: 'deletecollection', group: REGISTRY_GROUP, resource: 'clusters' },
    {
      method: 'PATCH',
      path: `${CLUSTERS}/alpha/status`,
      verb: 'patch',
      group: REGISTRY_GROUP,
      resource: 'clusters',
      subresource: 'status',
      name: 'alpha',
    },
    {
      method: 'POST',
      path: `${RBAC}/namespaces/ci/roles`,
      verb: 'create',
      group: RBAC_GROUP,
      resource: 'roles',
      namespace: 'ci',
    },
    // C-15: authorization comes before routing.
    {
      method: 'GET',
      path: '/apis/example.com/v1/namespaces/n/gadgets/g',
      verb: 'get',
      group: 'example.com',
      resource: 'gadgets',
      name: 'g',
      namespace: 'n',
    },
  ];

  const bodyFor = (method: string) => (['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {});
  const headersFor = (method: string) =>
    method === 'PATCH' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {};

  function refusal({ verb, group = '', resource, subresource, name, namespace }: Case) {
    const qualified = group === '' ? resource : `${resource}.${group}`;
    const subject = name === undefined ? qualified : `${qualified} "${name}"`;
    const what = subresource === undefined ? resource : `${resource}/${subresource}`;
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
    return {
      code: 403,
      reason: 'Forbidden',
      message: `${subject} is forbidden: User "rita" cannot ${verb} resource "${what}" in API group "${group}" ${where}`,
      details: { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
    };
  }

  describe('P-01, P-02, P-03, P-04, P-30, P-31, P-32: a request is authorized by its attributes', () => {
    it.each(CASES)('$method $path needs $verb', async (asked) => {
      const { method, path, verb, resource, subresource, group = '', name, namespace } = asked;
      const send = () =>
        server.call(method, `${path}`, { ...bodyFor(method), ...headersFor(method), ...asUser('rita') });
      const refused = await send();
      expectStatus(refused, refusal(asked));
      //
      expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
      if (verb === 'watch') return;
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      const others = [
        may(verb === 'get' ? 'list' : 'get', what, group),
        may(verb, `${what}x`, group),
        may(verb, what, 'other.example'),
        may(verb, what, group, ['someone-else']),
        ...(subresource === undefined ? [may(verb, `${resource}/token`, group)] : [may(verb, resource, group)]),
      ];
      const notEnough = await grant(server, { to: 'rita', rules: others });
      expectStatus(await send(), refusal(asked));
      await notEnough();
      const rules = [may(verb, what, group, name === undefined ? [] : [name])];
      const enough = await grant(server, { to: 'rita', rules, ...(namespace === undefined ? {} : { namespace }) });
      // A dry run, so that the next case finds the same objects.
      const dry = `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;
      const allowed = await server.call(method, method === 'GET' ? path : dry, {
        ...bodyFor(method),
        ...headersFor(method),
        ...asUser('rita'),
      });
      expect(allowed.code, allowed.text).not.toBe(403);
      await enough();
      expectStatus(await send(), refusal(asked));
    });
  });

  describe('the message of a refusal', () => {
    it('P-33: has the name of a field selector', async () => {
      const answer = await server.call('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dx`, asUser('rita'));
      expectStatus(
        answer,
        refusal({ method: '', path: '', verb: 'list', resource: 'pods', name: 'x', namespace: 'ci' }),
      );
    });

    it('P-34: has a path that is no resource', async () => {
      expectStatus(await server.call('POST', '/elsewhere/x', { ...asUser('rita'), body: {} }), {
        code: 403,
        reason: 'Forbidden',
        message: 'forbidden: User "rita" cannot post path "/elsewhere/x"',
        details: {},
      });
    });

    it('P-35: names a role that does not exist', async () => {
      const names = ['missing-1', 'missing-2'];
      for (const name of names) {
        const before = await server.call('GET', inNamespace('pods'), asUser('rita'));
        expect(before.code).toBe(403);
        await create(server, `${RBAC}/clusterrolebindings`, {
          metadata: { name },
          subjects: [user('rita')],
          roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
        });
      }
      const missing = (name: string) => `clusterrole.rbac.authorization.k8s.io "${name}" not found`;
      const { json } = await server.call('GET', inNamespace('pods'), asUser('rita'));
      expect(json.message).toBe(
        `pods is forbidden: User "rita" cannot list resource "pods" in API group "" in the namespace "ci": RBAC: [${names.map(missing).join(', ')}]`,
      );
      await server.call('DELETE', `${RBAC}/clusterrolebindings/missing-2`);
      const one = await server.call('GET', inNamespace('pods'), asUser('rita'));
      expect(one.json.message).toMatch(
        /in the namespace "ci": RBAC: clusterrole.rbac.authorization.k8s.io "missing-1" not found$/,
      );
      await server.call('DELETE', `${RBAC}/clusterrolebindings/missing-1`);
    });

    it('P-36: has no markup', async () => {
      const answer = await server.call('GET', `${inNamespace('pods')}/x%3Cy%3E`, asUser('a&b<c>'));
      expect(answer.code).toBe(403);
      expect(answer.json.message).toBe(
        'pods "x<y>" is forbidden: User "a&amp;b&lt;c&gt;" cannot get resource "pods" in API group "" in the namespace "ci"',
      );
      expect(answer.text).not.toMatch(/[<>&]/);
    });
  });

  describe('A7, decision 12: a refusal says nothing about what exists', () => {
    const namedAlike = (text: string, names: readonly [string, string][]): string =>
      names.reduce((result, [from, to]) => result.replaceAll(from, to), text);

    it.each<[string, string, string, [string, string][]]>([
      ['account', tokenPath(), tokenPath('ghost'), [['ghost', 'builder']]],
      ['namespace', tokenPath(), tokenPath('builder', 'ghost'), [['ghost', 'ci']]],
      ['cluster', tokenPath(), tokenPath('builder', 'ci', 'ghost'), []],
    ])('of an absent %s', async (_, there, absent, names) => {
      const [one, other] = await Promise.all(
        [there, absent].map((path) => server.call('POST', path, { body: ASK, ...asUser('rita') })),
      );
      expect(one?.code).toBe(403);
      expect(other?.code).toBe(403);
      expect(namedAlike(other?.text ?? '', names)).toBe(one?.text);
    });

    it('nor of an absent cluster in the registry', async () => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const [there, absent] = await Promise.all(
          ['alpha', 'ghost'].map((name) =>
            server.call(method, `${CLUSTERS}/${name}`, {
              ...bodyFor(method),
              ...headersFor(method),
              ...asUser('rita'),
            }),
          ),
        );
        expect(there?.code).toBe(403);
        expect(absent?.text.replaceAll('ghost', 'alpha')).toBe(there?.text);
      }
    });

    it('nor a broken body, or one of the wrong type', async () => {
      for (const options of [{ body: '{' }, { body: 'x', headers: { 'Content-Type': 'text/plain' } }]) {
        expect((await server.call('POST', tokenPath(), { ...options, ...asUser('rita') })).code).toBe(403);
      }
    });
  });
});
