import { decodeClaims } from '../jwt.ts';
import { discover, exchangeCode, type Provider, type ProviderTokens } from './oidc-client.ts';

/** The state of a sign-in while the user is at the provider. It is not a credential by itself. */
interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly keepForTab: boolean;
  /** The page to return to. */
  readonly hash: string;
}

const KEY = 'clusterpass.sign-in';
/** Requested if the provider supports them. `offline_access` asks for a refresh token. */
const OPTIONAL_SCOPES = ['profile', 'email', 'groups', 'offline_access'];

/** Redirects to the provider: authorization code flow with PKCE (RFC 7636) for a public client. */
export async function startSignIn(provider: Provider, { keepForTab }: { readonly keepForTab: boolean }): Promise<void> {
  if (globalThis.crypto?.subtle === undefined) {
    throw new Error('Signing in with an identity provider works only if the console is served over HTTPS.');
  }
  const metadata = await discover(provider.issuer);
  const pending: PendingSignIn = {
    state: randomText(),
    nonce: randomText(),
    verifier: randomText(),
    keepForTab,
    hash: location.hash,
  };
  const scopes = ['openid', ...OPTIONAL_SCOPES.filter((scope) => metadata.scopes_supported?.includes(scope) === true)];
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
  const url = new URL(metadata.authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    scope: scopes.join(' '),
    // OpenID Connect Core section 11: a provider may ignore `offline_access` without `prompt=consent`.
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
  })) {
    url.searchParams.set(name, value);
  }
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  location.assign(url);
}

/** Whether the provider redirected the browser back to this page. */
export const isRedirectFromProvider = (): boolean => new URLSearchParams(location.search).has('state');

export interface CompletedSignIn {
  readonly tokens: ProviderTokens;
  readonly keepForTab: boolean;
}

/** Exchanges the authorization response in the URL for tokens. Throws if this tab did not start the sign-in. */
export async function completeSignIn(provider: Provider): Promise<CompletedSignIn> {
  const response = new URLSearchParams(location.search);
  const pending = takePending();
  // Removes the code from the URL and from the browser history before anything can fail.
  history.replaceState(null, '', `${location.pathname}${pending?.hash ?? ''}`);
  if (pending === undefined || response.get('state') !== pending.state) {
    throw new Error('This tab did not start the sign-in that the identity provider completed. Sign in again.');
  }
  // RFC 9207: prevents mix-up with the response of another provider.
  if ((response.get('iss') ?? provider.issuer) !== provider.issuer) {
    throw new Error('The sign-in was completed by a different identity provider. Sign in again.');
  }
  const code = response.get('code');
  if (code === null) {
    const cause = response.get('error_description') ?? response.get('error') ?? 'no authorization code';
    throw new Error(`The identity provider rejected the sign-in: ${cause}`);
  }
  const tokens = await exchangeCode(provider, code, { verifier: pending.verifier, redirectUri: redirectUri() });
  const { iss, nonce } = decodeClaims(tokens.idToken) ?? {};
  if (iss !== provider.issuer || nonce !== pending.nonce) {
    throw new Error('The ID token has a wrong issuer or nonce. Sign in again.');
  }
  return { tokens, keepForTab: pending.keepForTab };
}

function takePending(): PendingSignIn | undefined {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  try {
    return text === null ? undefined : (JSON.parse(text) as PendingSignIn);
  } catch {
    return undefined;
  }
}

/** This page, as registered at the provider. */
const redirectUri = (): string => `${location.origin}${location.pathname}`;

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
