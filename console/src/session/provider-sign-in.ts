import { claimsOf } from '../pass/claims.ts';

/** The identity provider that people sign in at, and what this page is called there. */
export interface Provider {
  readonly issuer: string;
  readonly clientId: string;
}

/** The part of OpenID Connect Discovery that is needed. */
interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly scopes_supported?: readonly string[];
}

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
const USUAL_SCOPES = ['profile', 'email', 'groups'];

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
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
  const address = new URL(metadata.authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    scope: ['openid', ...USUAL_SCOPES.filter((scope) => metadata.scopes_supported?.includes(scope) === true)].join(' '),
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

/** Turns what the provider sent the person back with into a token. Throws when it does not belong to this tab. */
export async function tokenFromProvider(provider: Provider): Promise<{ token: string; keepForTab: boolean }> {
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
  const token = await redeem(provider, code, pending.verifier);
  const { iss, nonce } = claimsOf(token) ?? {};
  if (iss !== provider.issuer || nonce !== pending.nonce) {
    throw new Error('The identity provider gave a token that was not made for this sign-in.');
  }
  return { token, keepForTab: pending.keepForTab };
}

async function redeem({ issuer, clientId }: Provider, code: string, verifier: string): Promise<string> {
  const { token_endpoint: endpoint } = await metadataOf(issuer);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: redirectUri(),
    code_verifier: verifier,
  });
  const answer = await fetchJson(endpoint, { method: 'POST', body });
  if (typeof answer.id_token !== 'string') throw new Error('The identity provider gave no ID token.');
  return answer.id_token;
}

async function metadataOf(issuer: string): Promise<Metadata> {
  const answer = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: told, authorization_endpoint: authorize, token_endpoint: token } = answer;
  // OpenID Connect Discovery section 4.3: the two must be the same, to the letter.
  if (told !== issuer || !isSecure(authorize) || !isSecure(token)) {
    throw new Error(`The identity provider does not describe itself as ${issuer}.`);
  }
  return answer as unknown as Metadata;
}

const isSecure = (address: unknown): boolean =>
  typeof address === 'string' && URL.canParse(address) && new URL(address).protocol === 'https:';

async function fetchJson(address: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(address, { ...init, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  } catch {
    throw new Error(`The identity provider at ${new URL(address).host} does not answer this page.`);
  }
  const answer: unknown = await response.json().catch(() => undefined);
  const object = typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
  if (response.ok) return object;
  throw new Error(`The identity provider refuses: ${object.error_description ?? object.error ?? response.status}`);
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
