import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import type { Session } from '../oidc/oidc-session.ts';
import { changeLogins, readLogins } from './logins.ts';
import { sessionToken } from './session-token.ts';

const SERVER = 'https://pass.example.com';

let context: ReturnType<typeof fakeContext>;
let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'clusterpass-session-'));
  context = fakeContext({ HOME: home });
});
/** Stores a login. Nothing listens at the address of its provider. */
async function store(token: string, changes: Partial<Session> = {}): Promise<void> {
  const session: Session = {
    id: 'one',
    subject: 'jane',
    issuerUrl: 'https://127.0.0.1:4',
    clientId: 'clusterpass',
    refreshToken: 'refresh',
    refreshAt: context.time + 1_000,
    expiresAt: context.time + 2_000,
    ...changes,
  };
  await changeLogins(context, ({ logins }) => ({ logins: { ...logins, [SERVER]: { token, session } } }));
}

const token = (refused?: string): string | Promise<string> => sessionToken(context, SERVER)(refused);

describe('the token of a session', () => {
  it('is read from the file, and not refreshed while it is fresh', async () => {
    await store('first');
    expect(await token()).toBe('first');
    await store('second');
    expect(await token('first')).toBe('second');
  });

  it('is used until it expires when the provider does not answer', async () => {
    await store('old');
    context.time += 1_500;
    expect(await token()).toBe('old');
    context.time += 500;
    await expect(token()).rejects.toThrow(
      /^the login for .* cannot be refreshed at the identity provider: 127\.0\.0\.1:4: connection refused/,
    );
  });

  it('is used until it expires if there is no refresh token', async () => {
    await changeLogins(context, () => ({
      logins: {
        [SERVER]: {
          token: 'only',
          session: {
            id: 'x',
            subject: 's',
            issuerUrl: 'https://127.0.0.1:4',
            clientId: 'c',
            refreshAt: 0,
            expiresAt: context.time + 2_000,
          },
        },
      },
    }));
    expect(await token()).toBe('only');
    // The server's error is the best message then.
    expect(await token('only')).toBe('only');
    context.time += 2_000;
    await expect(token()).rejects.toThrow(`run clusterpass login --server ${SERVER}`);
  });

  it('is not refreshed after a logout', async () => {
    await store('first');
    const provider = sessionToken(context, SERVER);
    await changeLogins(context, () => ({ logins: {} }));
    await expect(provider()).rejects.toThrow('no longer logged in to https://pass.example.com');
  });

  interface ProviderOptions {
    readonly subject?: string;
    /** Members of the answer besides the ID token. */
    readonly members?: object;
    /** Called before the answer to a refresh. */
    readonly onRefresh?: () => Promise<void>;
  }

  /** A provider that refreshes a session; `forms` has what was sent to its two endpoints. */
  async function startProvider({ subject = 'jane', members = {}, onRefresh }: ProviderOptions) {
    const forms: string[] = [];
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const seconds = Math.floor(Date.now() / 1000);
    const server = createServer(async (request, response) => {
      const form = new URLSearchParams(await text(request));
      const answer = async (): Promise<object> => {
        if (request.url === '/.well-known/openid-configuration') {
          return { issuer, token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` };
        }
        forms.push(`${request.url} ${form.get('refresh_token') ?? form.get('token')}`);
        if (request.url === '/revoke') return {};
        await onRefresh?.();
        const claims = { iss: issuer, aud: 'clusterpass', sub: subject, iat: seconds, exp: seconds + 600 };
        const idToken = `${encode({ alg: 'RS256' })}.${encode(claims)}.${'A'.repeat(342)}`;
        return { access_token: 'a', token_type: 'Bearer', id_token: idToken, ...members };
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(await answer()));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(() => void server.close());
    return { issuer, forms };
  }

  const storedLogin = async () => (await readLogins(context)).logins[SERVER];

  it('A46: a refresh that a logout overtakes stores nothing, and its refresh token is revoked', async () => {
    const { issuer, forms } = await startProvider({
      members: { refresh_token: 'second' },
      onRefresh: () => changeLogins(context, () => ({ logins: {} })),
    });
    await store('old', { issuerUrl: issuer, refreshAt: 0 });
    await token();
    expect(forms).toEqual(['/token refresh', '/revoke second']);
    expect(await readLogins(context)).toEqual({ logins: {} });
  });

  it('A46: a refresh that another login overtakes leaves that login, and its refresh token is revoked', async () => {
    const { issuer, forms } = await startProvider({
      members: { refresh_token: 'second' },
      onRefresh: () => store('of another login', { id: 'two', refreshToken: 'of another login' }),
    });
    await store('old', { issuerUrl: issuer, refreshAt: 0 });
    await token();
    expect(forms).toEqual(['/token refresh', '/revoke second']);
    expect(await storedLogin()).toMatchObject({
      token: 'of another login',
      session: { id: 'two', refreshToken: 'of another login' },
    });
  });

  it('OpenID Connect Core 12.2: is not taken from an answer for another user', async () => {
    const { issuer } = await startProvider({ subject: 'mallory', members: { refresh_token: 'second' } });
    await store('old', { issuerUrl: issuer, refreshAt: 0, expiresAt: 0 });
    await expect(token()).rejects.toThrow('the identity provider answered for another user');
    expect(await storedLogin()).toMatchObject({ token: 'old', session: { refreshToken: 'refresh' } });
  });
});
