import { decodeClaims } from '../jwt.ts';

/** The OpenID Connect provider that users sign in with. */
export interface Provider {
  readonly issuer: string;
  /** The client ID of the console at the provider: a public client. */
  readonly clientId: string;
}

/** The fields of the discovery document that the console uses (OpenID Connect Discovery section 3). */
interface ProviderMetadata {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint?: string;
  readonly scopes_supported?: readonly string[];
}

/** Both tokens stay in memory. The refresh token is sent only to the provider. */
export interface ProviderTokens {
  readonly idToken: string;
  /** Undefined if the provider issues no refresh tokens. */
  readonly refreshToken: string | undefined;
}

/** The provider answered and the answer is final: a retry would fail in the same way. */
export class ProviderRejection extends Error {}

export async function discover(issuer: string): Promise<ProviderMetadata> {
  const metadata = await requestProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { authorization_endpoint: authorize, token_endpoint: token } = metadata;
  // OpenID Connect Discovery section 4.3: both issuers must be identical, character by character.
  if (metadata.issuer !== issuer || !isHttps(authorize) || !isHttps(token)) {
    throw new Error(`The discovery document of ${issuer} names another issuer or an endpoint without HTTPS.`);
  }
  return metadata as unknown as ProviderMetadata;
}

const isHttps = (url: unknown): boolean =>
  typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'https:';

/** Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
export async function exchangeCode(
  provider: Provider,
  code: string,
  { verifier, redirectUri }: { readonly verifier: string; readonly redirectUri: string },
): Promise<ProviderTokens> {
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = await requestTokens(provider, parameters);
  if (tokens === undefined) throw new Error('The identity provider returned no ID token.');
  return tokens;
}

/** Gets a new ID token for the same user (OpenID Connect Core section 12). */
export async function refreshTokens(provider: Provider, current: ProviderTokens): Promise<ProviderTokens> {
  const { refreshToken = '' } = current;
  const tokens = await requestTokens(provider, { grant_type: 'refresh_token', refresh_token: refreshToken });
  // The ID token is optional in a refresh response. Without one the session cannot be extended.
  if (tokens === undefined) throw new ProviderRejection('The identity provider returned no ID token for the refresh.');
  const [before, after] = [decodeClaims(current.idToken), decodeClaims(tokens.idToken)];
  if (after?.iss !== before?.iss || after?.sub !== before?.sub) {
    throw new ProviderRejection('The identity provider returned an ID token for a different user.');
  }
  // A provider that rotates refresh tokens returns a new one; otherwise the old one stays valid (RFC 6749 section 6).
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
}

/** RFC 7009. A failure is ignored: the page forgets the token, and the provider expires it later. */
export async function revokeRefreshToken(provider: Provider, refreshToken: string): Promise<void> {
  try {
    const { revocation_endpoint: endpoint } = await discover(provider.issuer);
    if (endpoint === undefined) return;
    const body = new URLSearchParams({ token: refreshToken, client_id: provider.clientId });
    await requestProvider(endpoint, { method: 'POST', body, keepalive: true });
  } catch {}
}

/** Undefined if the response has no ID token. */
async function requestTokens(
  { issuer, clientId }: Provider,
  parameters: Readonly<Record<string, string>>,
): Promise<ProviderTokens | undefined> {
  const { token_endpoint: endpoint } = await discover(issuer);
  const body = new URLSearchParams({ ...parameters, client_id: clientId });
  const response = await requestProvider(endpoint, { method: 'POST', body });
  const { id_token: idToken, refresh_token: refreshToken } = response;
  if (typeof idToken !== 'string') return undefined;
  return { idToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined };
}

async function requestProvider(url: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  } catch {
    // Browsers hide whether the network, TLS or CORS caused the failure.
    throw new Error(`Cannot reach the identity provider at ${new URL(url).host}.`);
  }
  const json: unknown = await response.json().catch(() => undefined);
  const body = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  if (response.ok) return body;
  const cause = body.error_description ?? body.error ?? `HTTP ${response.status}`;
  const message = `The identity provider rejected the request: ${cause}`;
  throw response.status < 500 && response.status !== 429 ? new ProviderRejection(message) : new Error(message);
}
