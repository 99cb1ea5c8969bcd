import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allAuditBytes, eventsOf, readAudit, readLines, securityLogOf } from './support/audit.ts';
import { ASK, asUser, bind, createObjects, post, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines } from './support/run.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';

const REVIEWS = '/orchestrator/alpha/apis/authentication.k8s.io/v1/tokenreviews';
const ISSUED = 'authentication.kubernetes.io/issued-credential-id';
let server: Server;
let dir: string;
/**
 * The value of `--audit-log-path`: a link, so that a test can change the disk. So is the path of the security log.
 */
let path: string;
let securityPath: string;
let log: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-audit-e2e-'));
  path = join(dir, 'link');
  securityPath = join(dir, 'security-link');
  log = join(dir, 'logs', 'audit.log');
  await symlink(log, path);
  await symlink(securityLogOf(log), securityPath);
  await mkdir(join(dir, 'logs'));
  server = await startServer({
    args: ['--audit-log-path', path, '--audit-security-log-path', securityPath, '--log-level', 'debug'],
    users: { jane: ['dev'], nobody: [] },
  });
  await createObjects(server);
  await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' });
});
afterAll(() => server?.destroy());

describe('one event per request', () => {
  test('A9: a token: its requester, account, reason and id are on disk before the token is sent', async () => {
    const answer = await post(server, ASK, { ...asUser('jane'), headers: { 'User-Agent': 'kubectl/v1.36.4 (linux)' } });
    // Not polled: the line is there before the token is released.
    const found = (await readAudit(log)).filter(({ auditID }) => auditID === answer.headers.get('audit-id'));
    expect(found).toHaveLength(1);
    const [event] = found;
    expect(event).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: answer.headers.get('audit-id'),
      stage: 'ResponseComplete',
      requestURI: tokenPath(),
      verb: 'create',
      user: { username: 'jane', uid: 'uid-jane', groups: ['dev', 'system:authenticated'] },
      sourceIPs: ['127.0.0.1'],
      userAgent: 'kubectl/v1.36.4',
      objectRef: {
        resource: 'serviceaccounts',
        namespace: 'ci',
        name: 'builder',
        apiVersion: 'v1',
        subresource: 'token',
      },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      stageTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason':
          'RBAC: allowed by ClusterRoleBinding "jane-tokens" of ClusterRole "jane-tokens" to User "jane"',
        'clusterpass.dev/cluster': 'alpha',
        [ISSUED]: `JTI=${decodeJwt(answer.json.status.token).jti}`,
      },
    });
    expect(event.requestReceivedTimestamp <= event.stageTimestamp).toBe(true);
  });

  test('the user of an issued token is recorded with the id of the token', async () => {
    const { token } = (await post(server, ASK)).json.status;
    const answer = await server.call('GET', '/auth/v1/clusters', { token });
    const [event] = await eventsOf(log, answer.headers.get('audit-id'));
    expect(event.user).toMatchObject({
      username: 'system:cluster:alpha:serviceaccount:ci:builder',
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${decodeJwt(token).jti}`] },
    });
  });

  test('a refused request, with the reason and without the message', async () => {
    const forbidden = await post(server, ASK, asUser('nobody'));
    const [event] = await eventsOf(log, forbidden.headers.get('audit-id'));
    expect(event.responseStatus).toEqual({ metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 });
    expect(event.annotations['authorization.k8s.io/decision']).toBe('forbid');
    const unknown = await post(server, ASK, { token: 'nobody-knows-this-token' });
    const [second] = await eventsOf(log, unknown.headers.get('audit-id'));
    expect(second).toMatchObject({ user: {}, responseStatus: { code: 401, reason: 'Unauthorized' } });
    expect(second.annotations).not.toHaveProperty('authorization.k8s.io/decision');
    const malformed = await server.call('GET', '/a%2fb');
    const [third] = await eventsOf(log, malformed.headers.get('audit-id'));
    expect(third).toMatchObject({ verb: 'get', requestURI: '/a%2fb', responseStatus: { code: 400 } });
    expect(third).not.toHaveProperty('objectRef');
  });
});

test('A8, A10: no secret is written anywhere, wherever it was put', async () => {
  const canary = `canary-${randomBytes(8).toString('hex')}`;
  const jwt = `eyJhbGciOiJFUzI1NiJ9.${Buffer.from(`{"sub":"${canary}"}`).toString('base64url')}.${canary}`;
  const opaque = `Zk3vQ9wLmNoPqRsTuVwXyZaBcD${randomBytes(8).toString('hex')}`;
  const good = (await post(server, ASK)).json.status.token as string;
  const jane = tokenOf('jane');
  const secrets = [canary, opaque, good, good.split('.')[2] ?? '', jane, server.adminToken];
  const at = (name: string): string => `${CLUSTERS}/${encodeURIComponent(name)}`;
  const call = (method: string, url: string, options: object = {}) => server.call(method, url, options);
  const answers = [
    await call('GET', '/auth/v1/clusters', { token: canary }),
    await call('GET', '/auth/v1/clusters', { token: jwt }),
    await call('GET', '/auth/v1/clusters', { token: `${good}x` }),
    await call('GET', '/auth/v1/clusters', { token: null, headers: { Authorization: `Basic ${canary}` } }),
    await call('GET', '/auth/v1/clusters', { token: null, headers: { Authorization: canary } }),
    await call('GET', '/livez', { headers: { Cookie: canary, Referer: canary, 'X-Forwarded-For': canary } }),
  ];
  for (const { text } of answers) for (const secret of secrets) expect(text).not.toContain(secret);
  const userAgents = [canary, jwt, `kubectl/v1.36.4 ${canary}`, `curl/${canary}`, `a{"level":"info"}${canary}`];
  for (const agent of userAgents) await call('GET', '/auth/v1/clusters', { headers: { 'User-Agent': agent } });
  await call('GET', '/livez', { token: null, headers: { 'User-Agent': good, 'Audit-ID': good } });
  await call('GET', '/version', { headers: { 'Audit-ID': server.adminToken } });
  await call('GET', `/auth/v1/clusters?token=${canary}&labelSelector=${canary}&continue=${canary}`);
  await call('GET', `/nowhere?access_token=${good}`, { token: null });
  await call('POST', `${tokenPath()}?fieldManager=${canary}&dryRun=${canary}`, { body: ASK });
  for (const name of [jwt, good, opaque, server.adminToken]) {
    await call('GET', at(name));
    await call('DELETE', `/apis/clusterpass.dev/v1alpha1/issuedtokens/${name}`);
    await post(server, ASK, { path: tokenPath(name) });
    await post(server, ASK, { path: tokenPath('builder', name) });
    await post(server, ASK, { path: tokenPath('builder', 'ci', name) });
    await call('GET', `/orchestrator/${name}/healthz`);
  }
  await call('GET', at(jane), asUser('jane'));
  const bodies = [
    canary,
    `{"spec": "${canary}`,
    { spec: { audiences: [canary, 7] }, [canary]: 1 },
    { spec: { audiences: [canary], expirationSeconds: canary } },
    { metadata: { annotations: { 'clusterpass.dev/for': canary } }, spec: { audiences: [] } },
  ];
  for (const body of bodies) await post(server, body);
  await post(server, { spec: { audiences: [canary] } });
  for (const token of [good, jwt, canary]) await call('POST', REVIEWS, { body: { spec: { token } } });
  await call('PUT', at('alpha'), { body: { metadata: { name: canary }, spec: { authInfo: canary } } });
  const last = await call('GET', '/auth/v1/clusters');
  await eventsOf(log, last.headers.get('audit-id'));

  const metrics = (await call('GET', '/metrics')).text;
  const outputs = { audit: await allAuditBytes(log), metrics, ...server.output };
  for (const [name, text] of Object.entries(outputs)) {
    for (const secret of secrets) expect(text.includes(secret), `${secret} in ${name}`).toBe(false);
  }
  // One line for each request, at the highest verbosity.
  await expect.poll(() => server.output.stderr).toContain('"level":"debug"');
  logLines(server.output.stderr);
});

/** Changes the target of the link atomically. */
async function changeDisk(target: string, link = path): Promise<void> {
  await symlink(target, `${link}.new`);
  await rename(`${link}.new`, link);
}

describe('A41: the record of permissions and tokens is in a separate log, which callers cannot fill', () => {
  const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const ROLE = { metadata: { name: 'audited' }, rules: [] };
  const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

  test('tokens, revocations, RBAC and keys are in the security log, and only there', async () => {
    const token = await post(server, ASK);
    const { jti } = decodeJwt(token.json.status.token);
    const answers = [
      token,
      await server.call('DELETE', `/apis/clusterpass.dev/v1alpha1/issuedtokens/${jti}`),
      await server.call('POST', RBAC, { body: ROLE }),
      await server.call('DELETE', `${RBAC}/audited`),
      await server.call('POST', KEYS, { body: { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' } }),
    ];
    for (const answer of answers) {
      expect(answer.code, answer.text).toBeLessThan(300);
      await eventsOf(log, answer.headers.get('audit-id'));
      const lines = (await readLines(log)).filter(({ auditID }) => auditID === answer.headers.get('audit-id'));
      expect(lines).toEqual([]);
    }
    // The keys that a rotation changes, and the roles of the release, which no request wrote.
    const users = async () =>
      new Set((await readLines(securityLogOf(log))).map(({ user }) => user.username).filter((name) => name !== 'jane'));
    await expect.poll(users).toContain('system:clusterpass:signing-keys');
    expect(await users()).toContain('system:clusterpass:bootstrap-roles');
  });

  test('B-04: a write is refused, and nothing stored, if its answer could not be rendered', async () => {
    const headers = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const ask = (method: string, object: string, body?: object, type = 'application/json') =>
      server.call(method, `${object}?includeObject=x`, { body, headers: { ...headers, 'Content-Type': type } });
    const [role, merge] = [`${RBAC}/clusterpass:viewer`, 'application/merge-patch+json'];
    const before = (await server.call('GET', role)).text;
    const answers = [
      await ask('POST', RBAC, ROLE),
      await ask('PUT', role, { metadata: { name: 'clusterpass:viewer' }, rules: [] }),
      await ask('PATCH', role, { rules: [] }, merge),
      await ask('DELETE', role),
    ];
    expect(answers.map(({ code }) => code)).toEqual([400, 400, 400, 400]);
    expect((await server.call('GET', `${RBAC}/audited`)).code).toBe(404);
    expect((await server.call('GET', role)).text).toBe(before);
  });
});

test('A9: a full disk stops tokens and nothing else, and the recovery needs no restart', async () => {
  const codeOfToken = async (): Promise<number> => (await post(server, ASK)).code;
  await changeDisk('/dev/full', securityPath);
  await expect.poll(codeOfToken).toBe(503);
  const refused = await post(server, ASK);
  expect(refused.code).toBe(503);
  expect(refused.json).toMatchObject({
    reason: 'ServiceUnavailable',
    message: 'the audit log cannot be written, so no token is issued; please try again',
  });
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.text).not.toContain('eyJ');
  const items = [{ cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' }];
  const list = await server.call('POST', '/auth/v1/passes', { body: { items } });
  expect([list.code, list.text.includes('eyJ')]).toEqual([503, false]);
  expect((await server.call('GET', '/auth/v1/clusters')).code).toBe(200);
  const name = { metadata: { name: 'meanwhile' } };
  expect((await server.call('POST', '/orchestrator/alpha/api/v1/namespaces', { body: name })).code).toBe(201);
  expect((await server.call('GET', '/readyz')).code).toBe(200);
  expect((await server.call('GET', '/readyz/audit-log')).code).toBe(503);
  expect((await server.call('GET', '/readyz?verbose')).text).toContain('[!]audit-log failed');

  const next = join(dir, 'logs', 'second.log');
  await changeDisk(next, securityPath);
  const answer = await post(server, ASK);
  expect(answer.code).toBe(201);
  const jti = `JTI=${decodeJwt(answer.json.status.token).jti}`;
  const events = await readLines(next);
  expect(events.some(({ annotations }) => annotations[ISSUED] === jti)).toBe(true);
  // Refused requests are recorded as refused, and the events of the meantime are not lost.
  const [event] = await eventsOf(log, refused.headers.get('audit-id'));
  expect(event).toMatchObject({ responseStatus: { code: 503, reason: 'ServiceUnavailable' } });
  await expect.poll(() => server.output.stderr).toContain('the audit log cannot be written');
  await expect.poll(() => server.output.stderr).toContain('the audit log can be written again');
  expect((await server.call('GET', '/readyz/audit-log')).code).toBe(200);
});
