import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from './support/audit.ts';
import { asUser, bind, codeFor, createObjects, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, type CallOptions, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** Passes for people: `clusters/userpass`, and their reviews, records and revocations. */

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';

const server = sharedServer();
let people: string;

beforeAll(async () => {
  await createObjects(server);
  people = `${server.url}/orchestrator/alpha/people`;
  const userpass = {
    verbs: ['create'],
    apiGroups: ['clusterregistry.k8s.io'],
    resources: ['clusters/userpass'],
  };
  await bind(server, 'people', { kind: 'Group', name: 'devs' }, userpass, 'env=prod');
  await bind(server, 'dana', { kind: 'User', name: 'dana' }, { ...userpass, resourceNames: ['beta'] });
  await bind(server, 'eve', { kind: 'User', name: 'eve' }, { ...userpass, verbs: ['*'], resources: ['clusters'] });
  const reviews = { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] };
  await bind(server, 'reviews', { kind: 'User', name: 'vault' }, reviews);
});

const userpassPath = (cluster = 'alpha'): string => `${CLUSTERS}/${cluster}/userpass`;

const ask = (user: string, cluster = 'alpha', options: CallOptions = {}): Promise<Answer> =>
  server.call('POST', userpassPath(cluster), { body: {}, ...asUser(user), ...options });

async function passOf(user = 'cleo', metadata: object = {}): Promise<string> {
  const answer = await ask(user, 'alpha', { body: { metadata } });
  expect(answer.code, answer.text).toBe(201);
  return answer.json.status.token;
}

const TRACKED = { annotations: { 'clusterpass.dev/tracked': 'true' } };

const form = (parameters: Record<string, string>, path = '/oauth/token', token: string | null = null) =>
  server.call('POST', path, {
    token,
    body: new URLSearchParams(parameters).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });

const exchange = (changes: Record<string, string> = {}): Promise<Answer> =>
  form({
    grant_type: GRANT,
    subject_token: tokenOf('cleo'),
    subject_token_type: JWT,
    audience: 'alpha',
    ...changes,
  });

describe('A47, TX-72: the permission is create on clusters/userpass', () => {
  it.each<[string, string, number]>([
    ['cleo', 'alpha', 201],
    ['cleo', 'beta', 403],
    ['cleo', 'absent', 403],
    ['dana', 'beta', 201],
    ['dana', 'alpha', 403],
    ['eve', 'alpha', 403],
    ['vault', 'alpha', 403],
  ])('%s in %s: %d', async (user, cluster, code) => {
    expect((await ask(user, cluster)).code).toBe(code);
  });

  it('no built-in role but cluster-admin has it, and the admin token is no person', async () => {
    const refusal = await server.call('POST', userpassPath(), { body: {} });
    expect([refusal.code, refusal.json.message]).toEqual([403, expect.stringContaining('credential of operators')]);
  });
});

describe('TX-70: the issuer of people', () => {
  it('has its own discovery document, and the keys of the cluster', async () => {
    const at = '/orchestrator/alpha/people/.well-known/openid-configuration';
    const { code, json, headers } = await server.call('GET', at, { token: null });
    expect([code, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600']);
    expect(json).toMatchObject({
      issuer: people,
      jwks_uri: `${server.url}/orchestrator/alpha/openid/v1/jwks`,
      token_endpoint: `${server.url}/orchestrator/alpha/oauth/token`,
    });
    const keys = createLocalJWKSet((await server.call('GET', new URL(json.jwks_uri).pathname, { token: null })).json);
    const { payload } = await jwtVerify(await passOf(), keys, { issuer: people, audience: people });
    expect(payload).toMatchObject({ sub: 'cleo', groups: ['devs'] });
    expect((await server.call('GET', at.replace('alpha', 'A_B'), { token: null })).code).not.toBe(200);
  });

  it('TX-74: a pass for a person is no bearer token here, and no subject token', async () => {
    const pass = await passOf();
    expect(await codeFor(server, pass)).toBe(401);
    const { code, json } = await exchange({ subject_token: pass });
    expect([code, json.error]).toEqual([400, 'invalid_request']);
  });

  it('A3: no pass of an account has its audience', async () => {
    const { code, json } = await server.call('POST', tokenPath(), { body: { spec: { audiences: [people] } } });
    expect([code, json.message]).toEqual([422, expect.stringContaining('is the audience of passes for people')]);
  });
});

describe('reviews, records and revocation', () => {
  const review = async (token: string, { audiences = [people], cluster = 'alpha', name = '' } = {}) => {
    const at = cluster === '' ? '' : `/orchestrator/${cluster}`;
    const path = `${at}/apis/authentication.k8s.io/v1/tokenreviews${name}`;
    return (await server.call('POST', path, { body: { spec: { token, audiences } }, ...asUser('vault') })).json.status;
  };

  it.each(['', '/passes'])(
    'a TokenReview%s that names the audience knows the person, with the prefix',
    async (name) => {
      const pass = await passOf();
      expect(await review(pass, { name })).toEqual({
        authenticated: true,
        user: {
          username: 'clusterpass:cleo',
          groups: ['clusterpass:devs', 'system:authenticated'],
          extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${decodeJwt(pass).jti}`] },
        },
        audiences: [people],
      });
    },
  );

  it('TX-96: not for another audience, another cluster, or an account', async () => {
    const pass = await passOf();
    for (const asked of [
      { audiences: [] },
      { audiences: [`${server.url}/orchestrator/alpha`] },
      { audiences: [`${server.url}/orchestrator/beta/people`], cluster: 'beta' },
      { cluster: 'beta' },
      { cluster: '', audiences: [] },
    ]) {
      expect((await review(pass, asked)).authenticated, JSON.stringify(asked)).toBeUndefined();
    }
    expect((await review(await issue(server))).authenticated).toBeUndefined();
  });

  it('a tracked pass is listed, revoked by its person, and refused from then on', async () => {
    const pass = await passOf('cleo', TRACKED);
    const { jti = '' } = decodeJwt(pass);
    const path = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
    const { json } = await server.call('GET', `${path}?fieldSelector=spec.user.username=cleo`, asUser('cleo'));
    expect(
      json.items.map(({ metadata, spec }: { metadata: { name: string }; spec: object }) => [metadata.name, spec]),
    ).toEqual([[jti, expect.objectContaining({ cluster: 'alpha', user: { username: 'cleo' }, audiences: [people] })]]);
    expect((await form({ token: pass }, '/oauth/introspect', tokenOf('vault'))).json).toMatchObject({
      active: true,
      sub: 'cleo',
      iss: people,
      username: 'clusterpass:cleo',
    });
    expect((await form({ token: pass }, '/oauth/revoke', tokenOf('dana'))).code).toBe(403);
    expect((await form({ token: pass }, '/oauth/revoke', tokenOf('cleo'))).code).toBe(200);
    expect((await review(pass)).error).toBe('token of a person has been revoked');
    expect((await form({ token: pass }, '/oauth/introspect', tokenOf('vault'))).text).toBe('{"active":false}');
    expect((await server.call('GET', `${path}/${jti}`)).code).toBe(404);
  });
});

describe('the token endpoint', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no permission', { subject_token: tokenOf('eve') }, 'invalid_scope'],
    ['an absent cluster', { audience: 'absent' }, 'invalid_scope'],
    ['an account as well', { scope: 'userpass serviceaccount:ci:builder' }, 'invalid_scope'],
    ['another audience', { scope: 'userpass aud:vault' }, 'invalid_scope'],
    ['an ID token', { requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
    ['an unknown actor', { actor_token: 'x', actor_token_type: JWT }, 'invalid_request'],
  ])('%s is refused', async (_, changes, error) => {
    const { code, json } = await exchange(changes);
    expect([code, json.error]).toEqual([400, error]);
  });

  it('TX-35, decision 12: a forbidden target and one that does not exist have the same response', async () => {
    expect((await exchange({ audience: 'absent' })).text).toBe((await exchange({ audience: 'beta' })).text);
  });

  it('TX-61: an actor is in the claim and in the audit event, and has no part in the decision', async () => {
    const actor = { actor_token: tokenOf('agent'), actor_token_type: JWT };
    const { json, headers } = await exchange(actor);
    expect(decodeJwt(json.access_token)).toMatchObject({ sub: 'cleo', act: { iss: server.url, sub: 'agent' } });
    const [event] = await eventsOf(`${server.dataDir}/audit/audit.log`, headers.get('audit-id'));
    expect(event).toMatchObject({
      user: { username: 'cleo' },
      objectRef: { resource: 'clusters', name: 'alpha', apiGroup: 'clusterregistry.k8s.io', subresource: 'userpass' },
      annotations: {
        'clusterpass.dev/actor': 'agent',
        'clusterpass.dev/cluster': 'alpha',
        'authentication.kubernetes.io/issued-credential-id': `JTI=${decodeJwt(json.access_token).jti}`,
      },
    });
    const asAgent = await exchange({
      subject_token: tokenOf('agent'),
      actor_token: tokenOf('cleo'),
      actor_token_type: JWT,
    });
    expect([asAgent.code, asAgent.json.error]).toEqual([400, 'invalid_scope']);
  });
});
