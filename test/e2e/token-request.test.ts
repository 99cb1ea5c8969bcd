import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { badRequest, type ExpectedStatus, expectStatus, notFound } from './support/expect-status.ts';
import { ASK, create, createAccount, createObjects, post, tokenPath } from './support/objects.ts';
import { sharedServer } from './support/shared-server.ts';

/** TokenRequest: what is granted, and what is refused. */

const server = sharedServer();
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  uids = await createObjects(server);
});

describe('what is granted', () => {
  const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

  beforeAll(async () => {});

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

    it('T-05: the bound object is returned as it was sent, without an added uid', async () => {
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };
      const { json, text } = await post(server, { spec: { audiences: [], boundObjectRef } });
      expect(json.spec.boundObjectRef).toEqual(boundObjectRef);
      expect(text).toContain('"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"web-0"}},"status"');
    });

    it('T-06: a status in the request is ignored', async () => {
      const { code, json } = await post(server, {
        ...ASK,
        status: { token: 'mine', expirationTimestamp: '2099-01-01T00:00:00Z' },
      });
      expect(code).toBe(201);
      expect(json.status.token).toMatch(/^eyJ/);
      expect(seconds(json.status.expirationTimestamp)).toBeLessThan(Date.now() / 1000 + 3601);
    });

    it('T-07: metadata is returned, with the name, uid and time of the server', async () => {
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
  });
});

describe('what is refused, and in which order', () => {
  const GROUP = 'authentication.k8s.io';

  const wrongName: ExpectedStatus = {
    code: 422,
    reason: 'Invalid',
    message: `TokenRequest.${GROUP} "builder" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified`,
    details: {
      name: 'builder',
      group: GROUP,
      kind: 'TokenRequest',
      causes: [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: "x": must match the service account name if specified',
          field: 'metadata.name',
        },
      ],
    },
  };
  const wrongUid = (): ExpectedStatus => ({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on TokenRequest.${GROUP} "builder": the UID in the token request (x) does not match the UID of the service account (${uids.builder})`,
    details: { name: 'builder', group: GROUP, kind: 'TokenRequest' },
  });
  const WRONG_NAMESPACE = badRequest(
    'the namespace of the provided object does not match the namespace sent on the request',
  );

  describe('C-A: metadata and existence', () => {
    it('T-12h: another namespace is 400', async () => {
      expectStatus(await post(server, { metadata: { namespace: 'shop' }, ...ASK }), WRONG_NAMESPACE);
    });

    it('T-12i: a missing namespace is named itself', async () => {
      expectStatus(await post(server, ASK, { path: tokenPath('builder', 'gone') }), notFound('namespaces', 'gone'));
    });

    it('a missing cluster is named itself', async () => {
      const answer = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gone') });
      expectStatus(answer, notFound('clusters', 'gone', 'clusterregistry.k8s.io'));
    });

    it('T-12l: another name is 422', async () => {
      expectStatus(await post(server, { metadata: { name: 'x' }, ...ASK }), wrongName);
    });

    it('T-12n: a missing account is 404', async () => {
      expectStatus(await post(server, ASK, { path: tokenPath('nobody') }), notFound('serviceaccounts', 'nobody'));
    });

    it('F-04: quotes in a name from the path are escaped', async () => {
      expectStatus(await post(server, ASK, { path: tokenPath('a%22%20b%C3%BC%E2%80%A8') }), {
        code: 404,
        reason: 'NotFound',
        message: 'serviceaccounts "a\\" b\u00fc\\u2028" not found',
        details: { name: 'a" b\u00fc\u2028', kind: 'serviceaccounts' },
      });
    });

    it('T-13: another uid is 409', async () => {
      expectStatus(await post(server, { metadata: { uid: 'x' }, ...ASK }), wrongUid());
    });

    it('T-12j: a namespace that is being deleted accepts no new object', async () => {
      const metadata = { name: 'leaving', finalizers: ['example.com/wait'] };
      await create(server, '/orchestrator/alpha/api/v1/namespaces', { metadata });
      await createAccount(server, 'builder', 'leaving');
      await server.call('DELETE', '/orchestrator/alpha/api/v1/namespaces/leaving');
      expectStatus(await post(server, ASK, { path: tokenPath('builder', 'leaving') }), {
        code: 403,
        reason: 'Forbidden',
        message:
          'serviceaccounts "builder" is forbidden: unable to create new content in namespace leaving because it is being terminated',
        details: {
          name: 'builder',
          kind: 'serviceaccounts',
          causes: [
            {
              reason: 'NamespaceTerminating',
              message: 'namespace leaving is being terminated',
              field: 'metadata.namespace',
            },
          ],
        },
      });
    });
  });

  /** Each body has two faults; the first in the order of the checks is reported. */
  describe('T-12: the order of the checks', () => {
    const bad = { audiences: [], expirationSeconds: 1 };
    const badRef = { boundObjectRef: { kind: 'ConfigMap' } };
    it.each<[string, string, object | string, number, string]>([
      ['options before the body', `${tokenPath()}?dryRun=x`, '{', 422, 'CreateOptions.meta.k8s.io'],
      [
        'the body before the namespace in it',
        tokenPath(),
        { metadata: { namespace: 'x', labels: 1 } },
        400,
        'cannot unmarshal',
      ],
      [
        'the namespace in the body before that of the path',
        tokenPath('builder', 'gone'),
        { metadata: { namespace: 'x' } },
        400,
        'the namespace of',
      ],
      [
        'the cluster before the namespace',
        tokenPath('builder', 'gone', 'gone'),
        ASK,
        404,
        'clusters.clusterregistry.k8s.io "gone"',
      ],
      [
        'the namespace of the path before the name in the body',
        tokenPath('builder', 'gone'),
        { metadata: { name: 'x' } },
        404,
        'namespaces "gone"',
      ],
      [
        'the name in the body before the account',
        tokenPath('nobody'),
        { metadata: { name: 'x' } },
        422,
        'metadata.name',
      ],
      ['the account before its uid', tokenPath('nobody'), { metadata: { uid: 'x' } }, 404, 'serviceaccounts "nobody"'],
      ['the name before the uid', tokenPath(), { metadata: { name: 'x', uid: 'x' } }, 422, 'metadata.name'],
      [
        'the uid before the spec',
        tokenPath(),
        { metadata: { uid: 'x' }, spec: bad },
        409,
        'the UID in the token request',
      ],
      ['the spec before the bound object', tokenPath(), { spec: { ...bad, ...badRef } }, 422, 'less than 10 minutes'],
    ])('%s', async (_, path, body, code, words) => {
      const answer = await post(server, body, { path });
      expect(answer.code).toBe(code);
      expect(answer.json.message).toContain(words);
    });
  });
});

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
    ['T-17: a kind of 1.37', { kind: 'Node', apiVersion: 'v1', name: 'x' }, unbindable('/v1, Kind=Node')],
    ['T-17: an empty reference', {}, unbindable('/, Kind=')],
    ['T-17: a group', { kind: 'Pod', apiVersion: 'apps/v1', name: 'web-0' }, unbindable('apps/v1, Kind=Pod')],
    ['T-33, decision 5: Node', { kind: 'Node', apiVersion: 'v1', name: 'node-1' }, unbindable('/v1, Kind=Node')],
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

  it.each(['v1', '', 'v2', 'a/b/c'])('T-30: apiVersion %j is accepted for a pod', async (apiVersion) => {
    const boundObjectRef = { kind: 'Pod', apiVersion, name: 'web-0', uid: uids.pod };
    const { code, json } = await post(server, { spec: { audiences: [], boundObjectRef } });
    expect(code).toBe(201);
    expect(decodeJwt(json.status.token)['kubernetes.io']).toMatchObject({ pod: { name: 'web-0', uid: uids.pod } });
  });

  it('T-31: secrets of all types are accepted', async () => {
    const { code } = await post(server, { spec: { audiences: [], boundObjectRef: { kind: 'Secret', name: 'tls' } } });
    expect(code).toBe(201);
  });
});
