import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import {
  ASK,
  asUser,
  bind,
  CLUSTERS,
  create,
  createAccount,
  createCluster,
  createNamespace,
  createWorld,
  inNamespace,
  issue,
  MAY_CREATE_TOKENS,
  post,
  type Rule,
  remove,
  tokenPath,
} from './support/token-world.ts';

/** Who may have a token made, and who the bearer of one is. */

let server: Server;

beforeAll(async () => {
  server = await startServer({
    users: { jane: ['dev'], nora: [], rob: [], sid: [], tess: [], mia: ['system:masters'] },
  });
  await createWorld(server);
  await bind(
    server,
    'jane-builder',
    { kind: 'User', name: 'jane' },
    { ...MAY_CREATE_TOKENS, resourceNames: ['builder'] },
  );
  await bind(server, 'rob-prod', { kind: 'User', name: 'rob' }, MAY_CREATE_TOKENS, 'env=prod');
  await bind(
    server,
    'sid-accounts',
    { kind: 'User', name: 'sid' },
    { verbs: ['*'], apiGroups: [''], resources: ['serviceaccounts'] },
  );
  await create(server, inNamespace('rolebindings').replace('/orchestrator/alpha/api/v1', RBAC_V1), {
    metadata: { name: 'tess-in-ci', namespace: 'ci' },
    subjects: [{ kind: 'User', name: 'tess', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
  });
  await createAccount(server, 'builder', 'shop');
});
afterAll(() => server.destroy());

const RBAC_V1 = '/apis/rbac.authorization.k8s.io/v1';

const refusal = (user: string, account = 'builder', namespace = 'ci') => ({
  code: 403,
  reason: 'Forbidden',
  message: `serviceaccounts "${account}" is forbidden: User "${user}" cannot create resource "serviceaccounts/token" in API group "" in the namespace "${namespace}"`,
  details: { name: account, kind: 'serviceaccounts' },
});

describe('who may ask (P-02, P-12, P-13, P-30)', () => {
  it.each<[string, string, string, number]>([
    ['jane, who may by that name', 'jane', tokenPath(), 201],
    ['P-13: jane, for another name', 'jane', tokenPath('other'), 403],
    ['jane, in another namespace', 'jane', tokenPath('builder', 'shop'), 201],
    ['rob, where the labels match', 'rob', tokenPath(), 201],
    ['rob, where they do not', 'rob', tokenPath('builder', 'ci', 'beta'), 403],
    ['P-12: sid, who may do anything with accounts but not with their tokens', 'sid', tokenPath(), 403],
    ['P-17: tess, in her namespace', 'tess', tokenPath(), 201],
    ['P-17: tess, elsewhere', 'tess', tokenPath('builder', 'shop'), 403],
    ['nora, who may nothing', 'nora', tokenPath(), 403],
    ['P-19: mia, one of the masters', 'mia', tokenPath(), 201],
  ])('%s', async (_, user, path, code) => {
    expect((await post(server, ASK, { path, ...asUser(user) })).code).toBe(code);
  });

  it('P-30, A-05: the refusal in full', async () => {
    const answer = await post(server, ASK, asUser('nora'));
    expectStatus(answer, refusal('nora'));
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each(['constructor', 'toString', 'constructor in (x)'])(
    'a selector that asks for the label %s finds it only where it is',
    async (selector) => {
      const name = `nora-${selector.replaceAll(/\W/g, '')}`;
      await bind(server, name, { kind: 'User', name: 'nora' }, MAY_CREATE_TOKENS, selector);
      expect((await post(server, ASK, asUser('nora'))).code).toBe(403);
      await server.call('DELETE', `${RBAC_V1}/clusterrolebindings/${name}`);
    },
  );

  it('names that objects in JavaScript have anyway are names like any other', async () => {
    const [odd, path] = ['constructor', tokenPath('constructor', 'constructor', 'constructor')];
    expect((await post(server, ASK, { path })).json.message).toBe(
      'clusters.clusterregistry.k8s.io "constructor" not found',
    );
    await createCluster(server, odd);
    expect((await post(server, ASK, { path })).json.message).toBe('namespaces "constructor" not found');
    await createNamespace(server, odd, odd);
    expect((await post(server, ASK, { path })).json.message).toBe('serviceaccounts "constructor" not found');
    await createAccount(server, odd, odd, odd);
    const { code, json } = await post(server, ASK, { path });
    expect(code).toBe(201);
    expect((await server.call('GET', '/auth/v1/clusters', { token: json.status.token })).code).toBe(200);
    await remove(server, `${CLUSTERS}/${odd}`);
  });

  it('takes effect at once, both ways', async () => {
    await bind(server, 'nora-brief', { kind: 'User', name: 'nora' });
    expect((await post(server, ASK, asUser('nora'))).code).toBe(201);
    await server.call('DELETE', `${RBAC_V1}/clusterrolebindings/nora-brief`);
    expect((await post(server, ASK, asUser('nora'))).code).toBe(403);
  });
});

describe('A6, A7, decision 12: a refusal says nothing about what exists', () => {
  const absent: [string, string, string, string][] = [
    ['account', 'gone', 'ci', 'alpha'],
    ['namespace', 'builder', 'gone', 'alpha'],
    ['cluster', 'builder', 'ci', 'gone'],
    ['anything', 'gone', 'gone', 'gone'],
  ];
  it.each(absent)('an absent %s is refused like a present one', async (_, account, namespace, cluster) => {
    const answer = await post(server, ASK, { path: tokenPath(account, namespace, cluster), ...asUser('nora') });
    expectStatus(answer, refusal('nora', account, namespace));
  });

  it('a selector by what is absent does not tell a hidden cluster from none', async () => {
    await bind(server, 'nora-not-prod', { kind: 'User', name: 'nora' }, MAY_CREATE_TOKENS, 'env!=prod');
    for (const cluster of ['alpha', 'gone']) {
      expectStatus(
        await post(server, ASK, { path: tokenPath('builder', 'ci', cluster), ...asUser('nora') }),
        refusal('nora'),
      );
    }
    expect((await post(server, ASK, { path: tokenPath('builder', 'ci', 'beta'), ...asUser('nora') })).code).toBe(201);
    await server.call('DELETE', `${RBAC_V1}/clusterrolebindings/nora-not-prod`);
  });

  it('with the very same headers', async () => {
    const here = await post(server, ASK, asUser('nora'));
    const gone = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gone'), ...asUser('nora') });
    const comparable = (headers: Headers) => [...headers].filter(([name]) => name !== 'audit-id' && name !== 'date');
    expect(comparable(gone.headers)).toEqual(comparable(here.headers));
    expect(gone.text).toBe(here.text);
  });

  it.each<[string, Parameters<typeof post>[1], string]>([
    ['a uid', { metadata: { uid: 'x' }, ...ASK }, ''],
    ['a bound object', { spec: { audiences: [], boundObjectRef: { kind: 'Pod', name: 'web-0', uid: 'x' } } }, ''],
    ['a body that can not be read', '{', ''],
    ['unknown fields', '{"x":1}', ''],
    ['bad options', ASK, '?dryRun=x&fieldManager=%01'],
    ['a dry run', ASK, '?dryRun=All'],
  ])('and comes before anyone looks at %s', async (_, body, query) => {
    const answer = await post(server, body, { path: `${tokenPath()}${query}`, ...asUser('nora') });
    expectStatus(answer, refusal('nora'));
    expect(answer.warnings).toEqual([]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])('nor at the type %s', async (type) => {
    expect((await post(server, 'x', { headers: { 'Content-Type': type }, ...asUser('nora') })).code).toBe(403);
  });

  it('C-15: nor whether the path or the method exists', async () => {
    expect((await server.call('GET', tokenPath(), asUser('nora'))).code).toBe(403);
    expect((await server.call('POST', `${tokenPath()}s`, asUser('nora'))).code).toBe(403);
  });

  it('who may ask is told what is missing', async () => {
    expect((await post(server, ASK, { path: tokenPath('builder', 'ci', 'gone'), ...asUser('jane') })).code).toBe(404);
  });
});

describe('who the bearer is (K-30, and elsewhere by another name)', () => {
  const HOME = 'system:serviceaccount:ci:builder';
  const ABROAD = 'system:cluster:alpha:serviceaccount:ci:builder';
  /** What the service calls the bearer of a token from `alpha`. */
  const nameIn = async (path: string): Promise<string> => {
    const { code, json } = await post(server, ASK, { path, token: await issue(server) });
    expect(code).toBe(403);
    return /User "([^"]+)"/.exec(json.message)?.[1] ?? '';
  };

  it('is called by a name that depends on where it goes', async () => {
    expect(await nameIn(tokenPath('other'))).toBe(HOME);
    expect(await nameIn(tokenPath('other', 'ci', 'beta'))).toBe(ABROAD);
    expect(await nameIn(tokenPath('other', 'ci', 'gone'))).toBe(ABROAD);
  });

  const binding = (name: string) => ({ kind: 'User', name }) as const;
  const group = (name: string) => ({ kind: 'Group', name }) as const;
  it.each<[string, { kind: 'User' | 'Group'; name: string }, boolean, boolean]>([
    ['the name at home', binding(HOME), true, false],
    ['the name abroad', binding(ABROAD), false, true],
    ['the name of a namesake in beta', binding(ABROAD.replace('alpha', 'beta')), false, false],
    ['K-30: all accounts', group('system:serviceaccounts'), true, false],
    ['K-30: all accounts of the namespace', group('system:serviceaccounts:ci'), true, false],
    ['all accounts of another namespace', group('system:serviceaccounts:shop'), false, false],
    ['all accounts of alpha', group('system:cluster:alpha:serviceaccounts'), false, true],
    ['all accounts of beta', group('system:cluster:beta:serviceaccounts'), false, false],
    ['K-30: everyone with credentials', group('system:authenticated'), true, true],
    ['K-32: everyone without', group('system:unauthenticated'), false, false],
  ])('a binding to %s', async (_, subject, atHome, abroad) => {
    const name = `test-${subject.name.replaceAll(':', '-')}`;
    const token = await issue(server);
    await bind(server, name, subject);
    const codes = await Promise.all(
      ['alpha', 'beta'].map(
        async (cluster) => (await post(server, ASK, { path: tokenPath('builder', 'ci', cluster), token })).code,
      ),
    );
    await server.call('DELETE', `${RBAC_V1}/clusterrolebindings/${name}`);
    expect(codes).toEqual([atHome ? 201 : 403, abroad ? 201 : 403]);
  });

  it('a subject of kind ServiceAccount means the account at home', async () => {
    await create(server, `${RBAC_V1}/clusterrolebindings`, {
      metadata: { name: 'by-kind' },
      subjects: [{ kind: 'ServiceAccount', name: 'builder', namespace: 'ci' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    });
    const [alpha, beta] = [await issue(server), await issue(server, tokenPath('builder', 'ci', 'beta'))];
    const ask = async (token: string, cluster: string) =>
      (await post(server, ASK, { path: tokenPath('builder', 'ci', cluster), token })).code;
    expect([await ask(alpha, 'alpha'), await ask(alpha, 'beta')]).toEqual([201, 403]);
    expect([await ask(beta, 'alpha'), await ask(beta, 'beta')]).toEqual([403, 201]);
    await server.call('DELETE', `${RBAC_V1}/clusterrolebindings/by-kind`);
  });

  it('sees its own cluster by the name at home, and others by the name abroad', async () => {
    const view: Rule = { verbs: ['get', 'list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
    const token = await issue(server);
    const seen = async (): Promise<string[]> =>
      (await server.call('GET', '/auth/v1/clusters', { token })).json.items.map(
        (item: { metadata: { name: string } }) => item.metadata.name,
      );
    expect(await seen()).toEqual([]);
    await bind(server, 'view-home', binding(HOME), view);
    expect(await seen()).toEqual(['alpha']);
    expect((await server.call('GET', `${CLUSTERS}/alpha`, { token })).code).toBe(200);
    expect((await server.call('GET', `${CLUSTERS}/beta`, { token })).code).toBe(403);
    await bind(server, 'view-abroad', binding(ABROAD), view);
    expect(await seen()).toEqual(['alpha', 'beta']);
  });
});
