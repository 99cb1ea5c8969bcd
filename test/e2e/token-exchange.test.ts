import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLogOf, eventsOf, readAudit } from './support/audit.ts';
import { bind, codeFor, createObjects, issue, tokenPath } from './support/objects.ts';
import { acceptTokens, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** The OAuth endpoints, by the sections of RFC 6749, 7009, 7662, 8414, 8693 and 8707. */

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE = 'urn:ietf:params:oauth:token-type:';
const ACCOUNT = 'serviceaccount:ci:builder';

let provider: IdentityProvider;
const server = sharedTlsServer();
let issuer: string;
let audit: string;
/** A token of the identity provider. */
let jane: string;

beforeAll(async () => {
  audit = auditLogOf(server);
  provider = await startProvider();
  await acceptTokens(server, [provider]);
  issuer = `${server.url}/orchestrator/alpha`;
  await createObjects(server);
  await bind(server, 'jane-tokens', { kind: 'User', name: 'id:jane' }, undefined, 'env=prod');
  await bind(
    server,
    'vault-reviews',
    { kind: 'User', name: 'vault' },
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
  );
  jane = await provider.sign({ sub: 'jane', jti: 'jane-1' });
});
afterAll(() => provider.close());

type Parameters = Readonly<Record<string, string | undefined>>;

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

const encode = (parameters: Parameters): string =>
  new URLSearchParams(Object.entries(parameters).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]]))).toString();

const good = (changes: Parameters = {}): Parameters => ({
  grant_type: GRANT,
  subject_token: jane,
  subject_token_type: `${TYPE}id_token`,
  audience: 'alpha',
  scope: ACCOUNT,
  ...changes,
});

const send = (
  body: string | Parameters,
  path = '/oauth/token',
  headers: Record<string, string> = {},
): Promise<Answer> =>
  server.call('POST', path, {
    token: null,
    body: typeof body === 'string' ? body : encode(body),
    headers: { ...FORM, ...headers },
  });

const exchange = (changes: Parameters = {}, path?: string): Promise<Answer> => send(good(changes), path);

const refused = ({ code, json }: Answer): unknown[] => [code, json.error];

describe('RFC 8693 section 2.2.1: the answer', () => {
  it('has the members of section 2.2.1, and is not to be stored (RFC 6749 section 5.1)', async () => {
    const { code, json, headers } = await exchange();
    expect(code).toBe(200);
    expect(json).toEqual({
      access_token: expect.stringMatching(/^eyJ/),
      issued_token_type: `${TYPE}access_token`,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: `${ACCOUNT} aud:${issuer}`,
    });
    expect([headers.get('content-type'), headers.get('cache-control'), headers.get('pragma')]).toEqual([
      'application/json',
      'no-store',
      'no-cache',
    ]);
    expect(decodeJwt(json.access_token)).toMatchObject({
      iss: issuer,
      aud: [issuer],
      sub: 'system:serviceaccount:ci:builder',
    });
    expect(await codeFor(server, json.access_token)).toBe(200);
  });

  it('the form of kubernetes-mcp-server, byte for byte', async () => {
    const type = encodeURIComponent(`${TYPE}access_token`);
    const body = `audience=&grant_type=${encodeURIComponent(GRANT)}&requested_token_type=${type}&scope=${encodeURIComponent(ACCOUNT)}&subject_token=${jane}&subject_token_type=${type}`;
    expect((await send(body, '/orchestrator/alpha/oauth/token')).code).toBe(200);
  });

  it('an issued pass is a subject token with the permissions of its account', async () => {
    const pass = await issue(server);
    expect(refused(await exchange({ subject_token: pass }))).toEqual([400, 'invalid_target']);
    await bind(server, 'builder-tokens', { kind: 'User', name: 'system:serviceaccount:ci:builder' }, {
      verbs: ['create'],
      apiGroups: [''],
      resources: ['serviceaccounts/token'],
      resourceNames: ['other'],
    } as never);
    const other = { subject_token: pass, subject_token_type: `${TYPE}access_token`, scope: 'serviceaccount:ci:other' };
    expect((await exchange(other)).code).toBe(200);
    expect(refused(await exchange({ ...other, scope: ACCOUNT }))).toEqual([400, 'invalid_target']);
    const forVault = await issue(server, tokenPath(), { audiences: ['vault'] });
    expect(refused(await exchange({ ...other, subject_token: forVault }))).toEqual([400, 'invalid_request']);
  });

  it('the audit event is that of a TokenRequest, with the grant, the client and the issued id', async () => {
    const { code, headers, json } = await exchange({ client_id: 'ui' });
    expect(code).toBe(200);
    const [event] = await eventsOf(audit, headers.get('audit-id'));
    expect(event).toMatchObject({
      requestURI: '/oauth/token',
      verb: 'create',
      user: { username: 'id:jane', extra: { 'authentication.kubernetes.io/credential-id': ['JTI=jane-1'] } },
      objectRef: { resource: 'serviceaccounts', namespace: 'ci', name: 'builder', subresource: 'token' },
      responseStatus: { code: 200 },
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'clusterpass.dev/cluster': 'alpha',
        'clusterpass.dev/grant': 'token-exchange',
        'clusterpass.dev/unverified-client-id': 'ui',
        'authentication.kubernetes.io/issued-credential-id': `JTI=${decodeJwt(json.access_token).jti}`,
      },
    });
  });
});

describe('RFC 8693 section 2.2.2, RFC 6749 section 5.2: errors', () => {
  it('RFC 6749 section 3.2: unknown and empty parameters are ignored, those of the query too', async () => {
    const body = `${encode(good())}&options=%7B%7D&actor_token=&actor_token_type=&client_secret=&`;
    const type = { 'Content-Type': `${FORM['Content-Type']}; charset=UTF-8` };
    expect((await send(body, '/oauth/token?scope=x&fieldValidation=nonsense', type)).code).toBe(200);
  });

  it('sizes: 64 KiB of form, whether or not its length is announced', async () => {
    const long = `${encode(good())}&a=${'x'.repeat(70_000)}`;
    expect(refused(await send(long))).toEqual([413, 'invalid_request']);
    const chunked = await fetch(`${server.url}/oauth/token`, {
      method: 'POST',
      headers: FORM,
      body: new Blob([long]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([chunked.status, ((await chunked.json()) as { error: string }).error]).toEqual([413, 'invalid_request']);
  });

  it('no token is in an error or in the audit log', async () => {
    const answer = await exchange({ audience: jane, client_id: jane, scope: jane });
    expect(answer.text).not.toContain(jane.slice(0, 20));
    await exchange({ client_id: jane });
    expect(JSON.stringify(await readAudit(audit))).not.toContain(jane.slice(0, 40));
  });
});

describe('RFC 8414: metadata', () => {
  it.each(['', '/orchestrator/alpha', '/orchestrator/no-such-cluster'])('section 3: of the issuer %j', async (path) => {
    const at = `/.well-known/oauth-authorization-server${path}`;
    const { code, json, headers } = await server.call('GET', at, { token: null });
    const own = `${server.url}${path}`;
    expect([code, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600']);
    expect(json).toEqual({
      issuer: own,
      token_endpoint: `${own}/oauth/token`,
      jwks_uri: `${own}/openid/v1/jwks`,
      response_types_supported: [],
      grant_types_supported: [GRANT],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint: `${server.url}/oauth/revoke`,
      introspection_endpoint: `${own}/oauth/introspect`,
    });
  });
});

describe('RFC 7009: revocation', () => {
  const revoke = (token: string, as: string | null = server.adminToken): Promise<Answer> =>
    send(
      { token, token_type_hint: 'access_token' },
      '/oauth/revoke',
      as === null ? {} : { Authorization: `Bearer ${as}` },
    );

  it('section 2.2: 200 without a body, and the pass is refused from then on', async () => {
    const pass = await issue(server);
    const { code, text, headers } = await revoke(pass);
    expect([code, text, headers.get('cache-control')]).toEqual([200, '', 'no-store']);
    expect(await codeFor(server, pass)).toBe(401);
    expect((await revoke(pass)).code).toBe(200);
    const [event] = await eventsOf(audit, headers.get('audit-id'));
    expect(event).toMatchObject({
      verb: 'delete',
      annotations: { 'clusterpass.dev/revoked-credential-id': `JTI=${decodeJwt(pass).jti}` },
    });
  });

  it('callers revoke the tracked passes that they requested, and no other', async () => {
    const own = (await exchange({ tracked: 'true' })).json.access_token;
    expect(refused(await revoke(own, tokenOf('carl')))).toEqual([403, 'unauthorized_client']);
    expect(await codeFor(server, own)).toBe(200);
    expect((await revoke(own, jane)).code).toBe(200);
    expect(await codeFor(server, own)).toBe(401);
  });

  it('section 2.2: a revoked pass is 200 for its requester, and 403 for others, like one that is not revoked', async () => {
    for (const by of [jane, server.adminToken]) {
      const own = (await exchange({ tracked: 'true' })).json.access_token;
      const before = await revoke(own, tokenOf('carl'));
      expect((await revoke(own, by)).code).toBe(200);
      expect((await revoke(own, jane)).code).toBe(200);
      const after = await revoke(own, tokenOf('carl'));
      expect([refused(after), after.text]).toEqual([[403, 'unauthorized_client'], before.text]);
    }
  });
});

describe('RFC 7662: introspection', () => {
  const introspect = async (token: string, { as = 'vault', path = '' } = {}): Promise<Answer> =>
    send({ token }, `${path}/oauth/introspect`, { Authorization: `Bearer ${tokenOf(as)}` });

  it('section 2.2: a valid pass', async () => {
    const pass = await issue(server, tokenPath(), { audiences: ['vault'] });
    const { exp, iat, nbf, jti } = decodeJwt(pass);
    for (const path of ['', '/orchestrator/alpha']) {
      const { code, json, headers } = await introspect(pass, { path });
      expect([code, headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(json).toMatchObject({
        active: true,
        iss: issuer,
        aud: ['vault'],
        sub: 'system:serviceaccount:ci:builder',
        token_type: 'Bearer',
        exp,
        iat,
        nbf,
        jti,
      });
    }
    expect((await introspect(pass, { path: '/orchestrator/alpha' })).json.username).toBe(
      'system:serviceaccount:ci:builder',
    );
  });

  it('section 2.2: a token of an identity provider', async () => {
    expect((await introspect(jane)).json).toMatchObject({ active: true, username: 'id:jane', jti: 'jane-1' });
  });
});

describe('OAuth clients', () => {
  it('openid-client: a generic grant', async () => {
    const config = await openid.discovery(new URL(issuer), 'any', undefined, openid.None(), { algorithm: 'oauth2' });
    const answer = await openid.genericGrantRequest(config, GRANT, {
      subject_token: jane,
      subject_token_type: `${TYPE}id_token`,
      scope: ACCOUNT,
    });
    expect([answer.token_type, answer.expires_in]).toEqual(['bearer', 3600]);
    expect(await codeFor(server, answer.access_token)).toBe(200);
    await expect(
      openid.genericGrantRequest(config, GRANT, {
        subject_token: 'x',
        subject_token_type: `${TYPE}jwt`,
        scope: ACCOUNT,
      }),
    ).rejects.toMatchObject({ error: 'invalid_request', status: 400 });
  });

  it('openid-client: a person signs in at the provider, and the ID token becomes a pass', async () => {
    const login = await openid.discovery(new URL(provider.url), CLIENT_ID, undefined, openid.None());
    const device = await openid.initiateDeviceAuthorization(login, { scope: 'openid' });
    await provider.visit(device.verification_uri_complete ?? '', 'jane');
    const { id_token = '' } = await openid.pollDeviceAuthorizationGrant(login, { ...device, interval: 0 });
    // By OpenID Connect Discovery of the server, for clients that do not know RFC 8414.
    const config = await openid.discovery(new URL(server.url), 'any', undefined, openid.None());
    const { access_token } = await openid.genericGrantRequest(config, GRANT, {
      subject_token: id_token,
      subject_token_type: `${TYPE}id_token`,
      audience: 'alpha:ci:builder',
    });
    expect(await codeFor(server, access_token)).toBe(200);
  });

  it('oauth4webapi: discovery, exchange, introspection, revocation', async () => {
    const url = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, { algorithm: 'oauth2' }));
    const client = { client_id: 'ui' };
    const response = await oauth.genericTokenEndpointRequest(as, client, oauth.None(), GRANT, {
      subject_token: jane,
      subject_token_type: `${TYPE}id_token`,
      audience: 'alpha',
      scope: ACCOUNT,
      tracked: 'true',
    });
    const { access_token } = await oauth.processGenericTokenEndpointResponse(as, client, response);
    const bearer =
      (token: string): oauth.ClientAuth =>
      (_as, _client, _body, headers) =>
        headers.set('authorization', `Bearer ${token}`);
    const asked = await oauth.introspectionRequest(as, client, bearer(tokenOf('vault')), access_token);
    expect(await oauth.processIntrospectionResponse(as, client, asked)).toMatchObject({ active: true, iss: issuer });
    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, bearer(jane), access_token));
    const again = await oauth.introspectionRequest(as, client, bearer(tokenOf('vault')), access_token);
    expect(await oauth.processIntrospectionResponse(as, client, again)).toEqual({ active: false });
  });
});
