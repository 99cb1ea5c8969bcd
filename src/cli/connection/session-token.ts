import { join } from 'node:path';
import type { TokenProvider } from '../../client/transport.ts';
import { sha256 } from '../../lib/sha256.ts';
import { CliError, type Context } from '../command.ts';
import { withLock } from '../files/file-lock.ts';
import { configFolder } from '../files/files.ts';
import type { Session } from '../oidc/oidc-session.ts';
import { changeLogins, type Login, loginFor, readLogins } from './logins.ts';

type SessionLogin = Login & { readonly session: Session };

/** The longest time that a refresh in another process takes. */
const LOCK_WAIT_MS = 60_000;

/**
 * The ID token of a login, refreshed before it expires or when the server refused it. Reads the stored login each time:
 * one process refreshes the token, and the others use the result. If two processes used the same refresh token, a
 * provider that replaces it at every use would end the session.
 */
export function sessionToken(context: Context, server: string): TokenProvider {
  return async (refused, signal) => {
    const fresh = async (): Promise<string | undefined> => {
      const login = await sessionLogin(context, server);
      return isFresh(login, context.now(), refused) ? login.token : undefined;
    };
    const options = { waitMs: LOCK_WAIT_MS, signal, err: context.err, read: fresh };
    const refreshed = () => refreshAndStore(context, server, refused, signal);
    return (await fresh()) ?? withLock(lockFile(context, server), options, refreshed);
  };
}

const isFresh = ({ token, session }: SessionLogin, now: number, refused: string | undefined): boolean =>
  token !== refused && now < session.refreshAt;

async function sessionLogin(context: Context, server: string): Promise<SessionLogin> {
  const login = loginFor(await readLogins(context), server);
  if (login?.session === undefined) throw loginNeeded(server, `no longer logged in to ${server}`);
  return login as SessionLogin;
}

const loginNeeded = (server: string, why: string): CliError =>
  new CliError(`${why}: run clusterpass login --server ${server}`);

const lockFile = ({ env }: Context, server: string): string =>
  join(configFolder(env), `refresh-${sha256(server).slice(0, 16)}`);

/** Requires the lock: the new refresh token is stored before another process reads it. */
async function refreshAndStore(
  context: Context,
  server: string,
  refused: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { token, session } = await sessionLogin(context, server);
  const isUsable = token !== refused && context.now() < session.expiresAt;
  if (session.refreshToken === undefined) {
    // Returns a refused token again, so that the user sees the server's error.
    if (isUsable || token === refused) return token;
    throw loginNeeded(server, `the login for ${server} has expired, and the identity provider gave no refresh token`);
  }
  const { refresh, revoke, SessionEnded } = await import('../oidc/provider-client.ts');
  try {
    const options = { env: context.env, signal };
    const tokens = await refresh(session, session.refreshToken, context.now(), options).catch((error: unknown) => {
      if (!(error instanceof CliError) || error instanceof SessionEnded) throw error;
      throw new CliError(`the login for ${server} cannot be refreshed at the identity provider: ${error.message}`);
    });
    // OpenID Connect Core 12.2: the subject must be the same.
    if (tokens.session.subject !== session.subject)
      throw loginNeeded(server, 'the identity provider answered for another user');
    const { refreshToken = session.refreshToken } = tokens.session;
    const next: Session = { ...session, ...tokens.session };
    let isStored = false;
    await changeLogins(context, (all) => {
      const login = loginFor(all, server);
      // The user has logged out, or in again, meanwhile.
      isStored = login?.session?.id === session.id;
      if (!isStored) return all;
      return { ...all, logins: { ...all.logins, [server]: { ...login, token: tokens.idToken, session: next } } };
    });
    // The logout has revoked the refresh token before this one. Without an answer, this one expires by itself.
    if (!isStored) await revoke(session, refreshToken, context).catch(() => undefined);
    return tokens.idToken;
  } catch (error) {
    if (error instanceof SessionEnded)
      throw loginNeeded(server, `the login for ${server} has expired (${error.message})`);
    if (isUsable) return token;
    throw error;
  }
}
