import { createPublicKey, createSecretKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AuthenticationV1Api, KubeConfig } from '@kubernetes/client-node';
import { CompactEncrypt, decodeJwt, exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus, expectUnauthorized, notFound } from './support/expect-status.ts';
import { b64, type Forger, inSeconds, inSeconds as now, openForger } from './support/forger.ts';
import {
  asUser,
  codeFor,
  createObjects,
  createPod,
  createSecret,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/objects.ts';
import { envelope, message } from './support/protobuf.ts';
import { grant, may } from './support/rbac.ts';
import { inCluster, review, TOKEN } from './support/reviews.ts';
import { type Server, TLS } from './support/server.ts';
import { beforeAllWithTlsServer } from './support/shared-server.ts';

/** TokenReview, for genuine and for forged tokens. */

let server: Server;
let uids: Awaited<ReturnType<typeof createObjects>>;
let genuine: string;
let forger: Forger;

beforeAllWithTlsServer(async (shared) => {
  server = shared;
  uids = await createObjects(server);
  genuine = await issue(server);
  forger = openForger(server, genuine);
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

  describe('A3, C-E: the audience', () => {
    const TOKENS: Readonly<Record<string, () => unknown>> = {
      'a text': () => 'vault',
      'a list': () => ['vault'],
      'an empty list': () => [],
      nothing: () => undefined,
      'the API and another': () => [api, 'vault'],
    };
    // For the audiences none, the API, vault: what is common, or undefined for a refusal.
    const CELLS: Readonly<Record<string, readonly (readonly string[] | undefined)[]>> = {
      'a text': [undefined, undefined, ['vault']],
      'a list': [undefined, undefined, ['vault']],
      'an empty list': [undefined, undefined, undefined],
      nothing: [undefined, undefined, undefined],
      'the API and another': [['API'], ['API'], ['vault']],
    };

    it.each(Object.keys(TOKENS))('%s, reviewed without audiences, for the API and for a vault', async (name) => {
      const token = forger.forge({ payload: forger.claims({ aud: TOKENS[name]?.() }) });
      const answers = await Promise.all([ask(token), ask(token, [api]), ask(token, ['vault'])]);
      const common = answers.map(({ authenticated, audiences }) => (authenticated === true ? audiences : undefined));
      expect(common).toEqual(
        CELLS[name]?.map((cell) => cell?.map((audience) => (audience === 'API' ? api : audience))),
      );
      // A bearer is accepted exactly if a review for the API accepts the token.
      expect(await codeFor(server, token)).toBe(answers[0].authenticated === true ? 200 : 401);
    });

    it('C-E: no audiences and an empty list of them both mean the API', async () => {
      for (const audiences of [undefined, []]) {
        expect(await ask(genuine, audiences)).toMatchObject({ authenticated: true, audiences: [api] });
      }
      expect((await ask(genuine, ['x'])).authenticated).toBeUndefined();
    });

    it.each<[string, string[], string]>([
      [
        'too many',
        Array.from({ length: 33 }, (_, n) => `a${n}`),
        'spec.audiences: Too many: 33: must have at most 32 items',
      ],
      ['an empty one', ['vault', ''], 'spec.audiences[1]: Invalid value: "": must not be empty'],
      [
        'one with a line break',
        ['a\n'],
        'spec.audiences[0]: Invalid value: "a\\n": must not contain control characters',
      ],
      ['a long one', ['x'.repeat(1_025)], 'must be no more than 1024 characters'],
    ])('C-E: audiences are bounded as in a token request: %s', async (_, audiences, message) => {
      const answer = await server.call('POST', PATH, { body: { spec: { token: genuine, audiences } }, token: vault });
      expect(answer.code).toBe(422);
      expect(answer.json.message).toContain('TokenReview.authentication.k8s.io "" is invalid: ');
      expect(answer.json.message).toContain(message);
    });

    it('C-E: the largest list of audiences is answered, and repeated ones count once', async () => {
      const audiences = Array.from({ length: 32 }, (_, n) => `${n}`.padEnd(1_024, 'x'));
      expect(await isGood(genuine, [...audiences, ...audiences])).toBe(false);
    });

    it('K-14: the refusal names both sides; what is common comes in the order of the token', async () => {
      const token = await issue(server, tokenPath(), { audiences: ['a', 'b', 'c'] });
      expect((await ask(token, ['x', 'y'])).error).toBe(
        'token audiences ["a" "b" "c"] is invalid for the target audiences ["x" "y"]',
      );
      expect((await ask(token, ['c', 'x', 'a'])).audiences).toEqual(['a', 'c']);
      // A24: a list of audiences differs from its concatenation.
      expect(await isGood(token, ['a,b'])).toBe(false);
    });
  });

  describe('A4: the bound object of a token', () => {
    it.each(['Pod', 'Secret'])('%s: deleted, and also if another object has its name', async (kind) => {
      const make = (name: string) =>
        kind === 'Pod' ? createPod(server, name, { serviceAccountName: 'builder' }) : createSecret(server, name);
      const name = `short-lived-${kind.toLowerCase()}`;
      await make(name);
      const token = await bound(kind, name);
      expect(await isGood(token)).toBe(true);
      await remove(server, inNamespace(`${kind.toLowerCase()}s/${name}`));
      expect(await ask(token)).toEqual({ user: {}, error: 'service account token has been invalidated' });
      await make(name);
      expect((await ask(token)).error).toMatch(/UID \(.*\) does not match service account .* ref claim/);
      expect(await isGood(await bound(kind, name))).toBe(true);
    });
  });

  describe('C-E: other encodings', () => {
    const sent = async (body: string | Uint8Array, type: string) => {
      const headers = { 'Content-Type': type, Accept: `${type},application/json` };
      return server.call('POST', PATH, { body, token: vault, headers });
    };

    it('YAML', async () => {
      const answer = await sent(`spec:\n  token: ${genuine}\n  audiences: [vault, "${api}"]\n`, 'application/yaml');
      expect(answer.code).toBe(201);
      expect(answer.text).toContain('authenticated: true');
    });

    it('protobuf, with a status that is ignored', async () => {
      const asked = (spec: Record<number, string | string[]>) =>
        sent(
          envelope('authentication.k8s.io/v1', 'TokenReview', message({ 1: { 1: 'a' }, 2: spec, 3: { 1: 1 } })),
          'application/vnd.kubernetes.protobuf',
        );
      const good = await asked({ 1: genuine, 2: [api] });
      expect([good.code, good.json.status.authenticated, good.json.metadata]).toEqual([201, true, { name: 'a' }]);
      expect((await asked({ 1: genuine, 2: ['vault'] })).json.status).toMatchObject({ user: {} });
      expect((await asked({ 2: ['vault'] })).code).toBe(400);
    });

    it('the official client', async () => {
      const config = new KubeConfig();
      config.loadFromOptions({
        clusters: [{ name: 'a', server: api, caFile: TLS.caFile }],
        users: [{ name: 'b', token: vault }],
        contexts: [{ name: 'c', cluster: 'a', user: 'b' }],
        currentContext: 'c',
      });
      const { status } = await config
        .makeApiClient(AuthenticationV1Api)
        .createTokenReview({ body: { spec: { token: genuine } } });
      expect(status).toMatchObject({ authenticated: true, user: { username: 'system:serviceaccount:ci:builder' } });
    });
  });

  describe('A5: the end of a token', () => {
    /** Seconds from the expiry: far enough from the minute of leeway for a slow machine. */
    const CASES: readonly (readonly [number, boolean])[] = [
      [30, true],
      [-1, true],
      [-30, true],
      [-90, false],
      [-3600, false],
    ];
    const ending = (seconds: number) => forger.forge({ payload: forger.claims({ exp: inSeconds() + seconds }) });

    const expectTheSameEverywhere = async () => {
      for (const [seconds, good] of CASES) {
        const token = ending(seconds);
        expect(await isGood(token), `${seconds}`).toBe(good);
        const [refused, allowed] = good ? [403, 200] : [401, 401];
        expect(await codeFor(server, token)).toBe(allowed);
        for (const path of [PATH, tokenPath()]) {
          expect((await server.call('POST', path, { body: {}, token })).code, path).toBe(refused);
        }
        expect((await server.call('GET', inNamespace('pods'), { token })).code).toBe(refused);
      }
    };

    it('is the same at every endpoint, and after a restart', async () => {
      await expectTheSameEverywhere();
      await server.stop();
      server = await server.restart();
      await expectTheSameEverywhere();
    });
  });

  it('A8: no token is in the output of the server', () => {
    const written = `${server.output.stdout}${server.output.stderr}`;
    expect(written).not.toContain('eyJ');
    expect(written).not.toContain(vault);
  });
});

describe('forged tokens', () => {
  /** C-D: forged, damaged and unusual tokens. Most have a valid signature, so they must fail for another reason. */

  let key: KeyObject;
  let kid: string;
  let claims: Forger['claims'];
  let forge: Forger['forge'];
  /** Requests to a server that forged tokens name as the source of their key. */
  let visits = 0;
  const lure = createServer((_, response) => {
    visits++;
    response.end('{"keys":[]}');
  });
  let lureUrl: string;

  beforeAll(async () => {
    ({ key, kid, claims, forge } = forger);
    await new Promise<void>((resolve) => lure.listen(0, '127.0.0.1', resolve));
    lureUrl = `http://127.0.0.1:${(lure.address() as AddressInfo).port}/keys`;
  });
  afterAll(async () => {
    lure.close();
  });

  const segments = (): [header: string, payload: string, signature: string] =>
    genuine.split('.') as [string, string, string];

  const withSignature = (signature: Uint8Array): string => `${segments()[0]}.${segments()[1]}.${b64(signature)}`;
  const kubernetes = (changes: object) => ({ ...(claims()['kubernetes.io'] as object), ...changes });
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  const FORGERIES: readonly (readonly [string, () => string | Promise<string>])[] = [
    ...['none', 'NoNe', ''].flatMap((alg) => [
      [`alg ${alg || 'empty'}, no signature`, () => `${b64(JSON.stringify({ alg, kid }))}.${segments()[1]}.`] as const,
      [`alg ${alg || 'empty'}, our signature`, () => forge({ header: { alg } })] as const,
    ]),
    [
      'HS256 keyed with the public PEM',
      () => {
        const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' });
        return new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid }).sign(createSecretKey(Buffer.from(pem)));
      },
    ],
    ['ES384 in the header', () => forge({ header: { alg: 'ES384' } })],
    ['r = s = 0', () => withSignature(Buffer.alloc(64))],
    [
      'a DER signature',
      () =>
        withSignature(sign('sha256', Buffer.from(`${segments()[0]}.${segments()[1]}`), { key, dsaEncoding: 'der' })),
    ],
    ['a cut signature', () => withSignature(Buffer.from(segments()[2], 'base64url').subarray(0, 63))],
    ['an empty signature', () => withSignature(Buffer.alloc(0))],
    [
      'a signature of another key under our kid',
      () => new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', kid }).sign(stranger.privateKey),
    ],
    [
      'an embedded jwk',
      async () => {
        const jwk = await exportJWK(stranger.publicKey);
        return new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', jwk }).sign(stranger.privateKey);
      },
    ],
    ['jku', () => forge({ header: { jku: lureUrl } })],
    ['x5u', () => forge({ header: { x5u: lureUrl } })],
    ...['../../etc/passwd', "' OR 1=1--", '__proto__', 'x'.repeat(1025), ''].map(
      (odd) => [`kid ${odd.slice(0, 20)}`, () => forge({ header: { kid: odd } })] as const,
    ),
    ['crit', () => forge({ header: { crit: ['x'], x: 1 } })],
    ['b64 false', () => forge({ header: { b64: false, crit: ['b64'] } })],
    ['zip', () => forge({ header: { zip: 'DEF' } })],
    ['typ at+jwt', () => forge({ header: { typ: 'at+jwt' } })],
    ['typ dpop+jwt', () => forge({ header: { typ: 'dpop+jwt' } })],
    [
      'JWE',
      () =>
        new CompactEncrypt(Buffer.from(JSON.stringify(claims())))
          .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM' })
          .encrypt(createPublicKey(key)),
    ],
    [
      'PBES2 with 1e9 rounds',
      () =>
        `${b64(JSON.stringify({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 1e9, p2s: 'AAAA' }))}.AAAA.AAAA.AAAA.AAAA`,
    ],
    ['padding', () => `${genuine}==`],
    [
      'the other alphabet',
      () => {
        // Signatures differ each time: one that uses the two letters in which the alphabets differ comes soon.
        let token = forge();
        while (!/[-_]/.test(token)) token = forge();
        return token.replaceAll('-', '+').replaceAll('_', '/');
      },
    ],
    ['a second spelling of the last character', () => `${genuine.slice(0, -1)}${secondSpelling(genuine.at(-1) ?? '')}`],
    ['iss of another cluster', () => forge({ payload: claims({ iss: `${server.url}/orchestrator/beta` }) })],
    ['iss with a trailing slash', () => forge({ payload: claims({ iss: `${decodeJwt(genuine).iss}/` }) })],
    ['an unknown iss', () => forge({ payload: claims({ iss: 'https://elsewhere.example' }) })],
    ['no exp', () => forge({ payload: claims({ exp: undefined }) })],
    ['exp as text', () => forge({ payload: claims({ exp: String(now() + 600) }) })],
    ['exp negative', () => forge({ payload: claims({ exp: -1 }) })],
    ['exp long past', () => forge({ payload: claims({ exp: now() - 120 }) })],
    ['nbf in two minutes', () => forge({ payload: claims({ nbf: now() + 120 }) })],
    ['iat in two minutes', () => forge({ payload: claims({ iat: now() + 120 }) })],
    ['no aud', () => forge({ payload: claims({ aud: undefined }) })],
    ['aud empty', () => forge({ payload: claims({ aud: [] }) })],
    ['aud a number', () => forge({ payload: claims({ aud: 1 }) })],
    ['another aud as text', () => forge({ payload: claims({ aud: 'vault' }) })],
    [
      'no uid',
      () => forge({ payload: claims({ 'kubernetes.io': kubernetes({ serviceaccount: { name: 'builder' } }) }) }),
    ],
    [
      'another uid',
      () =>
        forge({ payload: claims({ 'kubernetes.io': kubernetes({ serviceaccount: { name: 'builder', uid: 'x' } }) }) }),
    ],
    [
      'an account that does not exist',
      () =>
        forge({
          payload: claims({
            sub: 'system:serviceaccount:ci:root',
            'kubernetes.io': kubernetes({ serviceaccount: { name: 'root', uid: 'x' } }),
          }),
        }),
    ],
    ['K-23: sub and account differ', () => forge({ payload: claims({ sub: 'system:serviceaccount:ci:other' }) })],
    ['no kubernetes.io', () => forge({ payload: claims({ 'kubernetes.io': undefined }) })],
    [
      'a name with slashes',
      () => forge({ payload: claims({ 'kubernetes.io': kubernetes({ pod: { name: '../../x', uid: 'x' } }) }) }),
    ],
    ['repeated claims', () => forge({ payload: JSON.stringify(claims()).replace('{', '{"iss":"x",') })],
    ['not JSON', () => forge({ payload: 'no' })],
    ['two dots', () => '..'],
    ['four parts', () => `${genuine}.x`],
    ['a token that starts with {', () => '{"alg":"none"}'],
  ];

  /** Base64 of 64 bytes leaves four bits of the last character unused. */
  function secondSpelling(last: string): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return alphabet[alphabet.indexOf(last) ^ 1] ?? '';
  }

  const reviewed = (token: string) => review(server, inCluster(TOKEN), { spec: { token } }, server.adminToken);

  /** As a bearer token, and in a review. */
  async function expectAccepted(token: string): Promise<void> {
    expect(await codeFor(server, token)).toBe(200);
    expect(await reviewed(token)).toMatchObject({ authenticated: true, audiences: [decodeJwt(genuine).iss] });
  }

  describe('A2, C-D, K-10, K-11, K-12, K-13, K-14, K-15, K-16, K-17: every one of them is the same 401, and a review that says no', () => {
    it('the forger makes tokens that are accepted if nothing is changed', async () => {
      await expectAccepted(genuine);
      await expectAccepted(forge());
      // K-04
      await expectAccepted(forge({ payload: claims({ aud: decodeJwt(genuine).iss }) }));
      // K-11
      await expectAccepted(forge({ header: { kid: undefined } }));
    });

    it('K-15: a minute of leeway for other clocks', async () => {
      for (const changes of [{ exp: now() - 20 }, { nbf: now() + 20 }, { iat: now() + 20 }]) {
        await expectAccepted(forge({ payload: claims(changes) }));
      }
    });

    it.each(FORGERIES)('%s', async (_, make) => {
      const token = await make();
      expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
      const status = await reviewed(token);
      expect(status).toEqual({ user: {}, error: expect.stringMatching(/^.{5,300}$/) });
      expect(status.error).not.toContain(token);
    });

    it.each([
      ['inside', () => `${genuine.slice(0, 40)}\n${genuine.slice(40)}`],
      ['in the signature', () => `${genuine.slice(0, -5)}\r\n${genuine.slice(-5)}`],
      ['at the end', () => `${genuine}\n`],
    ])('a line break %s, which only a body can carry', async (_, make) => {
      expect(await reviewed(make())).toEqual({ user: {}, error: expect.stringMatching(/^.{5,300}$/) });
    });

    it('no server was asked for a key, and Clusterpass still serves', async () => {
      expect(visits).toBe(0);
      expect(await codeFor(server, genuine)).toBe(200);
      expect(server.output.stderr).not.toContain('request failed');
    });
  });
});
