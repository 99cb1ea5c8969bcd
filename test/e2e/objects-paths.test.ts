import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { createHomes, kindCase, objectOf } from './support/kinds.ts';
import { rawCall } from './support/raw-http.ts';
import { RBAC } from './support/rbac.ts';
import { type Server, startServer } from './support/server.ts';
import { CLUSTERS, create, createAccount, inNamespace, tokenPath } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createHomes(server);
  await createAccount(server, 'builder');
});
afterAll(() => server.destroy());

const badPath = (message: string) => ({ code: 400, message });
const refusedEscape = (text: string) => badPath(`the request path must not contain the escape "${text}"`);

describe('A16, C-G, M-06, M-07: a path is read once, and never repaired', () => {
  it.each<[string, { code: number; message: string }]>([
    [`${CLUSTERS}/..%2fsecrets`, refusedEscape('%2f')],
    [`${CLUSTERS}/a%2Fb`, refusedEscape('%2F')],
    [`${inNamespace('serviceaccounts')}/a%2Fb/token`, refusedEscape('%2F')],
    [`${CLUSTERS}/%2e%2e`, refusedEscape('%2e')],
    [`${CLUSTERS}/a%5cb`, refusedEscape('%5c')],
    [`${CLUSTERS}/a%00b`, refusedEscape('%00')],
    [`${CLUSTERS}/a%0d%0aX:y`, refusedEscape('%0d')],
    [`${CLUSTERS}/a%7f`, refusedEscape('%7f')],
    [`${CLUSTERS}/a%25b`, badPath(`Name parameter invalid: "a%b": may not contain '%'`)],
    [`${CLUSTERS}/a%252e`, badPath(`Name parameter invalid: "a%2e": may not contain '%'`)],
    [`${CLUSTERS}/..`, badPath(`Name parameter invalid: "..": may not be '..'`)],
    [`${CLUSTERS}/.`, badPath(`Name parameter invalid: ".": may not be '.'`)],
    ['/orchestrator/../apis', badPath(`Name parameter invalid: "..": may not be '..'`)],
    [inNamespace('pods', '..'), badPath(`Name parameter invalid: "..": may not be '..'`)],
    [tokenPath('..'), badPath(`Name parameter invalid: "..": may not be '..'`)],
    [`${CLUSTERS}/a\\b`, badPath('the request path must not contain a backslash')],
    [`${CLUSTERS}/a%zz`, badPath('the request path contains an invalid percent-escape')],
    [`${CLUSTERS}/a%`, badPath('the request path contains an invalid percent-escape')],
    [`${CLUSTERS}/%ff`, badPath('the request path is not valid UTF-8 when decoded')],
    [`${CLUSTERS}/%c0%af`, badPath('the request path is not valid UTF-8 when decoded')],
    [`${CLUSTERS}/%c2%85`, badPath('the request path must not contain control characters')],
    [`http://x${CLUSTERS}`, badPath('the request target must be a path that starts with "/"')],
  ])('%s', async (path, { code, message }) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await rawCall(server, method, path, { body: method === 'GET' ? '' : '{}' });
      expect(answer.code).toBe(code);
      expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', reason: 'BadRequest', message, code });
    }
  });

  it.each([
    '//apis/clusterregistry.k8s.io/v1alpha1/clusters',
    '/apis//v1alpha1/clusters',
    '/apis//v1/namespaces/ci/pods',
    '/orchestrator//api/v1/pods',
    '/orchestrator/alpha//api/v1/pods',
    '/orchestrator/alpha/api//pods',
    '/orchestrator/alpha/api/v1//pods',
    '/orchestrator/alpha/api/v1/namespaces//pods',
    '/auth/v1//clusters',
    '/auth//v1/clusters',
  ])('R-07: an empty segment is not skipped: %s', async (path) => {
    const answer = await rawCall(server, 'GET', path);
    expect(answer.code, answer.text).toBe(404);
  });

  it('T-12a: an empty name before a subresource is a name that is missing', async () => {
    const answer = await rawCall(server, 'POST', tokenPath(''), { body: '{}' });
    expect(answer.code).toBe(400);
    expect(JSON.parse(answer.text).message).toBe('name must be provided');
  });

  it('R-07: a slash at the end changes nothing', async () => {
    const { text } = await server.call('GET', inNamespace('serviceaccounts'));
    for (const path of ['serviceaccounts/', 'serviceaccounts//']) {
      expect((await rawCall(server, 'GET', inNamespace(path))).text).toBe(text);
    }
    expect((await rawCall(server, 'GET', '/auth/v1/clusters/')).code).toBe(200);
  });

  it('M-08: case matters everywhere', async () => {
    for (const path of [
      '/Auth/v1/clusters',
      '/auth/v1/Clusters',
      `${CLUSTERS.replace('clusters', 'Clusters')}`,
      '/orchestrator/alpha/api/v1/Pods',
      '/Orchestrator/alpha/api/v1/pods',
      inNamespace('serviceaccounts').replace('/namespaces/', '/Namespaces/'),
    ]) {
      expect((await server.call('GET', path)).code, path).toBe(404);
    }
    expect((await server.call('GET', inNamespace('serviceaccounts', 'CI'))).json.items).toEqual([]);
    // An unknown parameter is ignored.
    expect((await server.call('GET', `${CLUSTERS}?LIMIT=abc`)).code).toBe(200);
  });
});

describe('routing', () => {
  const notFound = {
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  };
  const notAllowed = {
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  };

  it.each([
    '/nowhere',
    '/apis/example.com/v1/gadgets',
    '/apis/clusterregistry.k8s.io/v1/clusters',
    '/api/v1/pods',
    '/api/v1/namespaces/ci/serviceaccounts',
    '/orchestrator/alpha/api/v1/gadgets',
    '/orchestrator/alpha/api/v1/namespaces/ci/gadgets',
    // R-02, CVE-2019-11247: a kind is reached by paths of its own scope only.
    '/apis/clusterregistry.k8s.io/v1alpha1/namespaces/ci/clusters',
    '/apis/clusterregistry.k8s.io/v1alpha1/namespaces/ci/clusters/alpha',
    `${RBAC}/namespaces/ci/clusterroles`,
    `${RBAC}/roles/x`,
    '/orchestrator/alpha/api/v1/pods/x',
    '/orchestrator/alpha/apis/clusterregistry.k8s.io/v1alpha1/clusters',
    '/orchestrator/alpha/auth/v1/clusters',
    `/orchestrator/alpha${RBAC}/clusterroles`,
    // L-05: clusters are built in.
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    //
    inNamespace('serviceaccounts/builder/scale'),
    inNamespace('pods/web-0/status'),
    inNamespace('serviceaccounts/builder/token/x'),
    '/orchestrator/alpha',
  ])('R-01, R-02, R-03, L-05, decision 11: nothing is served at %s', async (path) => {
    expectStatus(await server.call('GET', path), notFound);
  });

  it.each<[string, string]>([
    ['GET', tokenPath()],
    ['PUT', tokenPath()],
    ['DELETE', tokenPath()],
    ['POST', inNamespace('serviceaccounts/builder')],
    ['PUT', inNamespace('serviceaccounts')],
    ['PATCH', inNamespace('serviceaccounts')],
    ['POST', '/orchestrator/alpha/api/v1/pods'],
    ['DELETE', '/orchestrator/alpha/api/v1/pods'],
    ['DELETE', '/orchestrator/alpha/api/v1/namespaces'],
    // built-in paths do not answer HEAD.
    ['HEAD', inNamespace('serviceaccounts')],
  ])('R-04: %s %s is 405, without Allow', async (method, path) => {
    const answer = await server.call(method, path, ['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {});
    if (method === 'HEAD') expect(answer.code).toBe(405);
    else expectStatus(answer, notAllowed);
    expect(answer.headers.get('allow')).toBeNull();
  });

  it.each<[string, string, string]>([
    ['POST', `${CLUSTERS}/alpha`, 'create'],
    ['PUT', CLUSTERS, 'update'],
    ['PATCH', CLUSTERS, 'patch'],
    ['POST', '/auth/v1/clusters', 'create'],
    ['DELETE', '/auth/v1/clusters', 'deletecollection'],
  ])('R-05: %s %s is 405', async (method, path, verb) => {
    expectStatus(await server.call(method, path, method === 'DELETE' ? {} : { body: {} }), {
      code: 405,
      reason: 'MethodNotAllowed',
      message: `${verb} is not supported on resources of kind "clusters.clusterregistry.k8s.io"`,
      details: { group: 'clusterregistry.k8s.io', kind: 'clusters' },
    });
    expect((await server.call('GET', `${CLUSTERS}/alpha`)).code).toBe(200);
  });

  it('R-06: an unknown subresource of a cluster is not found', async () => {
    expectStatus(await server.call('GET', `${CLUSTERS}/alpha/scale`), {
      code: 404,
      reason: 'NotFound',
      message: 'clusters.clusterregistry.k8s.io "alpha" not found',
      details: { name: 'alpha', group: 'clusterregistry.k8s.io', kind: 'clusters' },
    });
  });

  it('R-08: a watch of one object is a get', async () => {
    const plain = await server.call('GET', `${CLUSTERS}/alpha`);
    expect((await server.call('GET', `${CLUSTERS}/alpha?watch=true`)).text).toBe(plain.text);
  });

  it('R-09: HEAD is answered for clusters', async () => {
    const head = await server.call('HEAD', CLUSTERS);
    expect(head.code).toBe(200);
    expect(head.text).toBe('');
    expect((await server.call('HEAD', `${CLUSTERS}/alpha`)).code).toBe(200);
    expect((await server.call('HEAD', `${CLUSTERS}/absent`)).code).toBe(404);
  });

  it('L-14: the list of a namespace that is not there is empty', async () => {
    const { code, json } = await server.call('GET', inNamespace('pods', 'nowhere'));
    expect({ code, items: json.items }).toEqual({ code: 200, items: [] });
  });

  it('A16: a name that begins like another is another', async () => {
    await create(server, CLUSTERS, objectOf(kindCase('Cluster'), { name: 'alp' }));
    for (const path of [
      '/orchestrator/alp/api/v1/namespaces',
      '/orchestrator/alp/api/v1/serviceaccounts',
      inNamespace('serviceaccounts', 'c'),
    ]) {
      expect((await server.call('GET', path)).json.items).toEqual([]);
    }
  });
});
