import { describe, expect, test } from 'vitest';
import { isFilteredList } from '../../api/authorization.ts';
import { ApiError } from '../../api/status.ts';
import { createRequestLineParser, type Method, type RequestInfo } from './request-info.ts';

const parse = createRequestLineParser({ productName: 'orchestrator' });
const infoOf = (method: Method, target: string): RequestInfo => parse(method, target).info;
const resource = (method: Method, target: string) => {
  const info = infoOf(method, target);
  if (info.type !== 'resource') throw new Error(`${target} names the path ${info.path}`);
  return info;
};
const refusal = (target: string): string => {
  try {
    parse('GET', target);
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 400) return error.message;
    throw error;
  }
  throw new Error(`${target} was accepted`);
};

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const SA = '/orchestrator/a/api/v1/namespaces/ns/serviceaccounts';

describe('resources', () => {
  test('P-02: the token path', () => {
    const { target, question } = resource('POST', `${SA}/sa/token`);
    expect(target).toEqual({
      verb: 'create',
      cluster: 'a',
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      subresource: 'token',
      namespace: 'ns',
      name: 'sa',
      alwaysPublic: false,
    });
    expect(question).toEqual({
      verb: 'create',
      group: '',
      resource: 'serviceaccounts',
      subresource: 'token',
      namespace: 'ns',
      name: 'sa',
      cluster: 'a',
    });
  });

  test('the kubeconfig of a cluster takes the right to get the cluster', () => {
    const { target, question } = resource('GET', '/auth/v1/clusters/a/kubeconfig?as=ns/sa&watch=1');
    expect(target).toEqual({
      verb: 'get',
      cluster: undefined,
      group: 'clusterregistry.k8s.io',
      version: 'v1alpha1',
      resource: 'clusters',
      subresource: 'kubeconfig',
      namespace: '',
      name: 'a',
      alwaysPublic: true,
    });
    expect(question).toEqual(resource('GET', `${CLUSTERS}/a`).question);
    for (const path of ['/auth/v1/clusters/a', '/auth/v1/clusters//kubeconfig', '/auth/v1/clusters/a/other']) {
      expect(infoOf('GET', path), path).toMatchObject({ type: 'path', path });
    }
    expect(infoOf('GET', '/auth/v1/clusters/a/kubeconfig/b').type).toBe('path');
  });

  test('the public list of clusters', () => {
    const { target } = resource('GET', '/auth/v1/clusters');
    expect(target).toMatchObject({
      verb: 'list',
      cluster: undefined,
      group: 'clusterregistry.k8s.io',
      version: 'v1alpha1',
      resource: 'clusters',
      name: '',
      alwaysPublic: true,
    });
    expect(resource('GET', '/auth/v1/clusters?watch').target.verb).toBe('watch');
    expect(infoOf('GET', '/auth/v1/clusters/x').type).toBe('path');
  });

  test.each<[Method, string, string]>([
    ['GET', CLUSTERS, 'list'],
    ['HEAD', CLUSTERS, 'list'],
    ['GET', `${CLUSTERS}/x`, 'get'],
    ['HEAD', `${CLUSTERS}/x`, 'get'],
    ['POST', CLUSTERS, 'create'],
    ['PUT', `${CLUSTERS}/x`, 'update'],
    ['PATCH', `${CLUSTERS}/x`, 'patch'],
    ['DELETE', `${CLUSTERS}/x`, 'delete'],
    ['DELETE', CLUSTERS, 'deletecollection'],
  ])('P-01: %s %s is %s', (method, target, verb) => {
    expect(resource(method, target).target.verb).toBe(verb);
  });

  test.each([
    ['?watch', 'watch'],
    ['?watch=', 'watch'],
    ['?watch=no', 'watch'],
    ['?watch=1', 'watch'],
    ['?watch=0', 'list'],
    ['?watch=False', 'list'],
    ['?Watch=true', 'list'],
    ['?watch=true&limit=abc', 'watch'],
  ])('L-21, P-03: %s is a %s', (query, verb) => {
    expect(resource('GET', `${CLUSTERS}${query}`).target.verb).toBe(verb);
  });

  test('R-08: watch on an item is a get', () => {
    expect(resource('GET', `${CLUSTERS}/x?watch=true`).target.verb).toBe('get');
  });

  test('V-16: the deprecated watch paths', () => {
    expect(resource('GET', '/apis/clusterregistry.k8s.io/v1alpha1/watch/clusters').target).toMatchObject({
      verb: 'watch',
      resource: 'clusters',
      name: '',
    });
    expect(resource('GET', '/orchestrator/a/api/v1/watch/namespaces/ns/serviceaccounts/sa').target).toMatchObject({
      verb: 'watch',
      cluster: 'a',
      resource: 'serviceaccounts',
      namespace: 'ns',
      name: 'sa',
    });
    const selected = resource(
      'GET',
      '/apis/clusterregistry.k8s.io/v1alpha1/watch/clusters?fieldSelector=metadata.name=x',
    );
    expect(selected.question.name).toBe('');
  });

  test('a request about one namespace is asked in that namespace', () => {
    const item = resource('GET', '/orchestrator/a/api/v1/namespaces/ns');
    expect(item.target).toMatchObject({ resource: 'namespaces', name: 'ns', namespace: '' });
    expect(item.question).toMatchObject({ resource: 'namespaces', name: 'ns', namespace: 'ns' });
    const status = resource('PUT', '/orchestrator/a/api/v1/namespaces/ns/status');
    expect(status.target).toMatchObject({ resource: 'namespaces', name: 'ns', subresource: 'status', namespace: '' });
    expect(resource('GET', '/orchestrator/a/api/v1/namespaces').question.namespace).toBe('');
  });

  test('a cluster of the registry is asked about as that cluster', () => {
    expect(resource('GET', `${CLUSTERS}/x`).question.cluster).toBe('x');
    expect(resource('PUT', `${CLUSTERS}/x/status`).question.cluster).toBe('x');
    expect(resource('POST', CLUSTERS).question.cluster).toBeUndefined();
    expect(resource('DELETE', CLUSTERS).question.cluster).toBeUndefined();
  });

  test.each([
    ['metadata.name=x', 'x'],
    ['metadata.name==x', 'x'],
    ['a=b,metadata.name=x', 'x'],
    ['metadata.name!=x', ''],
    ['metadata.name=..', ''],
    ['metadata.name=a/b', ''],
    ['metadata.name=a\\,b', 'a,b'],
    ['metadata.name=a\\x', ''],
    ['metadata.name', ''],
    ['metadata.name=x,junk', ''],
  ])('L-28, P-33: fieldSelector %s asks about %j', (selector, name) => {
    const target = `${SA}?fieldSelector=${encodeURIComponent(selector)}`;
    expect(resource('GET', target).question.name).toBe(name);
    expect(resource('GET', target).target.name).toBe('');
    expect(resource('DELETE', target).question.name).toBe('');
  });

  test('P-03: options that do not decode leave no name', () => {
    expect(resource('GET', `${SA}?fieldSelector=metadata.name=x&limit=abc`).question.name).toBe('');
    expect(resource('GET', `${SA}?fieldSelector=metadata.name=x&limit=1`).question.name).toBe('x');
  });

  test('decision 9: only the list and watch of clusters are left to the handler', () => {
    const filtered = (method: Method, target: string) => isFilteredList(resource(method, target).target);
    expect(filtered('GET', CLUSTERS)).toBe(true);
    expect(filtered('GET', `${CLUSTERS}?watch=1`)).toBe(true);
    expect(filtered('GET', '/auth/v1/clusters')).toBe(true);
    expect(filtered('GET', `${CLUSTERS}/x`)).toBe(false);
    expect(filtered('DELETE', CLUSTERS)).toBe(false);
    expect(filtered('GET', `${CLUSTERS}//status`)).toBe(false);
    expect(filtered('GET', SA)).toBe(false);
    expect(filtered('GET', `/orchestrator/a${CLUSTERS}`)).toBe(false);
  });
});

describe('R-07: slashes', () => {
  test('trailing ones do not count', () => {
    expect(resource('GET', `${CLUSTERS}/`).target.verb).toBe('list');
    expect(resource('POST', `${SA}/sa/token//`).target.subresource).toBe('token');
    expect(infoOf('GET', '/livez/')).toMatchObject({ type: 'path', path: '/livez' });
  });

  test('T-12a: an empty name before a subresource is kept', () => {
    expect(resource('POST', `${SA}//token`).target).toMatchObject({ name: '', subresource: 'token' });
  });

  test.each([
    '/apis//v1/serviceaccounts/sa',
    '/apis/g//things/x',
    '/api//pods',
    '//api/v1/pods',
    '/orchestrator//api/v1/namespaces/ns/serviceaccounts/sa/token',
    '/orchestrator/a/api/v1/namespaces//serviceaccounts/sa/token',
    '/orchestrator/a//api/v1/pods',
    '/apis/g/v1//x',
  ])('%s names no resource: an empty segment would be a second spelling', (target) => {
    expect(infoOf('GET', target).type).toBe('path');
  });

  test('deeper paths are one unknown subresource', () => {
    expect(resource('GET', `${CLUSTERS}/x/status/y`).target.subresource).toBe('status/y');
  });
});

describe('other paths', () => {
  test.each([
    ['/', undefined, '/'],
    ['/apis', undefined, '/apis'],
    ['/api/v1', undefined, '/api/v1'],
    ['/apis/g/v1', undefined, '/apis/g/v1'],
    ['/orchestrator', undefined, '/orchestrator'],
    ['/orchestrator/a', 'a', '/'],
    ['/orchestrator/a/api', 'a', '/api'],
    ['/orchestrator/a/.well-known/openid-configuration', 'a', '/.well-known/openid-configuration'],
    ['/Orchestrator/a/api/v1/pods', undefined, '/Orchestrator/a/api/v1/pods'],
  ])('%s', (target, cluster, path) => {
    expect(infoOf('GET', target)).toEqual({ type: 'path', verb: 'get', cluster, path });
  });

  test('P-01: the verb is the method in lower case', () => {
    expect(infoOf('HEAD', '/apis')).toMatchObject({ verb: 'head' });
  });

  test('the product has another name', () => {
    const kubernetes = createRequestLineParser({ productName: 'kubernetes' });
    expect(kubernetes('GET', '/kubernetes/a/api/v1/pods').info).toMatchObject({ target: { cluster: 'a' } });
    expect(kubernetes('GET', '/orchestrator/a/api/v1/pods').info.type).toBe('path');
  });
});

describe('L-20, C-G: a query that could be read in two ways is refused', () => {
  test.each([
    ['limit=1&limit=2', 'the query parameter "limit" must be given once'],
    ['passesFor=person&passesFor=agent', 'the query parameter "passesFor" must be given once'],
    ['hash=A&hash=B', 'the query parameter "hash" must be given once'],
    ['watch=false&watch=true', 'the query parameter "watch" must be given once'],
    ['fieldSelector=metadata.name%3Da&fieldSelector=', 'the query parameter "fieldSelector" must be given once'],
    ['labelSelector=%80', 'the query is not valid UTF-8 when decoded'],
    ['%ff=1', 'the query is not valid UTF-8 when decoded'],
    ['a=%1', 'the query contains an invalid percent-escape'],
  ])('%s', (query, message) => {
    expect(refusal(`${CLUSTERS}?${query}`)).toBe(message);
  });

  test.each(['dryRun=All&dryRun=All', 'unknown=1&unknown=2', 'labelSelector=%C3%A9&x=%20+'])('%s is read', (query) => {
    expect(parse('GET', `${CLUSTERS}?${query}`).query.size).toBe(2);
  });
});

describe('A16: paths that two programs could read differently are refused', () => {
  test.each([
    ['http://x/livez', 'the request target must be a path that starts with "/"'],
    ['*', 'the request target must be a path that starts with "/"'],
    ['', 'the request target must be a path that starts with "/"'],
    [`${CLUSTERS}/a%2fb`, 'the request path must not contain the escape "%2f"'],
    [`${CLUSTERS}/a%2Fb`, 'the request path must not contain the escape "%2F"'],
    [`${CLUSTERS}/a%5cb`, 'the request path must not contain the escape "%5c"'],
    [`${CLUSTERS}/a%00b`, 'the request path must not contain the escape "%00"'],
    [`${CLUSTERS}/a%0ab`, 'the request path must not contain the escape "%0a"'],
    [`${CLUSTERS}/%2e%2e/x`, 'the request path must not contain the escape "%2e"'],
    [`${CLUSTERS}/a%7fb`, 'the request path must not contain the escape "%7f"'],
    [`${CLUSTERS}/a\\b`, 'the request path must not contain a backslash'],
    [`${CLUSTERS}/a#b`, 'the request target must not contain "#"'],
    [`${CLUSTERS}/a%zz`, 'the request path contains an invalid percent-escape'],
    [`${CLUSTERS}/a%`, 'the request path contains an invalid percent-escape'],
    [`${CLUSTERS}/%ff`, 'the request path is not valid UTF-8 when decoded'],
    [`${CLUSTERS}/%c0%ae`, 'the request path is not valid UTF-8 when decoded'],
    [`${CLUSTERS}/%c2%85`, 'the request path must not contain control characters'],
    [`${CLUSTERS}/\u00fc`, 'the request target must be printable ASCII; anything else has to be percent-encoded'],
    [`${CLUSTERS}/a b`, 'the request target must be printable ASCII; anything else has to be percent-encoded'],
  ])('%s', (target, message) => {
    expect(refusal(target)).toBe(message);
  });

  test('M-07: dot segments', () => {
    expect(refusal(`${CLUSTERS}/..`)).toBe(`Name parameter invalid: "..": may not be '..'`);
    expect(refusal(`${CLUSTERS}/./x`)).toBe(`Name parameter invalid: ".": may not be '.'`);
    expect(refusal('/orchestrator/../api/v1/pods')).toBe(`Name parameter invalid: "..": may not be '..'`);
  });

  test('T-12m, M-06: a percent sign that survives decoding', () => {
    expect(refusal(`${SA}/a%25b/token`)).toBe(`Name parameter invalid: "a%b": may not contain '%'`);
    expect(refusal(`${SA}/a%252fb/token`)).toBe(`Name parameter invalid: "a%2fb": may not contain '%'`);
  });

  test('harmless escapes are decoded once, and the path stays as it was asked', () => {
    const parsed = parse('GET', `${CLUSTERS}/%41%c3%bc?x=%2f`);
    expect(parsed.info).toMatchObject({ target: { name: 'A\u00fc' } });
    expect(parsed.path).toBe(`${CLUSTERS}/%41%c3%bc`);
    expect(parsed.query.get('x')).toBe('/');
  });

  test('M-08: everything is case-sensitive', () => {
    expect(infoOf('GET', '/APIS/g/v1/things').type).toBe('path');
  });
});

test('the query is read as the URL standard says, also behind a second question mark', () => {
  const { query } = parse('GET', `${CLUSTERS}??a=1&b=%c3%a9+x&b=2&c&__proto__=3`);
  expect([query.get('?a'), query.get('a'), query.getAll('b'), query.get('c'), query.get('__proto__')]).toEqual([
    '1',
    null,
    ['\u00e9 x', '2'],
    '',
    '3',
  ]);
});
