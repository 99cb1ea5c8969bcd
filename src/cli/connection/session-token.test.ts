import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import type { Session } from '../oidc/oidc-session.ts';
import { changeLogins } from './logins.ts';
import { sessionToken } from './session-token.ts';

const SERVER = 'https://desk.example.com';

let context: ReturnType<typeof fakeContext>;
let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'clusterpass-session-'));
  context = fakeContext({ HOME: home });
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Nobody listens at this provider. */
async function keep(token: string, changes: Partial<Session> = {}): Promise<void> {
  const session: Session = {
    id: 'one',
    subject: 'jane',
    issuerUrl: 'https://127.0.0.1:4',
    clientId: 'clusterpass',
    refreshToken: 'refresh',
    refreshAt: context.time + 1_000,
    endsAt: context.time + 2_000,
    ...changes,
  };
  await changeLogins(context, ({ logins }) => ({ logins: { ...logins, [SERVER]: { token, session } } }));
}

const token = (refused?: string): string | Promise<string> => sessionToken(context, SERVER)(refused);

describe('the token of a session', () => {
  it('is used without asking anybody while it is fresh, and is the one that is in the file now', async () => {
    await keep('first');
    expect(await token()).toBe('first');
    await keep('second');
    expect(await token('first')).toBe('second');
  });

  it('is used to its end when the provider does not answer, and not after it', async () => {
    await keep('old');
    context.time += 1_500;
    expect(await token()).toBe('old');
    context.time += 500;
    await expect(token()).rejects.toThrow(/^127\.0\.0\.1:4: .*ECONNREFUSED/);
  });

  it('a token that the server refused is not used again because the provider is down', async () => {
    await keep('bad');
    await expect(token('bad')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('without a refresh token it lasts as long as it lasts', async () => {
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
            endsAt: context.time + 2_000,
          },
        },
      },
    }));
    expect(await token()).toBe('only');
    // The server's own words are what the user should see then.
    expect(await token('only')).toBe('only');
    context.time += 2_000;
    await expect(token()).rejects.toThrow(`run clusterpass login --server ${SERVER}`);
  });

  it('a login that is gone is not brought back', async () => {
    await keep('first');
    const provider = sessionToken(context, SERVER);
    await changeLogins(context, () => ({ logins: {} }));
    await expect(provider()).rejects.toThrow('not logged in to https://desk.example.com any more');
  });
});
