import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { CliError, type Context, type Invocation } from '../command.ts';
import type { Login } from '../connection/logins.ts';
import { readGiven, readPem } from '../given-files.ts';
import { type ClientSettings, type Session, type Tokens, timesOf } from './oidc-session.ts';

/** Signs in at an identity provider. */
export async function signIn(
  context: Context,
  invocation: Invocation,
  settings: ClientSettings,
): Promise<Pick<Login, 'token'> & { readonly session: Session }> {
  const { idToken, refreshToken, ...tokens } = await tokensFrom(context, invocation, settings);
  const session: Session = {
    ...settings,
    id: randomUUID(),
    subject: tokens.subject,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...timesOf({ idToken, refreshToken, ...tokens }, context.now()),
  };
  return { token: idToken, session };
}

/** Flags over variables over what the last login at this server was made with. Undefined: no provider is meant. */
export async function clientSettings(
  { env, cwd }: Context,
  invocation: Invocation,
  last: ClientSettings | undefined,
): Promise<ClientSettings | undefined> {
  const issuerUrl = invocation.text('issuerUrl') ?? (env.CLUSTERPASS_ISSUER_URL || undefined) ?? last?.issuerUrl;
  if (issuerUrl === undefined) return undefined;
  // What belongs to one provider must not be sent to another.
  const before = last?.issuerUrl === issuerUrl ? last : undefined;
  const clientId = invocation.text('clientId') ?? (env.CLUSTERPASS_CLIENT_ID || undefined) ?? before?.clientId;
  if (clientId === undefined || clientId === '') {
    throw new CliError('--client-id is required: what this program is called at the identity provider');
  }
  const secretFile = invocation.text('clientSecretFile');
  const clientSecret =
    secretFile === undefined ? before?.clientSecret : (await readGiven(resolve(cwd, secretFile))).trim();
  const caFile = invocation.text('issuerCertificateAuthority');
  const issuerCertificateAuthority =
    caFile === undefined ? before?.issuerCertificateAuthority : await readPem(resolve(cwd, caFile));
  const scopes = invocation.text('scopes') ?? before?.scopes;
  return {
    issuerUrl,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(issuerCertificateAuthority === undefined ? {} : { issuerCertificateAuthority }),
    ...(scopes === undefined ? {} : { scopes }),
  };
}

const PATIENCE_MS = 10 * 60_000;

async function tokensFrom(context: Context, invocation: Invocation, settings: ClientSettings): Promise<Tokens> {
  const port = invocation.number('callbackPort', '--callback-port') ?? 0;
  if (port > 65_535) throw new CliError('--callback-port must be at most 65535');
  const stopped = context.stopped();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(PATIENCE_MS)]);
  const { findProvider } = await import('./provider-client.ts');
  const client = await findProvider(settings);
  try {
    if (invocation.is('device')) {
      const { signInOnDevice } = await import('./device-flow.ts');
      return await signInOnDevice(context, client, signal);
    }
    const { signInWithBrowser } = await import('./code-flow.ts');
    // Without a terminal nobody is there to see a window open.
    const browser = context.err.isTerminal && !invocation.isOff('browser');
    return await signInWithBrowser(context, client, { port, browser, prompt: invocation.text('prompt'), signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CliError(stopped.aborted ? 'stopped before anybody signed in' : 'nobody signed in within ten minutes');
  }
}
