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
  /** Of users, by token; others are jane. */
  names: new Map<string, string>(),
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
  session = new Session({ server: SERVER, productName: 'clusterpass', storage, tabs: undefined });
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
    return Response.json({ status: { userInfo: { username: world.names.get(bearer) ?? 'jane' } } }, { status: 201 });
  if (!bearer.startsWith('e30.')) await held();
  return Response.json({ kind: 'Status', code: 401, reason: 'Unauthorized' }, { status: 401 });
}

/** Tabs of one browser, each without a stored token. */
function openTabs(count: number): Session[] {
  const channels: { onmessage: BroadcastChannel['onmessage']; postMessage(data: unknown): void }[] = [];
  return Array.from({ length: count }, () => {
    const channel: (typeof channels)[number] = {
      onmessage: null,
      postMessage: (data) => {
        for (const other of channels)
          if (other !== channel) other.onmessage?.call(other as BroadcastChannel, { data } as MessageEvent);
      },
    };
    channels.push(channel);
    const storage = { load: () => undefined, save: () => {}, clear: () => {} };
    return new Session({ server: SERVER, productName: 'clusterpass', storage, tabs: channel });
  });
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

it('is not signed out before a stored token was looked for: the form of the sign-in would flicker', async () => {
  expect(session.state.phase).toBe('restoring');
  await session.restore();
  expect(session.state.phase).toBe('signed-out');
});

describe('tabs of one browser', () => {
  const phases = (tabs: readonly Session[]): string[] => tabs.map(({ state }) => state.phase);
  const opens = (tab: Session | undefined) => tab?.restore();

  it('a new one has the session of another, and a sign-out ends it in all of them', async () => {
    const [first, second, third] = openTabs(3);
    await first?.signIn('token-of-jane', { keepForTab: false });
    await opens(second);
    await opens(third);
    const tabs = [first, second, third].flatMap((tab) => tab ?? []);
    await expect.poll(() => phases(tabs)).toEqual(['signed-in', 'signed-in', 'signed-in']);
    second?.signOut();
    expect(phases(tabs)).toEqual(['signed-out', 'signed-out', 'signed-out']);
  });

  it('one of another user stays, and only the tab that asks gets an answer', async () => {
    const [waiting, first, second] = openTabs(3);
    await opens(waiting);
    await expect.poll(() => waiting?.state.phase).toBe('signed-out');
    await first?.signIn('token-of-jane', { keepForTab: false });
    await opens(second);
    await expect.poll(() => second?.state.phase).toBe('signed-in');
    expect(waiting?.state.phase).toBe('signed-out');
    world.names.set('token-of-joe', 'joe');
    await waiting?.signIn('token-of-joe', { keepForTab: false });
    first?.signOut();
    expect([first, second, waiting].map((tab) => tab?.state.phase)).toEqual(['signed-out', 'signed-out', 'signed-in']);
  });

  it('a refresh token stays in its tab; others ask for the new token when theirs is rejected, and once', async () => {
    const [first, second] = openTabs(2);
    const tokensOfProvider = { tokens: tokens('first'), keepForTab: false };
    await first?.signInWithProvider(PROVIDER, Promise.resolve(tokensOfProvider));
    await opens(second);
    await expect.poll(() => second?.state.phase).toBe('signed-in');
    world.rejected.add(tokens('first').idToken);
    world.answer.resolve();
    if (first?.state.phase !== 'signed-in' || second?.state.phase !== 'signed-in') throw new Error('signed out');
    expect(second.state.refreshes).toBe(false);
    await reviewSelf(first.state.client);
    await reviewSelf(second.state.client).catch(() => undefined);
    await expect.poll(() => second.state.phase).toBe('signed-in');
    await reviewSelf(second.state.client);
    world.rejected.add(tokens('second').idToken);
    await reviewSelf(second.state.client).catch(() => undefined);
    await expect.poll(() => second.state).toMatchObject({ phase: 'signed-out', expired: true });
    first.signOut();
    await expect.poll(() => world.revoked).toEqual(['refresh-second']);
  });
});
