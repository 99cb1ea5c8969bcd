import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import { ASK, createWorld, post, tokenPath } from './support/token-world.ts';

/** What is granted: the shape of the answer, defaults, the clamp, the dry run. */

const MAX = 86_400;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let server: Server;
let uids: Awaited<ReturnType<typeof createWorld>>;
let issuer: string;

beforeAll(async () => {
  server = await startServer();
  uids = await createWorld(server);
  issuer = `${server.url}/orchestrator/alpha`;
});
afterAll(() => server.destroy());

const seconds = (timestamp: string): number => Date.parse(timestamp) / 1000;

describe('the answer', () => {
  it('T-03, T-04, T-05, T-09, F-13: is the request with what was granted, byte for byte', async () => {
    const { code, text, json, headers } = await post(server, { spec: { audiences: ['vault'] } });
    expect(code).toBe(201);
    const { creationTimestamp } = json.metadata;
    const { token, expirationTimestamp } = json.status;
    expect(creationTimestamp).toMatch(TIMESTAMP);
    expect(expirationTimestamp).toMatch(TIMESTAMP);
    expect(text).toBe(
      `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","metadata":{"name":"builder","namespace":"ci","uid":"${uids.builder}","creationTimestamp":"${creationTimestamp}"},"spec":{"audiences":["vault"],"expirationSeconds":3600,"boundObjectRef":null},"status":{"token":"${token}","expirationTimestamp":"${expirationTimestamp}"}}\n`,
    );
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('no-cache, private');
    expect(headers.get('warning')).toBeNull();
    expect(headers.get('audit-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('T-05: the bound object comes back as it was sent, without a uid of ours', async () => {
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };
    const { json, text } = await post(server, { spec: { audiences: [], boundObjectRef } });
    expect(json.spec.boundObjectRef).toEqual(boundObjectRef);
    expect(text).toContain('"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"web-0"}},"status"');
  });

  it('T-06: a status that the caller made up is not heard', async () => {
    const { code, json } = await post(server, {
      ...ASK,
      status: { token: 'mine', expirationTimestamp: '2099-01-01T00:00:00Z' },
    });
    expect(code).toBe(201);
    expect(json.status.token).toMatch(/^eyJ/);
    expect(seconds(json.status.expirationTimestamp)).toBeLessThan(Date.now() / 1000 + 3601);
  });

  it('T-07: metadata comes back, with the name, uid and time of ours', async () => {
    const sent = {
      name: 'builder',
      generateName: 'b-',
      namespace: 'ci',
      uid: uids.builder,
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2002-01-01T00:00:00Z',
      labels: { z: '1', a: '2' },
      annotations: { 'example.com/note': '<&>' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }],
      finalizers: ['example.com/f'],
    };
    const { code, json, text } = await post(server, { metadata: sent, ...ASK });
    expect(code).toBe(201);
    const { creationTimestamp, ...rest } = json.metadata;
    const { creationTimestamp: _, ...expected } = sent;
    expect(rest).toEqual(expected);
    expect(Math.abs(seconds(creationTimestamp) - Date.now() / 1000)).toBeLessThan(60);
    expect(text, 'F-12').toContain(
      '"labels":{"a":"2","z":"1"},"annotations":{"example.com/note":"\\u003c\\u0026\\u003e"}',
    );
  });

  it('T-07: name, namespace and uid may be empty, which is to say absent', async () => {
    const { code, json } = await post(server, { metadata: { name: '', namespace: '', uid: '' }, ...ASK });
    expect(code).toBe(201);
    expect(json.metadata).toMatchObject({ name: 'builder', namespace: 'ci', uid: uids.builder });
  });

  it('decision 7: managedFields are neither kept nor returned', async () => {
    const { code, json, warnings } = await post(
      server,
      { metadata: { managedFields: [{ manager: 'me', operation: 'Update' }] }, ...ASK },
      { path: `${tokenPath()}?fieldManager=me` },
    );
    expect(code).toBe(201);
    expect(json.metadata).not.toHaveProperty('managedFields');
    expect(warnings).toEqual([]);
  });

  it('B10, T-10: the time in the answer is the time in the token, and jti never repeats', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(server, ASK)));
    const claims = answers.map(({ json }) => {
      const { exp = 0, iat = 0, jti } = decodeJwt(json.status.token);
      expect(seconds(json.status.expirationTimestamp)).toBe(exp);
      expect(seconds(json.metadata.creationTimestamp)).toBe(iat);
      return jti;
    });
    expect(new Set(claims).size).toBe(20);
  });
});

describe('audiences (decision 2)', () => {
  it.each([
    ['null', null],
    ['empty', []],
  ])('%s means the audience of the cluster itself (T-29)', async (_, audiences) => {
    const { code, json } = await post(server, { spec: { audiences } });
    expect(code).toBe(201);
    expect(json.spec.audiences).toEqual([issuer]);
    expect(decodeJwt(json.status.token).aud).toEqual([issuer]);
  });

  const many = Array.from({ length: 32 }, (_, index) => `a${index}`);
  it.each<[string, string[], string[]]>([
    ['duplicates are folded', ['b', 'a', 'b'], ['b', 'a']],
    ['32 are allowed', many, many],
    ['copies do not count', [...many, ...many], many],
    ['1,024 characters are allowed', ['x'.repeat(1024)], ['x'.repeat(1024)]],
    ['characters are counted, not bytes', ['\u{1f600}'.repeat(1024)], ['\u{1f600}'.repeat(1024)]],
    ['spaces and markup are text like any other', [' ', '<&>', '"\\'], [' ', '<&>', '"\\']],
  ])('%s', async (_, sent, granted) => {
    const { code, json } = await post(server, { spec: { audiences: sent } });
    expect(code).toBe(201);
    expect(json.spec.audiences).toEqual(granted);
    expect(decodeJwt(json.status.token).aud).toEqual(granted);
  });
});

describe('C-A: lifetime', () => {
  it.each<[string, unknown, number, string[]]>([
    ['T-26: absent is an hour', undefined, 3600, []],
    ['T-26: null is an hour', null, 3600, []],
    ['T-14: ten minutes are the least', 600, 600, []],
    ['the maximum itself is granted in silence', MAX, MAX, []],
    [
      'T-27: beyond it the grant is cut',
      MAX + 1,
      MAX,
      [`requested expiration of ${MAX + 1} seconds shortened to ${MAX} seconds`],
    ],
    ['T-15, T-27: 2^32', 4294967296, MAX, [`requested expiration of 4294967296 seconds shortened to ${MAX} seconds`]],
  ])('%s', async (_, asked, granted, expected) => {
    const { code, json, warnings } = await post(server, { spec: { audiences: [], expirationSeconds: asked } });
    expect(code).toBe(201);
    expect(json.spec.expirationSeconds).toBe(granted);
    const { exp = 0, iat = 0 } = decodeJwt(json.status.token);
    expect(exp - iat).toBe(granted);
    expect(warnings).toEqual(expected);
  });

  it('decision 6, T-28: 3607 seconds for a pod are 3607 seconds', async () => {
    const { json } = await post(server, {
      spec: { audiences: [], expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', name: 'web-0' } },
    });
    const claims = decodeJwt(json.status.token);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3607);
    expect(claims['kubernetes.io'], 'K-08').not.toHaveProperty('warnafter');
  });
});

describe('C-A, decision 3: dryRun=All', () => {
  it('predicts the grant and signs nothing', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { code, json, warnings } = await post(
      server,
      { spec: { audiences: [], expirationSeconds: MAX * 2 } },
      { path: `${tokenPath()}?dryRun=All` },
    );
    expect(code).toBe(201);
    expect(json.status.token).toBe('');
    expect(json.spec).toEqual({ audiences: [issuer], expirationSeconds: MAX, boundObjectRef: null });
    const predicted = seconds(json.status.expirationTimestamp);
    expect(predicted).toBeGreaterThanOrEqual(before + MAX);
    expect(predicted).toBeLessThanOrEqual(Date.now() / 1000 + MAX);
    expect(warnings).toHaveLength(1);
  });

  it.each<[string, string, object, number]>([
    ['an absent account', tokenPath('nobody'), ASK, 404],
    ['a lifetime that is too short', tokenPath(), { spec: { audiences: [], expirationSeconds: 1 } }, 422],
    ['a missing pod', tokenPath(), { spec: { audiences: [], boundObjectRef: { kind: 'Pod', name: 'gone' } } }, 404],
  ])('runs every check: %s', async (_, path, body, code) => {
    expect((await post(server, body, { path: `${path}?dryRun=All` })).code).toBe(code);
  });
});

describe('--service-account-max-token-expiration and --product-name', () => {
  it('T-27, K-09: set the clamp, the path and the issuer', async () => {
    const own = await startServer({
      args: ['--service-account-max-token-expiration', '2h', '--product-name', 'kubernetes'],
    });
    try {
      const within = '/kubernetes/gamma/api/v1/namespaces';
      await own.call('POST', '/apis/clusterregistry.k8s.io/v1alpha1/clusters', {
        body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'gamma' } },
      });
      await own.call('POST', within, { body: { metadata: { name: 'ci' } } });
      await own.call('POST', `${within}/ci/serviceaccounts`, { body: { metadata: { name: 'builder' } } });
      const { code, json, warnings } = await own.call('POST', `${within}/ci/serviceaccounts/builder/token`, {
        body: { spec: { audiences: [], expirationSeconds: 9000 } },
      });
      expect(code).toBe(201);
      expect(json.spec).toMatchObject({ audiences: [`${own.url}/kubernetes/gamma`], expirationSeconds: 7200 });
      expect(warnings).toEqual(['requested expiration of 9000 seconds shortened to 7200 seconds']);
      expect((await own.call('POST', tokenPath('builder', 'ci', 'gamma'), { body: ASK })).code).toBe(404);
    } finally {
      await own.destroy();
    }
  });
});
