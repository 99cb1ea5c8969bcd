import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import {
  claimsFor,
  conditionOf,
  goodAnswer,
  jwt,
  patchSpec,
  register,
  statusAnswer,
  tokenAnswer,
  writeCredential,
} from './support/forwarding.ts';
import {
  asUser,
  bind,
  create,
  createAccount,
  createCluster,
  createNamespace,
  createPod,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { sendRaw } from './support/raw-http.ts';
import type { Answer, CallOptions } from './support/server.ts';
import { sharedServer, sharedTlsServer } from './support/shared-server.ts';

const authority = createAuthority('cluster CA');
const CREDENTIAL = 'canary-credential-of-the-server';

const server = sharedServer();
let cluster: FakeApiServer;
/** Another Clusterpass. */
const real = sharedTlsServer();
beforeAll(async () => {
  cluster = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), goodAnswer);
  await register(server, { name: 'real', port: cluster.port, ca: authority.cert }, CREDENTIAL);
  await bind(server, 'creator', { kind: 'User', name: 'creator' });
});
beforeEach(() => {
  cluster.answer = goodAnswer;
  cluster.requests.length = 0;
});
afterAll(async () => {
  // A8: for all tests of this file.
  const output = `${server.output.stdout}${server.output.stderr}`;
  await cluster.close();
  expect(output).not.toContain(CREDENTIAL);
  expect(output).not.toMatch(/eyJ[\w-]{10}/);
});

const PATH = tokenPath('builder', 'ci', 'real');
const ask = (spec: object = { audiences: [] }, options: CallOptions & { path?: string; metadata?: object } = {}) =>
  server.call('POST', options.path ?? PATH, { body: { metadata: options.metadata, spec }, ...options });

const refusal = (answer: Answer) => [answer.code, answer.json.reason, answer.json.message];

describe('a cluster that issues its own tokens', () => {
  it('gets a new request, with the credential of the server', async () => {
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0', uid: 'uid-of-web-0' };
    cluster.answer = (seen) => {
      const claims = claimsFor(seen);
      const kubernetes = { ...(claims['kubernetes.io'] as object), pod: { name: 'web-0', uid: 'uid-of-web-0' } };
      return tokenAnswer(jwt({ ...claims, 'kubernetes.io': kubernetes }));
    };
    const answer = await server.call('POST', `${PATH}?fieldManager=me&pretty=true`, {
      ...asUser('creator'),
      headers: {
        'X-Remote-User': 'admin',
        'X-Remote-Group': 'system:masters',
        Cookie: 'a=b',
        Forwarded: 'for=1.2.3.4',
      },
      body: {
        metadata: { uid: 'uid-there', labels: { a: 'b' }, annotations: { note: 'x' } },
        spec: { audiences: ['a', 'b', 'a'], expirationSeconds: 1200, boundObjectRef },
        status: { token: 'preset' },
      },
    });
    expect(answer.code, answer.text).toBe(201);
    expect(cluster.requests).toHaveLength(1);
    const [seen] = cluster.requests;
    expect([seen?.method, seen?.path]).toEqual(['POST', '/api/v1/namespaces/ci/serviceaccounts/builder/token']);
    // A15: exactly these headers, whatever the caller sent.
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(
      ['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host', 'user-agent'].sort(),
    );
    expect(seen?.headers.authorization).toBe(`Bearer ${CREDENTIAL}`);
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'builder', namespace: 'ci', uid: 'uid-there' },
      spec: { audiences: ['a', 'b'], expirationSeconds: 1200, boundObjectRef },
    });
    expect(answer.json).toMatchObject({
      kind: 'TokenRequest',
      metadata: { name: 'builder', namespace: 'ci', uid: 'uid-there', labels: { a: 'b' } },
      spec: { audiences: ['a', 'b'], expirationSeconds: 1200, boundObjectRef },
    });
    expect(answer.json.status.token).toMatch(/^eyJ/);
    expect(Date.parse(answer.json.status.expirationTimestamp)).toBeGreaterThan(Date.now());
    await conditionOf(server, 'real', 'Accepted');
  });

  it('gives a token that the cluster accepts, for an account that only the cluster knows', async () => {
    try {
      await createCluster(real, 'itself');
      // Without --credentials-dir the server issues tokens, also for a cluster that names a credential.
      await patchSpec(real, 'itself', { spec: { authInfo: { controller: { namespace: 'fleet', name: 'x' } } } });
      await createNamespace(real, 'ci', 'itself');
      await createAccount(real, 'builder', 'ci', 'itself');
      await createPod(real, 'web-0', { serviceAccountName: 'builder' }, 'ci', 'itself');
      // Another Clusterpass has its API below a prefix; a real API server has it at the root.
      cluster.answer = async (seen) => {
        const path = `/orchestrator/itself${seen.path}`;
        const { code, text } = await real.call('POST', path, { body: seen.body });
        return { status: code, body: text };
      };
      const answer = await ask({ audiences: [], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web-0' } });
      expect(answer.code, answer.text).toBe(201);
      const { token } = answer.json.status;
      const spec = { token };
      const review = '/orchestrator/itself/apis/authentication.k8s.io/v1/tokenreviews';
      const { json } = await real.call('POST', review, { body: { spec } });
      expect(json.status.user.username).toBe('system:serviceaccount:ci:builder');
      // The server did not issue the token, and does not accept it.
      expect((await server.call('GET', '/auth/v1/clusters', { token })).code).toBe(401);
      const absent = await ask(undefined, { path: tokenPath('absent', 'ci', 'real') });
      expect(refusal(absent)).toEqual([404, 'NotFound', 'cluster "real": serviceaccounts "absent" not found']);
    } finally {
      cluster.answer = goodAnswer;
    }
  });

  it('A15: a caller who may not create tokens here is refused before the cluster gets a request', async () => {
    expect((await ask(undefined, asUser('nobody'))).code).toBe(403);
    expect(cluster.requests).toEqual([]);
  });

  it('A15: a Connection header does not remove the headers that it names', async () => {
    const body = JSON.stringify({ spec: { audiences: [] } });
    const answer = await sendRaw(
      server,
      [
        `POST ${PATH} HTTP/1.1`,
        'Host: clusterpass',
        'Connection: Authorization, X-Remote-User, close',
        `Authorization: Bearer ${server.adminToken}`,
        'X-Remote-User: admin',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(cluster.requests[0]?.headers.authorization).toBe(`Bearer ${CREDENTIAL}`);
    expect(cluster.requests[0]?.headers['x-remote-user']).toBeUndefined();
  });

  it('decision 3: a dry run sends the cluster nothing, and predicts', async () => {
    const answer = await ask({ audiences: ['a'], expirationSeconds: 90_000 }, { path: `${PATH}?dryRun=All` });
    expect(answer.code, answer.text).toBe(201);
    expect(answer.json.status.token).toBe('');
    expect(answer.json.spec.expirationSeconds).toBe(86_400);
    expect(answer.warnings).toEqual(['requested expiration of 90000 seconds shortened to 86400 seconds']);
    expect(cluster.requests).toEqual([]);
  });

  it('a lifetime that the cluster shortens is a warning, and an error if the caller required more', async () => {
    cluster.answer = (seen) => {
      const claims = claimsFor(seen);
      return tokenAnswer(jwt({ ...claims, exp: (claims.iat as number) + 900 }));
    };
    const shortened = await ask({ audiences: [], expirationSeconds: 3600 });
    expect(shortened.warnings).toEqual(['requested expiration of 3600 seconds shortened to 900 seconds']);
    expect((await ask({ audiences: [] })).warnings).toEqual([]);
    expect(shortened.json.spec.expirationSeconds).toBe(900);
    const annotations = { 'clusterpass.dev/min-expiration-seconds': '1800' };
    const insisted = await ask({ audiences: [], expirationSeconds: 3600 }, { metadata: { annotations } });
    expect(insisted.code).toBe(422);
    expect(insisted.text).not.toContain('eyJ');
  });

  it('A3: the audience of another cluster of the fleet is refused to a caller who may not create tokens there', async () => {
    await bind(server, 'narrow', { kind: 'User', name: 'nobody' }, undefined, 'kubernetes.io/metadata.name=real');
    const audience = `${server.url}/orchestrator/elsewhere`;
    const answer = await ask({ audiences: [audience] }, asUser('nobody'));
    expect([answer.code, answer.json.details?.causes[0].field]).toEqual([422, 'spec.audiences[0]']);
    expect(cluster.requests).toEqual([]);
    expect((await ask({ audiences: [audience] }, asUser('creator'))).code).toBe(201);
    await server.call('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/narrow');
  });

  it('a record is not kept of a token that could not be revoked here', async () => {
    const metadata = { annotations: { 'clusterpass.dev/tracked': 'true' } };
    const answer = await ask(undefined, { metadata });
    expect(answer.code).toBe(422);
    expect(answer.json.message).toContain('can be neither listed nor revoked here');
    expect(cluster.requests).toEqual([]);
    // The command line asks for a record by default, and does without one where there can be none.
    const person = await Person.as(server);
    const create = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'real'];
    const { code, stdout, stderr } = await person.run(create);
    expect([code, stdout.startsWith('eyJ')]).toEqual([0, true]);
    expect(stderr).toMatch(
      /^Warning: the token has no record: the tokens of this cluster are its own, and can be neither/,
    );
    expect(await person.fails([...create, '--tracked'])).toContain('can be neither listed nor revoked here');
  });
});

it('T-12j: a cluster that is being deleted is not asked', async () => {
  await register(server, { name: 'leaving', port: cluster.port, ca: authority.cert }, CREDENTIAL);
  const path = tokenPath('builder', 'ci', 'leaving');
  await patchSpec(server, 'leaving', { metadata: { finalizers: ['example.com/wait'] } });
  expect((await ask(undefined, { path })).code).toBe(201);
  expect((await server.call('DELETE', `${CLUSTERS}/leaving`)).json.metadata).toHaveProperty('deletionTimestamp');
  cluster.requests.length = 0;
  expect(refusal(await ask(undefined, { path }))).toEqual([
    403,
    'Forbidden',
    expect.stringContaining('in cluster leaving because it is being terminated'),
  ]);
  expect(cluster.requests).toEqual([]);
  await patchSpec(server, 'leaving', { metadata: { finalizers: null } });
});

describe('C-I: the response of the cluster', () => {
  it('a 401 is about the credential of the server: 502, and a condition on the cluster', async () => {
    cluster.answer = () => statusAnswer(401, 'Unauthorized', 'system:serviceaccount:fleet:clusterpass may not');
    const answer = await ask();
    expect(refusal(answer)).toEqual([502, 'BadGateway', expect.stringContaining('it answered 401')]);
    expect(answer.headers.get('www-authenticate')).toBeNull();
    const refused = await conditionOf(server, 'real', 'Refused');
    expect(refused).toMatchObject({ status: 'False', message: expect.stringContaining('answered 401') });
    expect(JSON.stringify(refused)).not.toContain('fleet');
    // A 403 for one account says that the credential is accepted.
    cluster.answer = () => statusAnswer(403, 'Forbidden', 'system:serviceaccount:fleet:clusterpass may not');
    const text =
      'cluster "real" does not allow the credential of Clusterpass to create serviceaccounts/token of "ci/builder" ' +
      '(it answered 403)';
    expect(refusal(await ask())).toEqual([502, 'BadGateway', text]);
    expect(await conditionOf(server, 'real', 'Accepted')).toMatchObject({ status: 'True' });
    cluster.answer = goodAnswer;
    expect((await ask()).code).toBe(201);
  });

  it('B15: a cluster that does not respond uses its share of the seats, not those of other clusters', async () => {
    await createCluster(server, 'own');
    await createNamespace(server, 'ci', 'own');
    await createAccount(server, 'builder', 'ci', 'own');
    cluster.answer = () => undefined;
    const left = new AbortController();
    const share = 50;
    const hanging = Array.from({ length: share }, () =>
      ask(undefined, { ...asUser('creator'), signal: left.signal }).catch(() => undefined),
    );
    // 32 connections to a cluster: the others wait for one.
    await expect.poll(() => cluster.requests.length).toBe(32);
    const text = expect.stringMatching(/^cluster "real" has not answered 50 token requests/);
    // A request that comes before the last of them waits for the cluster, too. The test aborts it.
    const next = async (): Promise<unknown> => {
      const answer = await ask(undefined, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      return answer && refusal(answer);
    };
    await expect.poll(next).toEqual([429, 'TooManyRequests', text]);
    expect((await ask(undefined, { path: tokenPath('builder', 'ci', 'own') })).code).toBe(201);
    left.abort();
    await Promise.all(hanging);
    cluster.answer = goodAnswer;
    await expect.poll(async () => (await ask()).code).toBe(201);
  });
});

describe('the credential', () => {
  it('is read at each use, and a renewed one is in use at once', async () => {
    await register(server, { name: 'renewed', port: cluster.port, ca: authority.cert }, 'first');
    const path = tokenPath('builder', 'ci', 'renewed');
    await ask(undefined, { path });
    await writeCredential(server, 'renewed', { token: 'second' });
    await ask(undefined, { path });
    expect(cluster.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });

  it('of a cluster that names none there is 502, never a token of the server', async () => {
    const body = { ...(await server.call('GET', `/apis/clusterregistry.k8s.io/v1alpha1/clusters/real`)).json };
    const metadata = { name: 'odd' };
    const spec = { ...body.spec, authInfo: { controller: { namespace: '../etc', name: 'passwd' } } };
    await create(server, '/apis/clusterregistry.k8s.io/v1alpha1/clusters', { ...body, metadata, spec });
    const answer = await ask(undefined, { path: tokenPath('builder', 'ci', 'odd') });
    expect([answer.code, cluster.requests]).toEqual([502, []]);
  });
});
