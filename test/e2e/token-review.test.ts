import { beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus, expectUnauthorized, notFound } from './support/expect-status.ts';
import { asUser, createObjects, issue, tokenPath } from './support/objects.ts';
import { grant, may } from './support/rbac.ts';
import { inCluster, review, TOKEN } from './support/reviews.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** TokenReview. Forged tokens: src/tokens/hostile-tokens.test.ts, and their answers src/authn/authenticator.test.ts. */

const server = sharedTlsServer();
let uids: Awaited<ReturnType<typeof createObjects>>;
let genuine: string;

beforeAll(async () => {
  uids = await createObjects(server);
  genuine = await issue(server);
});

describe('TokenReview', () => {
  /** Services that receive a token ask for its user, and whether it is for their audience. */

  let api: string;
  const PATH = inCluster(TOKEN);

  beforeAll(async () => {
    api = `${server.url}/orchestrator/alpha`;
    await grant(server, {
      to: 'vault',
      rules: [may('create', 'tokenreviews', 'authentication.k8s.io')],
      clusters: 'env=prod',
    });
  });

  const vault = asUser('vault').token;
  const ask = (token: string, audiences?: readonly string[], path = PATH, by = vault) =>
    review(server, path, { spec: { token, ...(audiences === undefined ? {} : { audiences }) } }, by);
  const isGood = async (token: string, audiences?: readonly string[]): Promise<boolean> =>
    (await ask(token, audiences)).authenticated === true;
  const bound = (kind: string, name: string) =>
    issue(server, tokenPath(), { audiences: [], boundObjectRef: { kind, apiVersion: 'v1', name } });

  describe('the answer', () => {
    it('K-40, K-41: has the user of the token, and repeats the spec', async () => {
      const token = await bound('Pod', 'web-0');
      const body = { metadata: { labels: { a: 'b' }, uid: 'x' }, spec: { token }, status: { authenticated: false } };
      const { code, json } = await server.call('POST', PATH, { body, token: vault });
      expect(code).toBe(201);
      expect(json).toEqual({
        kind: 'TokenReview',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: { labels: { a: 'b' } },
        spec: { token },
        status: {
          authenticated: true,
          user: {
            username: 'system:serviceaccount:ci:builder',
            uid: uids.builder,
            groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
            extra: {
              'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)],
              'clusterpass.dev/requested-by': ['admin'],
              'authentication.kubernetes.io/pod-name': ['web-0'],
              'authentication.kubernetes.io/pod-uid': [uids.pod],
              'authentication.kubernetes.io/node-name': ['node-1'],
            },
          },
          audiences: [api],
        },
      });
      expect(Object.keys(json.status)).toEqual(['authenticated', 'user', 'audiences']);
    });

    it('C-E, K-41: is 201 for a bad token, too, and a status in the request is ignored', async () => {
      const status = { authenticated: true, user: { username: 'root' }, audiences: ['x'] };
      const body = { spec: { token: 'nonsense' }, status };
      expect(await review(server, PATH, body, vault)).toEqual({ user: {}, error: 'invalid bearer token' });
    });

    it.each([{}, { spec: {} }, { spec: { token: '' } }])('C-E, K-40: %j asks about no token', async (body) => {
      expectStatus(
        await server.call('POST', PATH, { body, token: vault }),
        badRequest('token is required for TokenReview in authentication'),
      );
    });

    it('tokens of other callers are known, too, for the API of the server', async () => {
      expect(await ask(asUser('kate').token)).toEqual({
        authenticated: true,
        user: { username: 'kate', uid: 'uid-kate', groups: ['devs', 'system:authenticated'] },
        audiences: [api],
      });
      expect(await isGood(asUser('kate').token, ['elsewhere'])).toBe(false);
    });

    it('A3: the review of passes knows the passes of its cluster, and no other token', async () => {
      await grant(server, {
        to: 'nobody',
        rules: [may('create', 'tokenreviews', 'authentication.k8s.io', ['passes'])],
        clusters: 'env=prod',
      });
      const by = asUser('nobody').token;
      // With the slash that client-go puts behind the address of a webhook.
      const passes = `${PATH}/passes/`;
      const beta = await issue(server, tokenPath('builder', 'ci', 'beta'), { audiences: [api] });
      expect(await ask(genuine, [api, 'https://kubernetes.default.svc'], passes, by)).toMatchObject({
        authenticated: true,
        user: { username: 'system:serviceaccount:ci:builder', uid: uids.builder },
        audiences: [api],
      });
      for (const token of [server.adminToken, asUser('kate').token, beta]) {
        expect(await ask(token, [api], passes, by)).toEqual({ user: {}, error: 'invalid bearer token' });
      }
      const body = { spec: { token: genuine } };
      const codes = [
        PATH,
        `${PATH}/others`,
        passes.replace('alpha', 'beta'),
        passes.replace('/orchestrator/alpha', ''),
      ];
      for (const path of codes) expect((await server.call('POST', path, { body, token: by })).code, path).toBe(403);
      expect((await server.call('POST', `${PATH}/others`, { body })).code).toBe(404);
      expect((await server.call('GET', passes)).code).toBe(405);
    });

    it('a token is known below its cluster only; at the fleet it has its full name', async () => {
      const token = await issue(server, tokenPath('builder', 'ci', 'beta'), { audiences: ['vault'] });
      expect(await ask(token, ['vault'])).toEqual({ user: {}, error: 'invalid bearer token' });
      const atFleet = await ask(token, ['vault'], TOKEN, server.adminToken);
      expect(atFleet).toMatchObject({ user: { username: 'system:cluster:beta:serviceaccount:ci:builder' } });
    });
  });

  describe('permissions and paths', () => {
    const body = { spec: { token: 'x' } };

    it('C-E: only callers who may create tokenreviews in that cluster', async () => {
      for (const [path, token] of [
        [PATH, asUser('nobody').token],
        [PATH, genuine],
        [inCluster(TOKEN, 'beta'), vault],
        [inCluster(TOKEN, 'no-such-cluster'), vault],
        [TOKEN, vault],
      ] as const) {
        const answer = await server.call('POST', path, { body, token });
        expect([answer.code, answer.json.message], path).toEqual([403, expect.stringContaining('"tokenreviews"')]);
      }
      expectUnauthorized(await server.call('POST', PATH, { body, token: null }));
    });

    it('C-E: a path with a namespace, and a cluster that does not exist', async () => {
      expect((await server.call('POST', PATH.replace('/v1/', '/v1/namespaces/ci/'), { body })).code).toBe(404);
      expectStatus(
        await server.call('POST', inCluster(TOKEN, 'gamma'), { body }),
        notFound('clusters', 'gamma', 'clusterregistry.k8s.io'),
      );
    });
  });

  it('A3, C-E: the audience: C-E: no audiences and an empty list of them both mean the API', async () => {
    for (const audiences of [undefined, []]) {
      expect(await ask(genuine, audiences)).toMatchObject({ authenticated: true, audiences: [api] });
    }
    expect((await ask(genuine, ['x'])).authenticated).toBeUndefined();
  });

  it('A8: no token is in the output of the server', () => {
    const written = `${server.output.stdout}${server.output.stderr}`;
    expect(written).not.toContain('eyJ');
    expect(written).not.toContain(vault);
  });
});
