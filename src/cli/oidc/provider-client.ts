import { isIP } from 'node:net';
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  ClientError,
  ClientSecretBasic,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  ResponseBodyError,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
  tokenRevocation,
} from 'openid-client';
import { CliError } from '../command.ts';
import { fetchFor } from '../connection/fetch-for.ts';
import { printable } from '../output/terminal-safe.ts';
import type { ClientSettings, Tokens } from './oidc-session.ts';

/** A provider that has been found, and what this program is to it. */
export interface ProviderClient {
  readonly settings: ClientSettings;
  readonly configuration: Configuration;
}

const TIMEOUT_SECONDS = 10;

/** Reads the provider's discovery document. */
export async function findProvider(settings: ClientSettings): Promise<ProviderClient> {
  const { issuerUrl, clientId, clientSecret, issuerCertificateAuthority } = settings;
  const issuer = checkedIssuer(issuerUrl);
  const fetch = await fetchFor({ certificateAuthority: issuerCertificateAuthority, insecureSkipTlsVerify: false });
  return asking(issuerUrl, async () => ({
    settings,
    configuration: await discovery(
      issuer,
      clientId,
      {},
      clientSecret === undefined ? None() : ClientSecretBasic(clientSecret),
      {
        [customFetch]: fetch as CustomFetch,
        timeout: TIMEOUT_SECONDS,
        execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
      },
    ),
  }));
}

/** RFC 8252 section 8.3: plain HTTP never leaves the machine. */
function checkedIssuer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new CliError(`--issuer-url: ${JSON.stringify(text)} is not a URL`);
  }
  const { hostname, protocol } = url;
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
  if (protocol === 'http:' && !isLoopback) throw new CliError('--issuer-url must be an https URL');
  if (url.username !== '' || url.password !== '') throw new CliError('--issuer-url must not contain credentials');
  return url;
}

/** The provider will not have this any more: somebody has to sign in again. */
export class SessionEnded extends CliError {}

/** Runs a task at the provider; what goes wrong is told in one sentence, without tokens. */
export async function asking<T>(issuerUrl: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { host } = new URL(issuerUrl);
    if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
      const { error: code, error_description: description } = error;
      const Kind = code === 'invalid_grant' ? SessionEnded : CliError;
      throw new Kind(`${host} refused: ${printable(description ?? code)}`);
    }
    if (error instanceof ClientError || error instanceof TypeError) {
      throw new CliError(`${host}: ${printable(reasonOf(error))}`);
    }
    throw error;
  }
}

/** The innermost cause of a failed connection says what is the matter; of other errors, the message does. */
function reasonOf(error: Error): string {
  let found: unknown = error;
  while (found instanceof Error && found.cause instanceof Error) found = found.cause;
  const { message, code } = found as NodeJS.ErrnoException;
  return message === '' ? (code ?? error.message) : message;
}

type Answer = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** What is sent to the desk is the ID token, as with Kubernetes. */
export function tokensOf(answer: Answer, now: number): Tokens {
  const claims = answer.claims();
  if (answer.id_token === undefined || claims === undefined) {
    throw new CliError('the identity provider gave no ID token; is the scope openid asked for?');
  }
  return {
    idToken: answer.id_token,
    refreshToken: answer.refresh_token,
    subject: claims.sub,
    issuedAt: claims.iat ?? now / 1000,
    expiresAt: claims.exp,
  };
}

export async function refresh(settings: ClientSettings, refreshToken: string, now: number): Promise<Tokens> {
  const { configuration } = await findProvider(settings);
  return asking(settings.issuerUrl, async () => tokensOf(await refreshTokenGrant(configuration, refreshToken), now));
}

/** RFC 7009. A provider that can not be told so lets the token run out. */
export async function revoke(settings: ClientSettings, refreshToken: string): Promise<void> {
  const { configuration } = await findProvider(settings);
  if (configuration.serverMetadata().revocation_endpoint === undefined) return;
  await asking(settings.issuerUrl, () =>
    tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' }),
  );
}

const USUAL_SCOPES = ['profile', 'email', 'groups', 'offline_access'];

/** `offline_access` is what makes a provider give a refresh token. Asking for what it does not have may be an error. */
export function scopesFor({ settings, configuration }: ProviderClient): string {
  if (settings.scopes !== undefined) {
    const given = settings.scopes.split(/[\s,]+/).filter((scope) => scope !== '');
    return [...new Set(['openid', ...given])].join(' ');
  }
  const supported = configuration.serverMetadata().scopes_supported;
  return ['openid', ...USUAL_SCOPES.filter((scope) => supported?.includes(scope) === true)].join(' ');
}
