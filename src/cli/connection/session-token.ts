import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TokenProvider } from '../../client/transport.ts';
import { CliError, type Context } from '../command.ts';
import { withLock } from '../files/file-lock.ts';
import { configFolder } from '../files/folders.ts';
import { type Session, timesOf } from '../oidc/oidc-session.ts';
import { changeLogins, type Login, loginFor, readLogins } from './logins.ts';

type SessionLogin = Login & { readonly session: Session };

/** As long as a refresh may take in another process. */
const LOCK_WAIT_MS = 60_000;

/**
 * The token of a login at an identity provider, refreshed when it is about to end or was refused. The file of logins
 * is looked at each time: of all processes that need a new token, one asks for it, and the others take what it got.
 * A refresh token that is replaced at every use would otherwise be used twice, which ends the session.
 */
export function sessionToken(context: Context, server: string): TokenProvider {
  return async (refused) => {
    const login = await sessionLogin(context, server);
    return isFresh(login, context.now(), refused) ? login.token : renewed(context, server, refused);
  };
}

const isFresh = ({ token, session }: SessionLogin, now: number, refused: string | undefined): boolean =>
  token !== refused && now < session.refreshAt;

async function sessionLogin(context: Context, server: string): Promise<SessionLogin> {
  const login = loginFor(await readLogins(context), server);
  if (login?.session === undefined) throw ended(server, `not logged in to ${server} any more`);
  return login as SessionLogin;
}

const ended = (server: string, why: string): CliError =>
  new CliError(`${why}: run clusterpass login --server ${server}`);

const lockFile = ({ env }: Context, server: string): string =>
  join(configFolder(env), `refresh-${createHash('sha256').update(server).digest('hex').slice(0, 16)}`);

async function renewed(context: Context, server: string, refused: string | undefined): Promise<string> {
  let found: SessionLogin | undefined;
  const done = async (): Promise<boolean> => {
    const login = await sessionLogin(context, server);
    if (!isFresh(login, context.now(), refused)) return false;
    found = login;
    return true;
  };
  const options = { waitMs: LOCK_WAIT_MS, err: context.err, done };
  const token = await withLock(lockFile(context, server), options, async () =>
    (await done()) ? undefined : refreshed(context, server, refused),
  );
  const result = token ?? found?.token;
  if (result === undefined) throw ended(server, `the login for ${server} can not be refreshed`);
  return result;
}

/** Holding the lock: the refresh token is used by nobody else, and its successor is on disk before it is let go. */
async function refreshed(context: Context, server: string, refused: string | undefined): Promise<string> {
  const { token, session } = await sessionLogin(context, server);
  const isGood = token !== refused && context.now() < session.endsAt;
  if (session.refreshToken === undefined) {
    // What was refused is given back, so that the server's own answer is what the user sees.
    if (isGood || token === refused) return token;
    throw ended(server, `the login for ${server} has ended, and the identity provider gave no refresh token`);
  }
  const { refresh, SessionEnded } = await import('../oidc/provider-client.ts');
  try {
    const tokens = await refresh(session, session.refreshToken, context.now());
    // OpenID Connect Core 12.2: it must be the same person.
    if (tokens.subject !== session.subject) throw ended(server, 'the identity provider answered for somebody else');
    const { refreshToken = session.refreshToken } = tokens;
    const next: Session = { ...session, ...timesOf(tokens, context.now()), refreshToken };
    await changeLogins(context, (all) => {
      const login = loginFor(all, server);
      // Whoever logged out or in again in the meantime has decided otherwise.
      if (login?.session?.id !== session.id) return all;
      return { ...all, logins: { ...all.logins, [server]: { ...login, token: tokens.idToken, session: next } } };
    });
    return tokens.idToken;
  } catch (error) {
    if (error instanceof SessionEnded) throw ended(server, `the login for ${server} has ended (${error.message})`);
    if (isGood) return token;
    throw error;
  }
}
