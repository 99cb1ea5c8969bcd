import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, expectUnauthorized } from './support/expect-status.ts';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { asUser, bind, codeFor, createObjects, issue, tokenPath } from './support/objects.ts';
import { grant, may } from './support/rbac.ts';
import { inCluster, review, TOKEN } from './support/reviews.ts';
import { tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

/** The list of issued tokens, and how a token is revoked before it expires. */

const GROUP = 'clusterpass.dev';
const PATH = `/apis/${GROUP}/v1alpha1/issuedtokens`;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  for (const user of ['kate', 'joe', 'full']) await bind(server, `${user}-issues`, { kind: 'User', name: user });
  await grant(server, {
    to: 'auditor',
    rules: [may('list', 'issuedtokens', GROUP), may('watch', 'issuedtokens', GROUP)],
  });
});

const jtiOf = (token: string): string => decodeJwt(token).jti ?? '';

interface Tracked {
  readonly token: string;
  readonly jti: string;
}

async function track(user: string, spec: object = {}): Promise<Tracked> {
  const metadata = { annotations: { 'clusterpass.dev/tracked': 'true' } };
  const body = { metadata, spec: { audiences: [], ...spec } };
  const { code, json, text } = await server.call('POST', tokenPath(), { body, ...asUser(user) });
  expect(code, text).toBe(201);
  const { token } = json.status;
  return { token, jti: jtiOf(token) };
}

const revoke = (jti: string, user?: string, options: { body?: unknown; query?: string } = {}) =>
  server.call('DELETE', `${PATH}/${jti}${options.query ?? ''}`, {
    ...(user === undefined ? {} : asUser(user)),
    ...(options.body === undefined ? {} : { body: options.body }),
  });

const namesFor = async (user: string, query = ''): Promise<string[]> => {
  const { code, json } = await server.call('GET', `${PATH}${query}`, asUser(user));
  expect(code).toBe(200);
  return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
};

const forbidden = (user: string, verb: string, jti: string) => ({
  code: 403,
  reason: 'Forbidden',
  message: `issuedtokens.clusterpass.dev "${jti}" is forbidden: User "${user}" cannot ${verb} resource "issuedtokens" in API group "clusterpass.dev" at the cluster scope`,
  details: { name: jti, group: GROUP, kind: 'issuedtokens' },
});

const success = (jti: string, uid?: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { name: jti, group: GROUP, kind: 'issuedtokens', ...(uid === undefined ? {} : { uid }) },
});

describe('a tracked pass', () => {
  it('is listed with its requester, account and lifetime, without the token itself', async () => {
    const { token, jti } = await track('kate', {
      audiences: ['vault', 'registry'],
      expirationSeconds: 900,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web-0' },
    });
    const { exp = 0, iat = 0 } = decodeJwt(token);
    const { json, text } = await server.call('GET', `${PATH}/${jti}`, asUser('kate'));
    expect(json).toEqual({
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'IssuedToken',
      metadata: {
        name: jti,
        uid: expect.any(String),
        labels: {
          'clusterpass.dev/counted-for': expect.stringMatching(/^[0-9a-f]{32}$/),
          'clusterpass.dev/requested-by': expect.stringMatching(/^[0-9a-f]{32}$/),
        },
        creationTimestamp: expect.any(String),
        resourceVersion: expect.any(String),
      },
      spec: {
        cluster: 'alpha',
        serviceAccount: { namespace: 'ci', name: 'builder', uid: expect.any(String) },
        audiences: ['vault', 'registry'],
        boundObjectRef: { kind: 'Pod', name: 'web-0', uid: expect.any(String) },
        requestedBy: { username: 'kate', uid: 'uid-kate' },
        issuedTimestamp: new Date(iat * 1000).toISOString().replace('.000', ''),
        expirationTimestamp: new Date(exp * 1000).toISOString().replace('.000', ''),
      },
    });
    expect(text).not.toContain(token.split('.')[2]);
    expect(await namesFor('kate')).toContain(jti);
    expect((await revoke(jti, 'kate')).code).toBe(200);
  });
});

it('who sees and revokes what: a caller sees its own tokens without a rule and others with one; without, it does not learn what exists', async () => {
  const [kates, joes] = [await track('kate'), await track('joe')];
  expect(await namesFor('kate')).toEqual([kates.jti]);
  expect(await namesFor('joe')).toEqual([joes.jti]);
  expect(await namesFor('auditor')).toEqual(expect.arrayContaining([kates.jti, joes.jti]));
  const field = `?fieldSelector=spec.requestedBy.username%3Dkate,spec.cluster%3Dalpha`;
  expect(await namesFor('auditor', field)).toEqual([kates.jti]);
  expect(await namesFor('joe', field)).toEqual([]);

  for (const jti of [kates.jti, UNKNOWN, 'not-a-jti']) {
    expectStatus(await server.call('GET', `${PATH}/${jti}`, asUser('joe')), forbidden('joe', 'get', jti));
    expectStatus(await revoke(jti, 'joe'), forbidden('joe', 'delete', jti));
    expectStatus(await revoke(jti, 'auditor'), forbidden('auditor', 'delete', jti));
  }
  expect(await codeFor(server, kates.token)).toBe(200);

  const uid = (await server.call('GET', `${PATH}/${kates.jti}`, asUser('kate'))).json.metadata.uid;
  expect((await revoke(kates.jti, 'kate')).json).toEqual(success(kates.jti, uid));
  expect((await revoke(joes.jti)).code).toBe(200);
  for (const method of ['GET', 'DELETE'] as const) {
    expect((await server.call(method, `${PATH}/${kates.jti}`, asUser('kate'))).code, method).toBe(404);
  }
  expectStatus(await revoke(kates.jti, 'joe'), forbidden('joe', 'delete', kates.jti));
});

describe('a revoked token', () => {
  const isGood = async (token: string): Promise<unknown> =>
    review(server, inCluster(TOKEN), { spec: { token } }, server.adminToken);

  it('is refused at once, everywhere', async () => {
    const { token, jti } = await track('kate');
    const other = await track('kate');
    expect(await codeFor(server, token)).toBe(200);
    expect((await revoke(jti)).code).toBe(200);
    const expectRefused = async () => {
      expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
      expectUnauthorized(await server.call('POST', tokenPath(), { token, body: { spec: { audiences: [] } } }));
      expect(await isGood(token)).toEqual({ user: {}, error: 'service account token has been revoked' });
      expect(await codeFor(server, other.token)).toBe(200);
      expect(await namesFor('kate')).toEqual([other.jti]);
    };
    // After a restart: test/objects/token-records.test.ts.
    await expectRefused();
    await revoke(other.jti);
  });

  it('A8: a token is no id either, and is not in the log', async () => {
    const token = await issue(server);
    expect((await revoke(token)).code).toBe(422);
    expectStatus(await revoke(token, 'joe'), forbidden('joe', 'delete', token));
    expect(await codeFor(server, token)).toBe(200);
  });

  it('a dry run and a failed precondition revoke nothing', async () => {
    const { token, jti } = await track('kate');
    const { uid } = (await server.call('GET', `${PATH}/${jti}`)).json.metadata;
    expect((await revoke(jti, undefined, { query: '?dryRun=All' })).json).toEqual(success(jti, uid));
    expect((await revoke(jti, undefined, { body: { preconditions: { uid: 'other' } } })).code).toBe(409);
    expect((await revoke(UNKNOWN, undefined, { body: { preconditions: { uid } } })).code).toBe(404);
    // An empty text expects nothing, as for every other kind.
    expect((await revoke(randomUUID(), undefined, { body: { preconditions: { uid: '' } } })).code).toBe(200);
    expect(await codeFor(server, token)).toBe(200);
    expect((await revoke(jti, undefined, { body: { preconditions: { uid } } })).code).toBe(200);
    expect(await codeFor(server, token)).toBe(401);
  });

  it('decision 13, A18: an open watch of its bearer ends with ERROR 401', async () => {
    const { token, jti } = await track('kate');
    const watch = await Watch.open(server, '/auth/v1/clusters?watch=true', token);
    const pods = await Watch.open(server, `${PATH}?watch=true`, token);
    await revoke(jti);
    expect((await watch.rest()).map(brief).at(-1)).toBe('ERROR 401');
    expect((await pods.rest()).map(brief)).toEqual(['ERROR 401']);
  });
});

it('a watch of them: shows each caller the tokens that it may see, and follows changes of permissions', async () => {
  const before = await track('joe');
  const own = await Watch.open(server, `${PATH}?watch=true`, tokenOf('kate'));
  const kates = await track('kate');
  expect((await own.take(1)).map(brief)).toEqual([`ADDED ${kates.jti}`]);
  const takeBack = await grant(server, { to: 'kate', rules: [may('watch', 'issuedtokens', GROUP)] });
  expect((await own.until((event) => brief(event) === `ADDED ${before.jti}`)).length).toBeGreaterThan(0);
  await takeBack();
  const gone = await own.until((event) => brief(event) === `DELETED ${before.jti}`);
  expect(Object.keys(gone.at(-1)?.object.metadata ?? {}).sort()).toEqual(['name', 'resourceVersion']);
  expect(gone.map(brief)).not.toContain(`DELETED ${kates.jti}`);
  await revoke(before.jti);
  await revoke(kates.jti);
  const last = (await own.until((event) => brief(event) === `DELETED ${kates.jti}`)).map(brief);
  expect(last).not.toContain(`DELETED ${before.jti}`);
  own.close();
});

describeWithKubectl('kubectl', () => {
  it('shows and deletes them, also for a caller without rules', async () => {
    const { jti, token } = await track('kate', { audiences: ['vault'] });
    const rows = (await kubectlOk(server, ['get', 'issuedtokens'], asUser('kate'))).split('\n');
    expect(rows[0]?.split(/ {2,}/).map((cell) => cell.trim())).toEqual([
      'NAME',
      'CLUSTER',
      'ACCOUNT',
      'AUDIENCE',
      'CALLER',
      'ISSUED',
      'EXPIRES',
    ]);
    const row = rows.find((line) => line.startsWith(jti))?.split(/ {2,}/);
    expect(row?.slice(1, 5)).toEqual(['alpha', 'ci/builder', 'vault', 'kate']);
    expect(row?.[6]).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(await kubectlOk(server, ['delete', 'issuedtoken', jti], asUser('kate'))).toContain(`"${jti}" deleted`);
    expect(await namesFor('kate')).not.toContain(jti);
    const status = await review(server, inCluster(TOKEN), { spec: { token, audiences: ['vault'] } }, server.adminToken);
    expect(status.error).toBe('service account token has been revoked');
    const untracked = await issue(server);
    await kubectlOk(server, ['delete', 'issuedtoken', jtiOf(untracked)]);
    expect(await codeFor(server, untracked)).toBe(401);
    expect((await kubectl(server, ['explain', 'issuedtokens.spec'])).stdout).toContain('requestedBy');
  });
});

it('A8: no token is in the output of the server', () => {
  expect(`${server.output.stdout}${server.output.stderr}`).not.toContain('eyJ');
});
