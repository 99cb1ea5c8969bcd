import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { defined } from '../../lib/json.ts';
import { CliError, type Context, type Invocation, UsageError } from '../command.ts';
import type { Login } from '../connection/logins.ts';
import { readCertificates, readGivenFile } from '../files/files.ts';
import type { ClientSettings, Session, Tokens } from './oidc-session.ts';

/** Signs in at an identity provider. */
export async function signIn(
  context: Context,
  invocation: Invocation,
  settings: ClientSettings,
): Promise<Pick<Login, 'token'> & { readonly session: Session }> {
  const { idToken, session } = await requestTokens(context, invocation, settings);
  return { token: idToken, session: { ...settings, id: randomUUID(), ...session } };
}

/** Flags take precedence over the last login at the same server. Undefined when neither names a provider. */
export async function clientSettings(
  { cwd }: Context,
  invocation: Invocation,
  last: ClientSettings | undefined,
): Promise<ClientSettings | undefined> {
  const issuerUrl = invocation.text('issuerUrl') ?? last?.issuerUrl;
  if (issuerUrl === undefined) return undefined;
  // The client secret of one provider must not be sent to another.
  const before = last?.issuerUrl === issuerUrl ? last : undefined;
  const clientId = invocation.text('clientId') ?? before?.clientId;
  if (clientId === undefined || clientId === '') {
    throw new CliError('--client-id is required: the client ID of this program at the identity provider');
  }
  const secretFile = invocation.text('clientSecretFile');
  const clientSecret =
    secretFile === undefined ? before?.clientSecret : (await readGivenFile(resolve(cwd, secretFile))).trim();
  const caFile = invocation.text('issuerCertificateAuthority');
  const issuerCertificateAuthority =
    caFile === undefined ? before?.issuerCertificateAuthority : await readCertificates(resolve(cwd, caFile));
  const scopes = invocation.text('scopes') ?? before?.scopes;
  return { issuerUrl, clientId, ...defined({ clientSecret, issuerCertificateAuthority, scopes }) };
}

const SIGN_IN_TIMEOUT_MS = 10 * 60_000;

async function requestTokens(context: Context, invocation: Invocation, settings: ClientSettings): Promise<Tokens> {
  const port = invocation.number('callbackPort');
  if (port > 65_535) throw new CliError('--callback-port must be at most 65535');
  const stopped = context.stopped();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(SIGN_IN_TIMEOUT_MS)]);
  const { findProvider } = await import('./provider-client.ts');
  const client = await findProvider(settings, context).catch((error: unknown) => {
    if (!(error instanceof CliError) || error instanceof UsageError) throw error;
    throw new CliError(
      `the identity provider ${JSON.stringify(settings.issuerUrl)} (--issuer-url) cannot be used: ${error.message}`,
    );
  });
  try {
    const { signInOnDevice, signInWithBrowser } = await import('./sign-in-flows.ts');
    if (invocation.is('device')) return await signInOnDevice(context, client, signal);
    // Without a terminal, a script runs the command: it only prints the address.
    const browser = context.err.isTerminal && !invocation.isOff('browser');
    return await signInWithBrowser(context, client, { port, browser, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CliError(
      stopped.aborted
        ? 'interrupted before the sign-in'
        : 'no sign-in within ten minutes: did the provider show an error, about the redirect URI for example?',
    );
  }
}
