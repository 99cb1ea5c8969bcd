import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { Context } from '../command.ts';
import { openBrowser } from '../open-browser.ts';
import type { Tokens } from './oidc-session.ts';
import { asking, type ProviderClient, scopesFor, tokensOf } from './provider-client.ts';
import { listenForRedirect } from './redirect-listener.ts';

export interface CodeFlowOptions {
  readonly port: number;
  /** Whether a browser may be opened. */
  readonly browser: boolean;
  /** What the provider is to ask; "" leaves that to it. */
  readonly prompt: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Signing in with a browser on this machine: the authorization code flow with PKCE (RFC 7636). The state ties the
 * browser's return to this run, the nonce ties the token to it.
 */
export async function signInWithBrowser(
  context: Context,
  client: ProviderClient,
  { port, browser, prompt, signal }: CodeFlowOptions,
): Promise<Tokens> {
  const { configuration, settings } = client;
  const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
  const listener = await listenForRedirect({ port, state, signal });
  try {
    const address = buildAuthorizationUrl(configuration, {
      redirect_uri: listener.redirectUri,
      ...scopeAndPrompt(scopesFor(client), prompt),
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    context.err.write(`Open this address in a browser on this machine to sign in:\n\n  ${address.href}\n\n`);
    if (browser) openBrowser(address, context.env);
    const { url, say } = await listener.answer;
    try {
      const answer = await asking(settings.issuerUrl, () =>
        authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        }),
      );
      const tokens = tokensOf(answer, context.now());
      say('Signed in. You can close this window and go back to the terminal.');
      return tokens;
    } catch (error) {
      say('Signing in did not work. The terminal says why.');
      throw error;
    }
  } finally {
    listener.close();
  }
}

/** OpenID Connect Core 11: a provider may ignore `offline_access` unless it is to ask for consent. */
function scopeAndPrompt(scope: string, prompt: string | undefined): { scope: string; prompt?: string } {
  const asked = prompt ?? (scope.split(' ').includes('offline_access') ? 'consent' : '');
  return asked === '' ? { scope } : { scope, prompt: asked };
}
