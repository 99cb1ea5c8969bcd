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
import { innermostCause, isUntrusted, reasonOf } from '../../client/errors.ts';
import { throughProxy } from '../../client/proxy.ts';
import { refreshAfter } from '../../client/token-source.ts';
import { boundedText, type Fetch } from '../../client/transport.ts';
import { defined } from '../../lib/json.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, UsageError } from '../command.ts';
import { checkedUrl, fetchFor, isLoopback } from '../connection/fetch-for.ts';
import type { ClientSettings, Tokens } from './oidc-session.ts';

/** A provider whose discovery document has been read, and the settings of this client. */
export interface ProviderClient {
  readonly settings: ClientSettings;
  readonly configuration: Configuration;
}

const TIMEOUT_SECONDS = 10;
/** Of one response. Documents, key sets and tokens are a few kilobytes. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** A fetch whose responses fail when they are larger than the limit. openid-client wants a real Response. */
const bounded =
  (fetch: Fetch): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const text = await boundedText(response, MAX_RESPONSE_BYTES);
    if (text === undefined) throw new TypeError(`its response has more than ${MAX_RESPONSE_BYTES} bytes`);
    const { status, headers } = response;
    return new Response(status === 204 ? null : text, { status, headers });
  };

const endedBy = (fetch: Fetch, signal: AbortSignal | undefined): Fetch =>
  signal === undefined
    ? fetch
    : (input, init) =>
        fetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) });

/** Of all requests to a provider. */
interface ProviderOptions extends Pick<Context, 'env'> {
  readonly signal?: AbortSignal | undefined;
}

const fetchOf = ({ issuerCertificateAuthority }: ClientSettings, env: Context['env']): Fetch =>
  fetchFor({ certificateAuthority: issuerCertificateAuthority, insecureSkipTlsVerify: false }, env);

/** Reads the provider's discovery document. */
export async function findProvider(
  settings: ClientSettings,
  { env, signal }: ProviderOptions,
): Promise<ProviderClient> {
  const { issuerUrl, clientId, clientSecret } = settings;
  const issuer = checkedIssuer(issuerUrl);
  const fetch = fetchOf(settings, env);
  return callProvider(issuerUrl, async () => ({
    settings,
    configuration: await discovery(
      issuer,
      clientId,
      {},
      clientSecret === undefined ? None() : ClientSecretBasic(clientSecret),
      {
        [customFetch]: bounded(endedBy(fetch, signal)) as CustomFetch,
        timeout: TIMEOUT_SECONDS,
        execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
      },
    ),
  }));
}

/** Discovery accepts metadata without these endpoints; an issuer that only signs tokens for machines has none. */
export function requireEndpoint(
  { configuration, settings }: ProviderClient,
  endpoint: 'authorization_endpoint' | 'token_endpoint',
): void {
  if (configuration.serverMetadata()[endpoint] !== undefined) return;
  const { host } = new URL(settings.issuerUrl);
  throw new CliError(`the metadata of ${host} has no ${endpoint}, which a sign-in needs`);
}

/** RFC 8252 section 8.3: plain HTTP is allowed on loopback only. */
function checkedIssuer(text: string): URL {
  const url = checkedUrl(URL.parse(text), text, '--issuer-url');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) throw new UsageError('--issuer-url must be an https URL');
  return url;
}

/** The provider refused the refresh token: the user has to log in again. */
export class SessionEnded extends CliError {}

/** Calls the provider and converts its errors to one sentence without tokens. */
export async function callProvider<T>(issuerUrl: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { host } = new URL(issuerUrl);
    if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
      const { error: code, error_description: description } = error;
      const Kind = code === 'invalid_grant' ? SessionEnded : CliError;
      throw new Kind(`${host} refused: ${terminalSafe(description ?? code)}`);
    }
    const cause = innermostCause(error);
    if (cause.name === 'TimeoutError') throw new CliError(`${host}: no answer${throughProxy(error)} in time`);
    if (isUntrusted(error)) {
      const how = 'if you trust it, pass its CA with --issuer-certificate-authority FILE';
      throw new CliError(`${host}: no trusted authority has signed its certificate; ${how}`);
    }
    if (error instanceof ClientError || error instanceof TypeError) {
      throw new CliError(`${host}${throughProxy(error)}: ${terminalSafe(reasonOf(cause))}`);
    }
    throw error;
  }
}

type TokenResponse = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** As with Kubernetes, the server gets the ID token. */
export function tokensOf(response: TokenResponse, now: number): Tokens {
  const claims = response.claims();
  if (response.id_token === undefined || claims === undefined) {
    throw new CliError('the identity provider gave no ID token; is the scope openid allowed?');
  }
  const { sub: subject, iat = now / 1000, exp } = claims;
  // The provider's clock may differ from this machine's.
  const lifetime = Math.max(0, (exp - iat) * 1000);
  const times = { refreshAt: Math.floor(now + refreshAfter(lifetime)), expiresAt: Math.floor(now + lifetime) };
  return {
    idToken: response.id_token,
    session: { subject, ...times, ...defined({ refreshToken: response.refresh_token }) },
  };
}

export async function refresh(
  settings: ClientSettings,
  refreshToken: string,
  now: number,
  options: ProviderOptions,
): Promise<Tokens> {
  const { configuration } = await findProvider(settings, options);
  return callProvider(settings.issuerUrl, async () => {
    options.signal?.throwIfAborted();
    // Not ended by the signal: a provider that replaces the refresh token sends the new one in this response only.
    configuration[customFetch] = bounded(fetchOf(settings, options.env)) as CustomFetch;
    return tokensOf(await refreshTokenGrant(configuration, refreshToken), now);
  });
}

/** RFC 7009. Without a revocation endpoint, the refresh token stays valid until it expires. */
export async function revoke(settings: ClientSettings, refreshToken: string, options: ProviderOptions): Promise<void> {
  const { configuration } = await findProvider(settings, options);
  if (configuration.serverMetadata().revocation_endpoint === undefined) return;
  await callProvider(settings.issuerUrl, () =>
    tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' }),
  );
}

const USUAL_SCOPES = ['profile', 'email', 'groups', 'offline_access'];

/** With `offline_access` a provider gives a refresh token. An unsupported scope may be an error. */
export function scopesFor({ settings, configuration }: ProviderClient): string {
  if (settings.scopes !== undefined) {
    const given = settings.scopes.split(/[\s,]+/).filter((scope) => scope !== '');
    return [...new Set(['openid', ...given])].join(' ');
  }
  const supported = configuration.serverMetadata().scopes_supported;
  return ['openid', ...USUAL_SCOPES.filter((scope) => supported?.includes(scope) === true)].join(' ');
}
