import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { rawCall } from './support/raw-http.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, createWorld, inNamespace, post, tokenPath } from './support/token-world.ts';

/** Which paths and methods are the token operation, and how all others near it are answered. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

describe('paths', () => {
  it.each<[string, string, number, string]>([
    [
      'T-12a: an empty name',
      '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts//token',
      400,
      'name must be provided',
    ],
    ['T-12m: a name with %', tokenPath('a%25b'), 400, `Name parameter invalid: \\"a%b\\": may not contain '%'`],
    ['T-12m, M-07: ..', tokenPath('..'), 400, `Name parameter invalid: \\"..\\": may not be '..'`],
    ['M-07: .. as namespace', tokenPath('builder', '..'), 400, `may not be '..'`],
    ['A16: an encoded slash', tokenPath('a%2Fb'), 400, 'the request path must not contain the escape \\"%2F\\"'],
    ['A16: encoded dots', tokenPath('%2e%2e'), 400, 'the request path must not contain the escape \\"%2e\\"'],
    ['A16: NUL', tokenPath('a%00'), 400, 'the request path must not contain the escape \\"%00\\"'],
    [
      'M-08: case counts',
      tokenPath().replace('serviceaccounts', 'serviceAccounts'),
      404,
      'the server could not find the requested resource',
    ],
    [
      'R-03: another subresource',
      tokenPath().replace('/token', '/tokens'),
      404,
      'the server could not find the requested resource',
    ],
    ['R-03: below the token', `${tokenPath()}/x`, 404, 'the server could not find the requested resource'],
    [
      'R-03: without a namespace',
      '/orchestrator/alpha/api/v1/serviceaccounts/builder/token',
      404,
      'the server could not find',
    ],
    [
      'R-03: without a cluster',
      '/api/v1/namespaces/ci/serviceaccounts/builder/token',
      404,
      'the server could not find',
    ],
    ['R-03: another version', tokenPath().replace('/v1/', '/v2/'), 404, 'the server could not find'],
    ['R-03: a token of a pod', inNamespace('pods/web-0/token'), 404, 'the server could not find'],
    [
      'R-03: an empty cluster',
      '/orchestrator//api/v1/namespaces/ci/serviceaccounts/builder/token',
      404,
      'the server could not find',
    ],
    ['R-07: a trailing slash', `${tokenPath()}/`, 201, '"kind":"TokenRequest"'],
    ['M-06: an escaped letter', tokenPath('%62uilder'), 201, '"kind":"TokenRequest"'],
  ])('%s', async (_, path, code, words) => {
    const answer = await rawCall(server, 'POST', path, { body: JSON.stringify(ASK) });
    expect(answer.text).toContain(words);
    expect(answer.code).toBe(code);
  });

  it('R-03: is a Status with empty details', async () => {
    expectStatus(await post(server, ASK, { path: `${tokenPath()}s` }), {
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    });
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('R-04: %s is 405 without an Allow header', async (method) => {
    const answer = await server.call(method, tokenPath());
    expectStatus(answer, {
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
      details: {},
    });
    expect(answer.headers.get('allow')).toBeNull();
  });

  it('R-04, R-09: HEAD is 405', async () => {
    expect((await server.call('HEAD', tokenPath())).code).toBe(405);
  });
});
