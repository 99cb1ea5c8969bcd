import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Person } from './support/cli.ts';
import { expectUnauthorized } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import { KEY_SET, keySetOf } from './support/signing-keys.ts';
import { bind, createWorld, issue, tokenPath } from './support/token-world.ts';

/** What relying parties read to trust our tokens. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

const CONFIGURATION = '/orchestrator/alpha/.well-known/openid-configuration';
const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  server.call(method, path, { token: null, headers });

describe('the configuration', () => {
  it('O-01, O-03, O-07: exactly these members, compact, and to be kept for an hour', async () => {
    const issuer = `${server.url}/orchestrator/alpha`;
    const { code, headers, text } = await open(CONFIGURATION);
    expect(code).toBe(200);
    expect(text).toBe(
      `{"issuer":"${issuer}","jwks_uri":"${issuer}/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`,
    );
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(headers.get('etag')).toBeNull();
  });
});

describe('the key set', () => {
  it('O-02, O-03: public keys only, members in order', async () => {
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

  it('is all that another library needs', async () => {
    const token = await issue(server, tokenPath(), { audiences: ['vault'] });
    const { json } = await open(CONFIGURATION);
    const keySet = createRemoteJWKSet(new URL(json.jwks_uri));
    const { payload } = await jwtVerify(token, keySet, {
      issuer: json.issuer,
      audience: 'vault',
      algorithms: json.id_token_signing_alg_values_supported,
    });
    expect(payload.sub).toBe('system:serviceaccount:ci:builder');
  });
});

describe('who may read them', () => {
  it('O-05, decision 8: anyone, and also with a good token that may do nothing', async () => {
    for (const path of [CONFIGURATION, KEY_SET]) {
      const token = await issue(server, tokenPath('other'));
      expect((await server.call('GET', path, { token })).code, path).toBe(200);
      expect((await open(path, {}, 'HEAD')).code, path).toBe(200);
      expect((await open(`${path}/`)).code, path).toBe(200);
    }
  });

  it.each([
    ['a bad token', 'Bearer nobody-knows-this'],
    ['a token for somebody else', 'audience'],
    ['no token at all', 'Bearer'],
    ['another scheme', 'Basic YTpi'],
  ])('C-C: %s is 401', async (_name, given) => {
    const Authorization =
      given === 'audience' ? `Bearer ${await issue(server, tokenPath(), { audiences: ['vault'] })}` : given;
    for (const path of [CONFIGURATION, KEY_SET]) expectUnauthorized(await open(path, { Authorization }));
  });

  it('A7: the answer does not depend on whether there is such a cluster', async () => {
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

  it.each(['Alpha', 'a_b', '-a', 'a%22b', `${'a'.repeat(254)}`])(
    'a name that no cluster can have is not a way in: %s',
    async (name) => {
      for (const path of [CONFIGURATION, KEY_SET]) expectUnauthorized(await open(path.replace('alpha', name)));
    },
  );

  it('there is no issuer at the root', async () => {
    for (const path of ['/.well-known/openid-configuration', '/openid/v1/jwks']) {
      expectUnauthorized(await open(path));
      expect((await server.call('GET', path)).code).toBe(404);
    }
  });
});

describe('how they are asked for', () => {
  it.each([
    [CONFIGURATION, 'application/json', 'application/json'],
    [CONFIGURATION, '*/*', 'application/json'],
    [KEY_SET, 'application/json', 'application/json'],
    [KEY_SET, 'application/jwk-set+json, application/json;q=0.5', 'application/jwk-set+json'],
    [KEY_SET, 'application/json, application/jwk-set+json;q=0.5', 'application/json'],
    [KEY_SET, '*/*', 'application/jwk-set+json'],
    [KEY_SET, 'application/*', 'application/jwk-set+json'],
  ])('O-04: %s as %s', async (path, Accept, type) => {
    const { code, headers, json } = await open(path, { Accept });
    expect([code, headers.get('content-type')]).toEqual([200, type]);
    expect(json).toBeTypeOf('object');
  });

  it('O-04: what they are not is 406, and what can not be done with them 405', async () => {
    for (const path of [CONFIGURATION, KEY_SET]) {
      expect((await open(path, { Accept: 'text/html' })).code).toBe(406);
      expect((await open(path, {}, 'POST')).code).toBe(405);
      expect((await open(path, {}, 'DELETE')).code).toBe(405);
    }
  });

  it('the key set is there for as long as the server is', async () => {
    const before = await keySetOf(server);
    await server.stop();
    server = await server.restart();
    expect(await keySetOf(server)).toEqual(before);
  });
});

describe('the index of issuers', () => {
  const INDEX = '/openid/v1/issuers';
  const names = async (token?: string): Promise<string[]> => {
    const { code, json } = await server.call('GET', INDEX, token === undefined ? {} : { token });
    expect(code).toBe(200);
    return json.issuers.map(({ cluster }: { cluster: string }) => cluster);
  };

  it('A17: lists the issuers of the clusters that the caller sees, as the list does', async () => {
    const { json, headers } = await server.call('GET', INDEX);
    const issuer = `${server.url}/orchestrator/alpha`;
    expect(json.issuers[0]).toEqual({ cluster: 'alpha', issuer, jwks_uri: `${issuer}/openid/v1/jwks` });
    expect(headers.get('cache-control')).toBe('no-cache, private');
    expect(await names()).toEqual(['alpha', 'beta']);
    const builder = await issue(server);
    expect(await names(builder)).toEqual([]);
    await bind(
      server,
      'sees-dev',
      { kind: 'User', name: 'system:cluster:alpha:serviceaccount:ci:builder' },
      { verbs: ['list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] },
      'env=dev',
    );
    expect(await names(builder)).toEqual(['beta']);
  });

  it('decision 8: is not public', async () => {
    expectUnauthorized(await open(INDEX));
    expect((await server.call('POST', INDEX, { body: {} })).code).toBe(405);
  });
});

describe('clusterpass trust', () => {
  it('O-06: warns that kube-apiserver takes no issuer of plain HTTP', async () => {
    const person = await Person.as(server);
    try {
      const { code, stdout, stderr } = await person.run(['trust', 'alpha']);
      expect(code).toBe(0);
      expect(stderr).toMatch(/^Warning: http:\S+ is plain HTTP, and kube-apiserver accepts https issuers only/);
      expect(stdout).toContain('# No certificateAuthority: the issuer has no certificate.');
    } finally {
      await person.leave();
    }
  });
});
