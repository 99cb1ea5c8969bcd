import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { personAccountName, recordIdOf } from '../../src/api/connector.ts';
import { auditLogOf, eventsOf } from './support/audit.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { CONNECTORS, connectorOf, type Order, ordersOf, type TestConnector } from './support/connector.ts';
import { asUser, bind, remove, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import type { Answer, CallOptions } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** Tokens that a connector creates on orders of the server, whose answers only the process that waits can read. */

const ISSUED = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
const ISSUED_ID = 'authentication.kubernetes.io/issued-credential-id';

const server = sharedServer();

beforeAll(async () => {
  await bind(server, 'creator', { kind: 'User', name: 'creator' });
  const userpass = { verbs: ['create'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'] };
  await bind(server, 'people', { kind: 'Group', name: 'system:authenticated' }, userpass);
});

async function started(cluster: string, status: Parameters<TestConnector['start']>[0] = {}): Promise<TestConnector> {
  const connector = await (await connectorOf(server, cluster)).start(status);
  onTestFinished(() => connector.stop());
  return connector;
}

interface Asked extends CallOptions {
  readonly spec?: object;
  readonly annotations?: Record<string, string>;
  readonly query?: string;
}

const ask = (cluster: string, { spec, annotations, query = '', ...options }: Asked = {}): Promise<Answer> =>
  server.call('POST', `${tokenPath('builder', 'ci', cluster)}${query}`, {
    ...asUser('creator'),
    body: { metadata: { annotations }, spec: { audiences: [], ...spec } },
    ...options,
  });

const ordersIn = async (cluster: string): Promise<string[]> => {
  const { json } = await server.call('GET', ordersOf(cluster));
  return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
};

const refusal = ({ code, json }: Answer): unknown[] => [code, json.reason, json.message];
const TRACKED = { 'clusterpass.dev/tracked': 'true' };
const BOUND = { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'mine', uid: 'uid-of-mine' } };

describe('a token of a cluster with a connector', () => {
  it('is what the connector was ordered, and the order is gone afterwards', async () => {
    const connector = await started('order-1');
    const answer = await ask('order-1', { spec: { audiences: ['vault'], expirationSeconds: 900 } });
    expect(answer.code, answer.text).toBe(201);
    const [{ name, claims }] = connector.orders as [Order];
    const { uid } = (await server.call('GET', `${CLUSTERS}/order-1`)).json.metadata;
    expect(claims).toEqual({
      iss: `${server.url}/orchestrator/order-1`,
      aud: `${server.url}/connectors/order-1`,
      iat: expect.any(Number),
      exp: claims.iat + 15,
      jti: name,
      cluster: { name: 'order-1', uid },
      requester: { user: 'creator', groups: ['system:authenticated'] },
      request: { namespace: 'ci', serviceAccount: 'builder', audiences: ['vault'], expirationSeconds: 900 },
      revocable: false,
      answerKey: { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String) },
    });
    const { token } = answer.json.status;
    const { jti, sub } = decodeJwt(token);
    expect(sub).toBe('system:serviceaccount:ci:builder');
    expect(answer.json).toMatchObject({
      metadata: { name: 'builder', namespace: 'ci', uid: 'uid-there' },
      spec: { audiences: ['vault'], expirationSeconds: 900, boundObjectRef: null },
    });
    await expect.poll(() => ordersIn('order-1')).toEqual([]);
    // Both ids: that of the order here, and that of the token in the audit log of the cluster.
    const [event] = await eventsOf(auditLogOf(server), answer.headers.get('audit-id'));
    expect(event.annotations).toMatchObject({ 'clusterpass.dev/order': name, [ISSUED_ID]: `JTI=${jti}` });
  });

  it('is refused by the rules of the connector, with their reason', async () => {
    const connector = await started('order-2');
    const refusing = { reason: 'NotAllowed', message: 'ci/builder is not\nallowed here' };
    connector.act = ({ name }) => ({ order: name, refusal: refusing });
    const answer = await ask('order-2');
    expect(refusal(answer)).toEqual([
      403,
      'Forbidden',
      'serviceaccounts "builder" is forbidden: the connector of cluster "order-2" refuses it: ci/builder is not allowed here',
    ]);
    expect(answer.json.details.causes).toEqual([{ reason: 'NotAllowed', message: 'ci/builder is not allowed here' }]);
    const { text } = await server.call('GET', '/metrics');
    expect(text).toMatch(/^clusterpass_connectors\{state="connected"\} [1-9]/m);
  });

  it.each<[string, (order: Order, connector: TestConnector) => object | Promise<object>, RegExp]>([
    ['of another order', () => ({ order: 'x' }), /502 .*cannot be read/],
    ['that is no answer', ({ name }) => ({ order: name }), /502 .*did not issue a token/],
    [
      'for another account',
      async ({ name, claims }, connector) => ({
        order: name,
        status: 201,
        body: await connector.tokenRequest(name, claims, 'ci', 'admin'),
      }),
      /502 .*for another account/,
    ],
    [
      'of an API server that does not allow it',
      ({ name }) => ({ order: name, status: 403, body: { kind: 'Status', message: 'secret of the cluster' } }),
      /502 cluster "order-3" does not allow its connector to create serviceaccounts\/token of "ci\/builder"/,
    ],
    [
      'about the account',
      ({ name }) => ({ order: name, status: 404, body: { kind: 'Status', message: 'serviceaccounts "x" not found' } }),
      /404 cluster "order-3": serviceaccounts "x" not found/,
    ],
  ])('A53: is not made of an answer %s', async (_, act, message) => {
    const exists = (await server.call('GET', `${CONNECTORS}/order-3`)).code === 200;
    if (exists) await remove(server, `${CLUSTERS}/order-3`);
    const connector = await started('order-3');
    connector.act = async (order) => (await act(order, connector)) as never;
    const { code, json } = await ask('order-3');
    expect(`${code} ${json.message}`).toMatch(message);
    await expect.poll(() => ordersIn('order-3')).toEqual([]);
  });

  it('A55: needs a connector that reports, and one that answers', async () => {
    const connector = await connectorOf(server, 'order-4');
    const lost = await ask('order-4');
    expect(refusal(lost)).toEqual([
      503,
      'ServiceUnavailable',
      'the connector of cluster "order-4", which issues its tokens, has not reported',
    ]);
    expect(lost.headers.get('retry-after')).toBe('20');
    expect((await ask('order-4', { query: '?dryRun=All' })).code).toBe(503);
    await connector.report({ renewTime: '2026-01-01T00:00:00Z' });
    expect((await ask('order-4')).json.message).toMatch(/has not reported since 2026-01-01T00:00:00Z$/);
    // It claims and does not answer.
    await connector.start();
    connector.act = () => undefined;
    expect((await ask('order-4', { query: '?timeout=1s' })).code).toBe(504);
    expect(connector.orders).toHaveLength(1);
    await expect.poll(() => ordersIn('order-4')).toEqual([]);
    await connector.stop();
  });

  it('A55: is not made for a caller who leaves', async () => {
    const connector = await started('order-5', { revocable: true });
    const { promise: isClaimed, resolve } = Promise.withResolvers<void>();
    const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
    connector.act = async (order) => {
      resolve();
      await isLeft;
      return connector.issue(order);
    };
    const stop = new AbortController();
    const answer = ask('order-5', { signal: stop.signal });
    await isClaimed;
    expect(await ordersIn('order-5')).toHaveLength(1);
    stop.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => ordersIn('order-5')).toEqual([]);
    leave();
  });

  it('is predicted by a dry run, which orders nothing', async () => {
    const connector = await started('order-6', { revocable: true });
    const answer = await ask('order-6', { query: '?dryRun=All', annotations: TRACKED });
    expect([answer.code, answer.json.status.token, connector.orders]).toEqual([201, '', []]);
  });
});

describe('a token that can be revoked', () => {
  const issued = async (cluster: string, asked: Asked = {}) => {
    const answer = await ask(cluster, asked);
    expect(answer.code, answer.text).toBe(201);
    const claims = decodeJwt(answer.json.status.token);
    expect(recordIdOf(claims)).not.toBe(claims.jti);
    return { id: String(recordIdOf(claims)), exp: claims.exp ?? 0, token: answer.json.status.token };
  };

  it('has a record, whose deletion ends the Secret that it is bound to', async () => {
    const connector = await started('revoke-1', { revocable: true });
    const { id, exp, token } = await issued('revoke-1', { annotations: TRACKED, spec: { expirationSeconds: 700 } });
    const { json } = await server.call('GET', `${ISSUED}/${id}`);
    expect(json.spec).toMatchObject({
      cluster: 'revoke-1',
      serviceAccount: { namespace: 'ci', name: 'builder', uid: 'uid-there' },
      requestedBy: { username: 'creator' },
      boundObjectRef: { kind: 'Secret', name: `clusterpass-pass-${id}` },
      expirationTimestamp: new Date(exp * 1000).toISOString().replace('.000Z', 'Z'),
    });
    // The order stands for the token, and holds no answer any more.
    const order = (await server.call('GET', `${ordersOf('revoke-1')}/${id}`)).json;
    expect(order.status).toEqual({
      claimedBy: 'pod-1',
      claimTime: expect.any(String),
      phase: 'Issued',
      expirationTimestamp: json.spec.expirationTimestamp,
    });
    expect([...connector.secrets]).toEqual([id]);
    // By the token itself, whose own id and issuer are those of the cluster.
    const admin = await Person.as(server);
    const said = 'Its cluster deletes the Secret that it ends with, and refuses it after 10 seconds.\n';
    const revoked = `token ${id} revoked at ${server.url}\n`;
    expect(await admin.run(['token', 'revoke', '-'], { stdin: token })).toEqual({
      ...{ code: 0, stdout: revoked, stderr: said },
    });
    expect(await admin.fails(['token', 'revoke', '-'], { stdin: token })).toBe(
      `error: token ${id} has no record here: it has ended, or another server ordered it\n`,
    );
    expect(await ordersIn('revoke-1')).toEqual([]);
    await expect.poll(() => [...connector.secrets]).toEqual([]);
  });

  it('ends with the binding that allowed it', async () => {
    await started('revoke-2', { revocable: true });
    const binding = fleetBinding({ name: 'narrow', to: ['narrow'], role: 'clusterpass:token-creator' });
    expect((await server.call('POST', FLEET_BINDINGS, { body: binding })).code).toBe(201);
    const { id } = await issued('revoke-2', asUser('narrow'));
    expect(await ordersIn('revoke-2')).toEqual([id]);
    await remove(server, `${FLEET_BINDINGS}/narrow`);
    await expect.poll(() => ordersIn('revoke-2')).toEqual([]);
  });

  it('ends with the handle that was redeemed for it', async () => {
    const connector = await started('revoke-5', { revocable: true });
    const passes = '/apis/clusterpass.dev/v1alpha1/passes';
    const serviceAccount = { namespace: 'ci', name: 'builder' };
    const type = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Pass' };
    const body = { ...type, spec: { cluster: 'revoke-5', serviceAccount, purpose: 'INC-1: read the logs' } };
    const pass = await server.call('POST', passes, { ...asUser('creator'), body });
    expect(pass.code, pass.text).toBe(201);
    const { name } = pass.json.metadata;
    const redeemed = await server.call('POST', `${passes}/${name}/token`, asUser('creator'));
    expect(redeemed.code, redeemed.text).toBe(201);
    expect(await ordersIn('revoke-5')).toEqual([recordIdOf(decodeJwt(redeemed.json.status.token))]);
    const ended = await server.call('DELETE', `${passes}/${name}`, asUser('creator'));
    // The cluster refuses the token: there is nothing to warn of.
    expect([ended.code, ended.warnings]).toEqual([200, []]);
    await expect.poll(() => [...connector.secrets]).toEqual([]);
  });

  it('is bound to the object of a request that names one, and ends with that', async () => {
    const connector = await started('revoke-3', { revocable: true });
    connector.act = async (order) => {
      const { claims, name } = order;
      expect(claims.request?.boundObjectRef).toEqual(BOUND.boundObjectRef);
      expect(claims.revocable).toBe(false);
      const { name: secret, uid } = BOUND.boundObjectRef;
      const kubernetes = {
        namespace: 'ci',
        serviceaccount: { name: 'builder', uid: 'u' },
        secret: { name: secret, uid },
      };
      const token = await connector.issuer.sign(
        { iss: 'https://c', sub: 'system:serviceaccount:ci:builder', aud: ['a'], 'kubernetes.io': kubernetes },
        3600,
      );
      return { order: name, status: 201, body: { kind: 'TokenRequest', status: { token } } };
    };
    const answer = await ask('revoke-3', { spec: BOUND });
    expect([answer.code, answer.warnings]).toEqual([
      201,
      ['this token cannot be revoked here: it ends with Secret "mine", or when it expires'],
    ]);
    await expect.poll(() => ordersIn('revoke-3')).toEqual([]);
    // As for every cluster that issues its own tokens: there is no record of what cannot be revoked.
    expect(refusal(await ask('revoke-3', { spec: BOUND, annotations: TRACKED }))).toMatchObject([
      422,
      'Invalid',
      expect.stringContaining('can be neither listed nor revoked here'),
    ]);
  });

  it('is refused if the connector has not bound it to its Secret', async () => {
    const connector = await started('revoke-4', { revocable: true });
    connector.act = async (order) => {
      const body = await connector.tokenRequest(order.name, { ...order.claims, revocable: false }, 'ci', 'builder');
      return { order: order.name, status: 201, body };
    };
    const { code, json } = await ask('revoke-4');
    expect(`${code} ${json.message}`).toMatch(/502 .*not bound to the object/);
    await expect.poll(() => ordersIn('revoke-4')).toEqual([]);
  });
});

it('clusterpass describe cluster says what a connector issues, and may issue', async () => {
  const connector = await connectorOf(server, 'shown');
  const now = new Date().toISOString();
  await connector.report({
    ...{ version: '1.2.3', connectedSince: '2026-08-01T12:00:00Z', lastOrderTime: now, revocable: true },
    allow: [
      { namespace: 'ci', accounts: ['builder', 'other'], maxSeconds: 900 },
      { namespace: 'shop', accounts: ['*'] },
    ],
    people: ['devs'],
  });
  const admin = await Person.as(server);
  const text = await admin.ok(['describe', 'cluster', 'shown']);
  expect(
    text
      .split('\n')
      .filter((line) => /^(?:Issuer|Connector| {2}[CLM]| {20,}[sp])/.test(line))
      .join('\n'),
  ).toMatch(
    new RegExp(
      [
        '^Issuer: +https://kubernetes\\.default\\.svc',
        'Connector: +version 1\\.2\\.3, its tokens can be revoked',
        ' +Connected: +since 2026-08-01T12:00:00Z, last report \\d+s ago',
        ' +Last order: +\\d+s ago',
        ' +May issue: +ci/builder,other \\(at most 15m\\)',
        ' +shop/\\*',
        ' +people of devs$',
      ].join('\n'),
    ),
  );
});

describe('a pass for a person', () => {
  const askPass = (user: string, cluster: string, { annotations, spec, query = '' }: Asked = {}): Promise<Answer> =>
    server.call('POST', `${CLUSTERS}/${cluster}/userpass${query}`, {
      ...asUser(user),
      body: { metadata: { annotations }, spec },
    });
  const inGroup = (group: string) => ({ 'clusterpass.dev/group': group });
  const FIELD = 'metadata.annotations[clusterpass.dev/group]';

  it('is a token of the account that stands for the person in the one group that the cluster allows', async () => {
    const connector = await started('people-1', { people: ['devs', 'shop-leads'] });
    const answer = await askPass('kate', 'people-1');
    expect(answer.code, answer.text).toBe(201);
    expect(connector.orders[0]?.claims).toMatchObject({
      requester: { user: 'kate' },
      person: { name: 'kate', group: 'devs', audiences: [], expirationSeconds: 3600 },
    });
    expect(connector.orders[0]?.claims).not.toHaveProperty('request');
    const { sub } = decodeJwt(answer.json.status.token);
    expect(sub).toBe(`system:serviceaccount:clusterpass-people-devs:${personAccountName('kate')}`);
    expect(answer.json.metadata.name).toBe('people-1');
  });

  it('has a group that the person names, if the cluster allows several', async () => {
    await started('people-2', { people: ['ops', 'devs'], revocable: true });
    const several = await askPass('jill', 'people-2');
    expect([several.code, several.json.details.causes]).toEqual([
      422,
      [
        {
          reason: 'FieldValueNotSupported',
          message: 'Unsupported value: "": supported values: "devs", "ops"',
          field: FIELD,
        },
      ],
    ]);
    const answer = await askPass('jill', 'people-2', { annotations: inGroup('ops') });
    expect(answer.code, answer.text).toBe(201);
    const [id = ''] = await ordersIn('people-2');
    expect((await server.call('GET', `${ISSUED}/${id}`)).json.spec.user).toEqual({ username: 'jill' });
    expect((await askPass('jill', 'people-2', { annotations: inGroup('admins') })).code).toBe(422);
    expect((await askPass('tom', 'people-2')).json.message).toMatch(/its owner allows passes for none of your groups/);
    const audience = await askPass('kate', 'people-2', {
      spec: { audiences: [`${server.url}/orchestrator/people-2/people`] },
    });
    expect(refusal(audience)).toMatchObject([422, 'Invalid', expect.stringContaining('spec.audiences')]);
  });

  it('names the groups where one is required, and takes one', async () => {
    await started('people-5', { people: ['ops', 'devs'] });
    const jill = await Person.as(server, 'jill');
    const create = ['create', 'token', '--cluster', 'people-5', '--as-me'];
    expect(await jill.fails(create)).toContain('Unsupported value: "": supported values: "devs", "ops"');
    const group = (token: string): string => decodeJwt(token).sub?.split(':')[2] ?? '';
    expect(group(await jill.ok([...create, '--group', 'ops']))).toBe('clusterpass-people-ops');
    const credential = ['credential', '--cluster', 'people-5', '--as-me', '--group', 'devs', '--no-cache'];
    expect(group(JSON.parse(await jill.ok(credential)).status.token)).toBe('clusterpass-people-devs');
    expect(await jill.fails(['create', 'token', 'x', '--cluster', 'people-5', '--group', 'ops'])).toContain('--as-me');
  });

  it('has the one group that the person names also where Clusterpass signs it; a token of an account has none', async () => {
    await connectorOf(server, 'people-3', { orders: false });
    const answer = await askPass('jill', 'people-3', { annotations: inGroup('ops') });
    expect(decodeJwt(answer.json.status.token).groups).toEqual(['ops']);
    const refused = await askPass('jill', 'people-3', { annotations: inGroup('admins') });
    await connectorOf(server, 'people-4');
    const account = await ask('people-4', { annotations: inGroup('ops') });
    const causes = [refused, account].map(({ json }) => json.details.causes[0]);
    expect(causes.map(({ field, reason }) => [field, reason])).toEqual([
      [FIELD, 'FieldValueNotSupported'],
      [FIELD, 'FieldValueForbidden'],
    ]);
  });
});
