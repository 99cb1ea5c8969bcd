import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, type ExpectedStatus, expectStatus, notFound } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import { createAccount, createWorld, post, tokenPath } from './support/token-world.ts';

/** What a token can be bound to, and what it can not. */

let server: Server;
let uids: Awaited<ReturnType<typeof createWorld>>;

beforeAll(async () => {
  server = await startServer();
  uids = await createWorld(server);
});
afterAll(() => server.destroy());

describe('C-A: the bound object', () => {
  const unbindable = (type: string) => badRequest(`cannot bind token to object of type ${type}`);
  const staleUid = (kind: string, name: string): ExpectedStatus => ({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${kind} "${name}": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated`,
    details: { name, kind },
  });
  const OTHER_ACCOUNT = badRequest(
    'cannot bind token for serviceaccount "builder" to pod running with different serviceaccount name.',
  );

  it.each<[string, object, ExpectedStatus]>([
    ['T-17: ConfigMap', { kind: 'ConfigMap', apiVersion: 'v1', name: 'x' }, unbindable('/v1, Kind=ConfigMap')],
    ['T-17: an empty reference', {}, unbindable('/, Kind=')],
    ['T-17: a group', { kind: 'Pod', apiVersion: 'apps/v1', name: 'web-0' }, unbindable('apps/v1, Kind=Pod')],
    ['decision 5: Node', { kind: 'Node', apiVersion: 'v1', name: 'node-1' }, unbindable('/v1, Kind=Node')],
    ['T-30: case counts', { kind: 'pod', apiVersion: 'v1', name: 'web-0' }, unbindable('/v1, Kind=pod')],
    ['T-18: a pod without a name', { kind: 'Pod', apiVersion: 'v1' }, badRequest('Name parameter required.')],
    ['T-18: a secret without a name', { kind: 'Secret', name: '' }, badRequest('Name parameter required.')],
    ['T-19: a missing pod', { kind: 'Pod', name: 'gone' }, notFound('pods', 'gone')],
    ['T-19: a missing secret', { kind: 'Secret', name: 'gone' }, notFound('secrets', 'gone')],
    [
      'T-12m: a name that is a path',
      { kind: 'Secret', name: '../ci/tls' },
      badRequest(`Name parameter invalid: "../ci/tls": may not contain '/'`),
    ],
    [
      'T-12m: a name that is a step up',
      { kind: 'Pod', name: '..' },
      badRequest(`Name parameter invalid: "..": may not be '..'`),
    ],
    [
      'T-12m: a name with two faults',
      { kind: 'Pod', name: 'a/b%2f' },
      badRequest(`Name parameter invalid: "a/b%2f": may not contain '/';may not contain '%'`),
    ],
    ['T-20: the pod of another account', { kind: 'Pod', name: 'other-0' }, OTHER_ACCOUNT],
    ['T-20: is found before a wrong uid', { kind: 'Pod', name: 'other-0', uid: 'x' }, OTHER_ACCOUNT],
    ['T-24: another pod of that name', { kind: 'Pod', name: 'web-0', uid: 'x' }, staleUid('Pod', 'web-0')],
    ['T-24: another secret of that name', { kind: 'Secret', name: 'tls', uid: 'x' }, staleUid('Secret', 'tls')],
  ])('%s', async (_, boundObjectRef, expected) => {
    expectStatus(await post(server, { spec: { audiences: [], boundObjectRef } }), expected);
  });

  it('T-19: the object is looked for in the namespace of the account only', async () => {
    await createAccount(server, 'builder', 'shop');
    const body = { spec: { audiences: [], boundObjectRef: { kind: 'Secret', name: 'tls' } } };
    expectStatus(await post(server, body, { path: tokenPath('builder', 'shop') }), notFound('secrets', 'tls'));
  });

  it.each(['v1', '', 'v2', 'a/b/c'])('T-30: apiVersion %j is good enough for a pod', async (apiVersion) => {
    const boundObjectRef = { kind: 'Pod', apiVersion, name: 'web-0', uid: uids.pod };
    const { code, json } = await post(server, { spec: { audiences: [], boundObjectRef } });
    expect(code).toBe(201);
    expect(decodeJwt(json.status.token)['kubernetes.io']).toMatchObject({ pod: { name: 'web-0', uid: uids.pod } });
  });

  it('T-31: any secret will do', async () => {
    const { code } = await post(server, { spec: { audiences: [], boundObjectRef: { kind: 'Secret', name: 'tls' } } });
    expect(code).toBe(201);
  });
});
