import { claimsOf } from '../pass/claims.ts';
import { askProvider, metadataOf, type Provider, ProviderRefusal } from './provider-metadata.ts';

/** What the provider gives. Both stay in the memory of the page; the second never goes anywhere else. */
export interface ProviderTokens {
  readonly idToken: string;
  /** By which the first can be had anew; not every provider gives one. */
  readonly refreshToken: string | undefined;
}

/** For the code that the person came back with (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
export async function redeem(
  provider: Provider,
  code: string,
  { verifier, redirectUri }: { readonly verifier: string; readonly redirectUri: string },
): Promise<ProviderTokens> {
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = await askForTokens(provider, parameters);
  if (tokens === undefined) throw new Error('The identity provider gave no ID token.');
  return tokens;
}

/** A new ID token for the same person (OpenID Connect Core section 12). */
export async function renew(provider: Provider, held: ProviderTokens): Promise<ProviderTokens> {
  const { refreshToken = '' } = held;
  const tokens = await askForTokens(provider, { grant_type: 'refresh_token', refresh_token: refreshToken });
  // A provider need not give one here; then there is no way to go on.
  if (tokens === undefined) throw new ProviderRefusal('The identity provider renews no ID token.');
  const [before, after] = [claimsOf(held.idToken), claimsOf(tokens.idToken)];
  if (after?.iss !== before?.iss || after?.sub !== before?.sub) {
    throw new ProviderRefusal('The identity provider gave a token of somebody else.');
  }
  // Where each is good for one use, the next one comes with the answer; else the first stays good (RFC 6749 section 6).
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
}

/** Nobody is to use it any more (RFC 7009). That it could not be said changes nothing: the page forgets it. */
export async function giveBack(provider: Provider, refreshToken: string): Promise<void> {
  try {
    const { revocation_endpoint: endpoint } = await metadataOf(provider.issuer);
    if (endpoint === undefined) return;
    const body = new URLSearchParams({ token: refreshToken, client_id: provider.clientId });
    await askProvider(endpoint, { method: 'POST', body, keepalive: true });
  } catch {
    // It ends by itself, later.
  }
}

async function askForTokens(
  { issuer, clientId }: Provider,
  parameters: Readonly<Record<string, string>>,
): Promise<ProviderTokens | undefined> {
  const { token_endpoint: endpoint } = await metadataOf(issuer);
  const body = new URLSearchParams({ ...parameters, client_id: clientId });
  const { id_token: idToken, refresh_token: refreshToken } = await askProvider(endpoint, { method: 'POST', body });
  if (typeof idToken !== 'string') return undefined;
  return { idToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined };
}
