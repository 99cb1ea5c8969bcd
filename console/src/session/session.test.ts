import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reviewSelf } from '../../../src/client/index.ts';
import type { ProviderTokens } from './oidc-client.ts';
import { Session, type SignedIn } from './session.ts';

const ISSUER = 'https://login.example';
const PROVIDER = { issuer: ISSUER, clientId: 'console' };
const SERVER = 'https://pass.example';

const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
const tokens = (name: string): ProviderTokens => ({
  idToken: jwt({ iss: ISSUER, sub: 'jane', name, iat: 0, exp: 3_600 }),
  refreshToken: `refresh-${name}`,
});

/** The server and the identity provider. Answers of the token endpoint, and to rejected tokens, wait for `answer`. */
const world = {
  rejected: new Set<string>(),
  revoked: [] as (string | null)[],
  waiting: 0,
  answer: Promise.withResolvers<void>(),
};
let stored: string | undefined;
let session: Session;
const realFetch = globalThis.fetch;

beforeEach(() => {
  Object.assign(world, { rejected: new Set(), revoked: [], waiting: 0, answer: Promise.withResolvers<void>() });
  stored = undefined;
  globalThis.fetch = respond as typeof fetch;
  const storage = {
    load: () => stored,
    save: (token: string) => {
      stored = token;
    },
    clear: () => {
      stored = undefined;
    },
  };
  session = new Session({ server: SERVER, productName: 'clusterpass', storage });
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

async function respond(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const url = new URL(input);
  const form = new URLSearchParams(String(init.body ?? ''));
  const held = async (): Promise<void> => {
    world.waiting += 1;
    await world.answer.promise;
  };
  if (url.pathname === '/.well-known/openid-configuration') {
    const endpoints = { authorization_endpoint: `${ISSUER}/auth`, token_endpoint: `${ISSUER}/token` };
    return Response.json({ issuer: ISSUER, ...endpoints, revocation_endpoint: `${ISSUER}/revoke` });
  }
  if (url.href === `${ISSUER}/token`) {
    await held();
    const { idToken, refreshToken } = tokens('second');
    return Response.json({ id_token: idToken, refresh_token: refreshToken });
  }
  if (url.href === `${ISSUER}/revoke`) {
    world.revoked.push(form.get('token'));
    return Response.json({});
  }
  const bearer = new Headers(init.headers).get('Authorization')?.replace('Bearer ', '') ?? '';
  if (!world.rejected.has(bearer))
    return Response.json({ status: { userInfo: { username: 'jane' } } }, { status: 201 });
  if (!bearer.startsWith('e30.')) await held();
  return Response.json({ kind: 'Status', code: 401, reason: 'Unauthorized' }, { status: 401 });
}

function signedIn(): SignedIn {
  if (session.state.phase !== 'signed-in') throw new Error(`the session is ${session.state.phase}`);
  return session.state;
}

describe('A46: after a sign-out', () => {
  it('a refresh that was under way stores nothing, and its refresh token is revoked', async () => {
    const first = tokens('first');
    await session.signInWithProvider(PROVIDER, Promise.resolve({ tokens: first, keepForTab: true }));
    expect(stored).toBe(first.idToken);
    world.rejected.add(first.idToken);
    const request = reviewSelf(signedIn().client).catch(() => undefined);
    await expect.poll(() => world.waiting).toBe(1);
    session.signOut();
    expect([session.state.phase, stored]).toEqual(['signed-out', undefined]);
    world.answer.resolve();
    await request;
    expect([session.state.phase, stored]).toEqual(['signed-out', undefined]);
    await expect.poll(() => world.revoked).toEqual(['refresh-first', 'refresh-second']);
  });

  it('a sign-in at the provider that was under way stores nothing, and its refresh token is revoked', async () => {
    const first = tokens('first');
    world.rejected.add(first.idToken);
    const signingIn = session.signInWithProvider(PROVIDER, Promise.resolve({ tokens: first, keepForTab: true }));
    await expect.poll(() => world.waiting).toBe(1);
    session.signOut();
    world.answer.resolve();
    await signingIn;
    expect([session.state.phase, stored]).toEqual(['signed-out', undefined]);
    await expect.poll(() => world.revoked).toEqual(['refresh-first', 'refresh-second']);
  });

  it('tokens of the provider that arrive later are revoked', async () => {
    const completed = Promise.withResolvers<{ tokens: ProviderTokens; keepForTab: boolean }>();
    const signingIn = session.signInWithProvider(PROVIDER, completed.promise);
    session.signOut();
    completed.resolve({ tokens: tokens('first'), keepForTab: true });
    await signingIn;
    expect([session.state.phase, stored]).toEqual(['signed-out', undefined]);
    await expect.poll(() => world.revoked).toEqual(['refresh-first']);
  });

  it('a token that was being restored does not sign in', async () => {
    stored = 'token-of-jane';
    const restoring = session.restore();
    session.signOut();
    await restoring;
    expect([session.state.phase, stored]).toEqual(['signed-out', undefined]);
  });

  it('a rejected request of the session before does not end the next one', async () => {
    await session.signIn('token-of-jane', { keepForTab: true });
    world.rejected.add('token-of-jane');
    const request = reviewSelf(signedIn().client).catch(() => undefined);
    await expect.poll(() => world.waiting).toBe(1);
    session.signOut();
    await session.signIn('token-of-joe', { keepForTab: true });
    world.answer.resolve();
    await request;
    expect([session.state.phase, stored]).toEqual(['signed-in', 'token-of-joe']);
  });
});
