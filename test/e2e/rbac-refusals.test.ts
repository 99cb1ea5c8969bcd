import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { grant, may, RBAC, RBAC_GROUP, REGISTRY_GROUP, user } from './support/rbac.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, asUser, CLUSTERS, create, createWorld, inNamespace, tokenPath } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: ['staff'], 'a&b<c>': [] } });
  await createWorld(server);
});
afterAll(() => server.destroy());

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

/** P-01, P-02, P-04: what is asked of the rules for which request. */
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
  {
    method: 'GET',
    path: `${inNamespace('pods')}/web-0`,
    verb: 'get',
    resource: 'pods',
    name: 'web-0',
    namespace: 'ci',
  },
  {
    method: 'GET',
    path: `${inNamespace('pods')}/web-0?watch=true`,
    verb: 'get',
    resource: 'pods',
    name: 'web-0',
    namespace: 'ci',
  },
  { method: 'GET', path: inNamespace('pods'), verb: 'list', resource: 'pods', namespace: 'ci' },
  { method: 'GET', path: `${inNamespace('pods')}?watch=1`, verb: 'watch', resource: 'pods', namespace: 'ci' },
  { method: 'GET', path: `${inNamespace('pods')}?watch=`, verb: 'watch', resource: 'pods', namespace: 'ci' },
  { method: 'GET', path: `${IN_ALPHA}/watch/namespaces/ci/pods`, verb: 'watch', resource: 'pods', namespace: 'ci' },
  // P-03: parameters that cannot be read do not change the question.
  { method: 'GET', path: `${inNamespace('pods')}?limit=abc`, verb: 'list', resource: 'pods', namespace: 'ci' },
  {
    method: 'GET',
    path: `${inNamespace('pods')}?watch=1&limit=abc&fieldSelector=metadata.name%3Dx`,
    verb: 'watch',
    resource: 'pods',
    namespace: 'ci',
  },
  { method: 'GET', path: `${IN_ALPHA}/pods`, verb: 'list', resource: 'pods' },
  { method: 'POST', path: inNamespace('pods'), verb: 'create', resource: 'pods', namespace: 'ci' },
  {
    method: 'PUT',
    path: `${inNamespace('pods')}/web-0`,
    verb: 'update',
    resource: 'pods',
    name: 'web-0',
    namespace: 'ci',
  },
  {
    method: 'PATCH',
    path: `${inNamespace('pods')}/web-0`,
    verb: 'patch',
    resource: 'pods',
    name: 'web-0',
    namespace: 'ci',
  },
  {
    method: 'DELETE',
    path: `${inNamespace('pods')}/web-0`,
    verb: 'delete',
    resource: 'pods',
    name: 'web-0',
    namespace: 'ci',
  },
  { method: 'DELETE', path: inNamespace('pods'), verb: 'deletecollection', resource: 'pods', namespace: 'ci' },
  {
    method: 'GET',
    path: `${IN_ALPHA}/namespaces/ci`,
    verb: 'get',
    resource: 'namespaces',
    name: 'ci',
    namespace: 'ci',
  },
  { method: 'GET', path: `${IN_ALPHA}/namespaces`, verb: 'list', resource: 'namespaces' },
  {
    method: 'PUT',
    path: `${IN_ALPHA}/namespaces/ci/status`,
    verb: 'update',
    resource: 'namespaces',
    subresource: 'status',
    name: 'ci',
    namespace: 'ci',
  },
  { method: 'GET', path: `${CLUSTERS}/alpha`, verb: 'get', group: REGISTRY_GROUP, resource: 'clusters', name: 'alpha' },
  { method: 'POST', path: CLUSTERS, verb: 'create', group: REGISTRY_GROUP, resource: 'clusters' },
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
  { method: 'GET', path: `${RBAC}/clusterroles`, verb: 'list', group: RBAC_GROUP, resource: 'clusterroles' },
  {
    method: 'POST',
    path: `${RBAC}/namespaces/ci/roles`,
    verb: 'create',
    group: RBAC_GROUP,
    resource: 'roles',
    namespace: 'ci',
  },
  // C-15: what is not served is refused first too.
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
    message: `${subject} is forbidden: User "jane" cannot ${verb} resource "${what}" in API group "${group}" ${where}`,
    details: { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
  };
}

describe('P-01, P-02, P-03, P-04, P-30, P-31, P-32: a request is judged by what it names', () => {
  it.each(CASES)('$method $path needs $verb', async (asked) => {
    const { method, path, verb, resource, subresource, group = '', name, namespace } = asked;
    const send = () => server.call(method, `${path}`, { ...bodyFor(method), ...headersFor(method), ...asUser('jane') });
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
    const notEnough = await grant(server, { to: 'jane', rules: others });
    expectStatus(await send(), refusal(asked));
    await notEnough();
    const rules = [may(verb, what, group, name === undefined ? [] : [name])];
    const enough = await grant(server, { to: 'jane', rules, ...(namespace === undefined ? {} : { namespace }) });
    // A dry run, so that the next case finds what this one asks for.
    const dry = `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;
    const allowed = await server.call(method, method === 'GET' ? path : dry, {
      ...bodyFor(method),
      ...headersFor(method),
      ...asUser('jane'),
    });
    expect(allowed.code, allowed.text).not.toBe(403);
    await enough();
    expectStatus(await send(), refusal(asked));
  });
});

describe('the words of a refusal', () => {
  it('P-33: name what a selector names', async () => {
    const answer = await server.call('GET', `${inNamespace('pods')}?fieldSelector=metadata.name%3Dx`, asUser('jane'));
    expectStatus(answer, refusal({ method: '', path: '', verb: 'list', resource: 'pods', name: 'x', namespace: 'ci' }));
  });

  it('P-34: name a path that is no resource', async () => {
    expectStatus(await server.call('POST', '/elsewhere/x', { ...asUser('jane'), body: {} }), {
      code: 403,
      reason: 'Forbidden',
      message: 'forbidden: User "jane" cannot post path "/elsewhere/x"',
      details: {},
    });
  });

  it('P-35: tell of a role that is not there', async () => {
    const names = ['missing-1', 'missing-2'];
    for (const name of names) {
      const before = await server.call('GET', inNamespace('pods'), asUser('jane'));
      expect(before.code).toBe(403);
      await create(server, `${RBAC}/clusterrolebindings`, {
        metadata: { name },
        subjects: [user('jane')],
        roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
      });
    }
    const missing = (name: string) => `clusterrole.rbac.authorization.k8s.io "${name}" not found`;
    const { json } = await server.call('GET', inNamespace('pods'), asUser('jane'));
    expect(json.message).toBe(
      `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "ci": RBAC: [${names.map(missing).join(', ')}]`,
    );
    await server.call('DELETE', `${RBAC}/clusterrolebindings/missing-2`);
    const one = await server.call('GET', inNamespace('pods'), asUser('jane'));
    expect(one.json.message).toMatch(
      /in the namespace "ci": RBAC: clusterrole.rbac.authorization.k8s.io "missing-1" not found$/,
    );
    await server.call('DELETE', `${RBAC}/clusterrolebindings/missing-1`);
  });

  it('P-36: hold no markup', async () => {
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
      [there, absent].map((path) => server.call('POST', path, { body: ASK, ...asUser('jane') })),
    );
    expect(one?.code).toBe(403);
    expect(other?.code).toBe(403);
    expect(namedAlike(other?.text ?? '', names)).toBe(one?.text);
  });

  it('nor of an absent cluster in the registry', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const [there, absent] = await Promise.all(
        ['alpha', 'ghost'].map((name) =>
          server.call(method, `${CLUSTERS}/${name}`, { ...bodyFor(method), ...headersFor(method), ...asUser('jane') }),
        ),
      );
      expect(there?.code).toBe(403);
      expect(absent?.text.replaceAll('ghost', 'alpha')).toBe(there?.text);
    }
  });

  it('nor a broken body, or one of the wrong type', async () => {
    for (const options of [{ body: '{' }, { body: 'x', headers: { 'Content-Type': 'text/plain' } }]) {
      expect((await server.call('POST', tokenPath(), { ...options, ...asUser('jane') })).code).toBe(403);
    }
  });
});
