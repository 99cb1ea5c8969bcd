import { claimsOf } from '../pass/claims.ts';
import { metadataOf, type Provider } from './provider-metadata.ts';
import { type ProviderTokens, redeem } from './provider-tokens.ts';

/** What must be known again when the person comes back from the provider. It is no credential by itself. */
interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly keepForTab: boolean;
  /** Where the person was. */
  readonly hash: string;
}

const KEY = 'clusterpass.sign-in';
/** By the last of them a provider gives a refresh token. */
const USUAL_SCOPES = ['profile', 'email', 'groups', 'offline_access'];

/** Leaves for the provider: authorization code with PKCE (RFC 7636), for a client without a secret. */
export async function leaveForProvider(provider: Provider, keepForTab: boolean): Promise<void> {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error('Signing in there needs this page to be served over TLS.');
  const metadata = await metadataOf(provider.issuer);
  const pending: Pending = {
    state: randomText(),
    nonce: randomText(),
    verifier: randomText(),
    keepForTab,
    hash: location.hash,
  };
  const scopes = ['openid', ...USUAL_SCOPES.filter((scope) => metadata.scopes_supported?.includes(scope) === true)];
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
  const address = new URL(metadata.authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    scope: scopes.join(' '),
    // OpenID Connect Core section 11: a provider may ignore `offline_access` unless it is to ask for consent.
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
  })) {
    address.searchParams.set(name, value);
  }
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  location.assign(address);
}

export const isBackFromProvider = (): boolean => new URLSearchParams(location.search).has('state');

export interface Arrival {
  readonly tokens: ProviderTokens;
  readonly keepForTab: boolean;
}

/** Turns what the provider sent the person back with into tokens. Throws when it does not belong to this tab. */
export async function arriveFromProvider(provider: Provider): Promise<Arrival> {
  const answer = new URLSearchParams(location.search);
  const pending = takePending();
  // At once: a code is good for one use only, and has no business in the history.
  history.replaceState(null, '', `${location.pathname}${pending?.hash ?? ''}`);
  if (pending === undefined || answer.get('state') !== pending.state) {
    throw new Error('The answer of the identity provider belongs to no sign-in of this tab. Please sign in again.');
  }
  // RFC 9207: an answer of another provider must not be taken for one of this.
  if ((answer.get('iss') ?? provider.issuer) !== provider.issuer) {
    throw new Error('The answer comes from another identity provider than the one that was asked.');
  }
  const code = answer.get('code');
  if (code === null) {
    throw new Error(`The identity provider says: ${answer.get('error_description') ?? answer.get('error') ?? 'no'}`);
  }
  const tokens = await redeem(provider, code, { verifier: pending.verifier, redirectUri: redirectUri() });
  const { iss, nonce } = claimsOf(tokens.idToken) ?? {};
  if (iss !== provider.issuer || nonce !== pending.nonce) {
    throw new Error('The identity provider gave a token that was not made for this sign-in.');
  }
  return { tokens, keepForTab: pending.keepForTab };
}

function takePending(): Pending | undefined {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  try {
    return text === null ? undefined : (JSON.parse(text) as Pending);
  } catch {
    return undefined;
  }
}

/** The page itself, as it has to be registered at the provider. */
const redirectUri = (): string => `${location.origin}${location.pathname}`;

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
