import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { Person } from './support/cli.ts';
import { codeFor, createAccount, createObjects, inNamespace, issue, remove, tokenPath } from './support/objects.ts';
import { sharedServer } from './support/shared-server.ts';
import { KEY_SET, keySetOf, publicKeyOf } from './support/signing-keys.ts';

/** Issued tokens: their claims, the documents of their issuer, and how long they are accepted. */

const server = sharedServer();
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  uids = await createObjects(server);
});

describe('claims and keys', () => {
  /** The claims of tokens, read with another library than the one that signs, and the keys. */

  let issuer: string;

  beforeAll(async () => {
    issuer = `${server.url}/orchestrator/alpha`;
  });

  const textOf = (token: string, part: 0 | 1): string =>
    Buffer.from(token.split('.')[part] ?? '', 'base64url').toString();

  it('K-03, K-04, K-05, K-06, K-07, K-09: ES256, the default: every claim, in order, under a signature that holds', async () => {
    const token = await issue(server, tokenPath(), { audiences: ['vault', 'registry'], expirationSeconds: 1200 });
    const key = await publicKeyOf(server, decodeProtectedHeader(token).kid);
    const { payload } = await jwtVerify(token, key, { issuer, audience: 'vault', algorithms: ['ES256'] });
    const { iat = 0, jti = '' } = payload;
    expect(textOf(token, 1)).toBe(
      `{"aud":["vault","registry"],"exp":${iat + 1200},"iat":${iat},"iss":"${issuer}","jti":"${jti}","kubernetes.io":{"namespace":"ci","serviceaccount":{"name":"builder","uid":"${uids.builder}"}},"nbf":${iat},"sub":"system:serviceaccount:ci:builder"}`,
    );
    expect(jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
  });
});

describe('the documents of an issuer', () => {
  /** The documents that relying parties read in order to verify tokens. */

  const CONFIGURATION = '/orchestrator/alpha/.well-known/openid-configuration';
  const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    server.call(method, path, { token: null, headers });

  it('O-01, O-03, O-07: the configuration: exactly these members, compact, and cacheable for an hour', async () => {
    const issuer = `${server.url}/orchestrator/alpha`;
    const { code, headers, text } = await open(CONFIGURATION);
    expect(code).toBe(200);
    expect(text).toBe(
      `{"issuer":"${issuer}","jwks_uri":"${issuer}/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"],"token_endpoint":"${issuer}/oauth/token","grant_types_supported":["urn:ietf:params:oauth:grant-type:token-exchange"],"token_endpoint_auth_methods_supported":["none"]}`,
    );
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(headers.get('etag')).toBeNull();
  });

  it('O-02, O-03: the key set: public keys only, members in order', async () => {
    const { code, headers, text, json } = await open(KEY_SET);
    expect(code).toBe(200);
    expect(headers.get('content-type')).toBe('application/jwk-set+json');
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(text).toMatch(/^\{"keys":\[\{.*\}\]\}$/);
    expect(json.keys.length).toBe(2);
    for (const key of json.keys) {
      expect(Object.keys(key)).toEqual(['use', 'kty', 'kid', 'crv', 'alg', 'x', 'y']);
      expect(key).toMatchObject({ use: 'sig', kty: 'EC', crv: 'P-256', alg: 'ES256' });
    }
    expect(json.keys[0].kid).toBe(decodeProtectedHeader(await issue(server)).kid);
  });

  describe('who may read them', () => {
    it('O-05, decision 8: every client, also with a valid token without permissions', async () => {
      for (const path of [CONFIGURATION, KEY_SET]) {
        const token = await issue(server, tokenPath('other'));
        expect((await server.call('GET', path, { token })).code, path).toBe(200);
        expect((await open(path, {}, 'HEAD')).code, path).toBe(200);
        expect((await open(`${path}/`)).code, path).toBe(200);
      }
    });

    it('A7: the response does not depend on whether the cluster exists', async () => {
      const shape = async (cluster: string) => {
        const paths = [CONFIGURATION, KEY_SET].map((path) => path.replace('alpha', cluster));
        const answers = await Promise.all(paths.map((path) => open(path)));
        return answers.map(({ code, text, headers }) => [
          code,
          text.replaceAll(`/${cluster}`, '/*'),
          [...headers.keys()].filter((name) => name !== 'audit-id'),
        ]);
      };
      expect(await shape('nowhere')).toEqual(await shape('alpha'));
      expect(await shape('a.b-c.example')).toEqual(await shape('alpha'));
    });

    it('the server has the same documents, and no token names it as its issuer', async () => {
      expect((await open('/.well-known/openid-configuration')).json.issuer).toBe(server.url);
      expect((await open('/openid/v1/jwks')).text).toBe((await open(KEY_SET)).text);
      expect(decodeJwt(await issue(server)).iss).toBe(`${server.url}/orchestrator/alpha`);
    });
  });

  it.each([
    [CONFIGURATION, 'application/json', 'application/json'],
    [CONFIGURATION, '*/*', 'application/json'],
    [KEY_SET, 'application/json', 'application/json'],
    [KEY_SET, 'application/jwk-set+json, application/json;q=0.5', 'application/jwk-set+json'],
    [KEY_SET, 'application/json, application/jwk-set+json;q=0.5', 'application/json'],
    [KEY_SET, '*/*', 'application/jwk-set+json'],
    [KEY_SET, 'application/*', 'application/jwk-set+json'],
  ])('O-04: how they are asked for: %s as %s', async (path, Accept, type) => {
    const { code, headers, json } = await open(path, { Accept });
    expect([code, headers.get('content-type')]).toEqual([200, type]);
    expect(json).toBeTypeOf('object');
  });

  it('a relying party reads the issuers of the clusters that it may list', async () => {
    const { json } = await server.call('GET', '/auth/v1/clusters');
    const issuers = json.items.map(
      ({ metadata }: { metadata: { annotations: Record<string, string> } }) =>
        metadata.annotations['clusterpass.dev/issuer'],
    );
    expect(issuers).toEqual(
      expect.arrayContaining([`${server.url}/orchestrator/alpha`, `${server.url}/orchestrator/beta`]),
    );
  });

  it('O-06: clusterpass trust: warns that kube-apiserver accepts no issuer with plain HTTP', async () => {
    const person = await Person.as(server);
    const { code, stdout, stderr } = await person.run(['trust', 'alpha']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: http:\S+ is plain HTTP, but kube-apiserver accepts https issuers only/);
    expect(stdout).toContain('# No certificateAuthority: the issuer has no certificate.');
  });
});

describe('how long a token is accepted', () => {
  const bound = (kind: string, name: string) => ({ audiences: [], boundObjectRef: { kind, name } });

  it('A5: the server itself: after a crash, the keys are the same, tokens are valid, and revoked ones are revoked', async () => {
    const keySet = await keySetOf(server);
    await createAccount(server, 'revoked');
    const revoked = await issue(server, tokenPath('revoked'));
    await remove(server, inNamespace('serviceaccounts/revoked'));
    const tokens = [await issue(server), await issue(server, tokenPath(), bound('Pod', 'web-0'))];
    await server.kill();
    await server.restart();
    for (const token of tokens) expect(await codeFor(server, token)).toBe(200);
    expect(await codeFor(server, revoked)).toBe(401);
    expect(await keySetOf(server)).toEqual(keySet);
  });
});
