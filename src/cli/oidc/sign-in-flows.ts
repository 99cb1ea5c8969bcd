import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  initiateDeviceAuthorization,
  pollDeviceAuthorizationGrant,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context } from '../command.ts';
import { openBrowser } from '../open-browser.ts';
import type { Tokens } from './oidc-session.ts';
import { callProvider, type ProviderClient, requireEndpoint, scopesFor, tokensOf } from './provider-client.ts';
import { listenForRedirect } from './redirect-listener.ts';

interface CodeFlowOptions {
  readonly port: number;
  /** Whether to open a browser. */
  readonly browser: boolean;
  /** The `prompt` parameter; "" sends none. */
  readonly prompt: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Signs in with a browser on this machine: authorization code flow with PKCE (RFC 7636). `state` ties the redirect to
 * this run, `nonce` ties the ID token to it.
 */
export async function signInWithBrowser(
  context: Context,
  client: ProviderClient,
  { port, browser, prompt, signal }: CodeFlowOptions,
): Promise<Tokens> {
  requireEndpoint(client, 'authorization_endpoint');
  requireEndpoint(client, 'token_endpoint');
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
    context.err.write(
      `Open this address in a browser on this machine to sign in:\n\n  ${address.href}\n\nIf the provider refuses the redirect URI, register ${listener.redirectUri} there, and repeat this with ` +
        `--callback-port ${new URL(listener.redirectUri).port}.\n`,
    );
    if (browser) openBrowser(address, context.env);
    const { url, respond } = await listener.redirect;
    try {
      const response = await callProvider(settings.issuerUrl, () =>
        authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        }),
      );
      const tokens = tokensOf(response, context.now());
      respond('Signed in. You can close this window and go back to the terminal.');
      return tokens;
    } catch (error) {
      respond('The sign-in failed. See the terminal for the reason.');
      throw error;
    }
  } finally {
    listener.close();
  }
}

/** OpenID Connect Core 11: a provider may ignore `offline_access` without `prompt=consent`. */
function scopeAndPrompt(scope: string, prompt: string | undefined): { scope: string; prompt?: string } {
  const sent = prompt ?? (scope.split(' ').includes('offline_access') ? 'consent' : '');
  return sent === '' ? { scope } : { scope, prompt: sent };
}

/** Signs in with a browser on any machine: device flow (RFC 8628). */
export async function signInOnDevice(context: Context, client: ProviderClient, signal: AbortSignal): Promise<Tokens> {
  const { configuration, settings } = client;
  if (configuration.serverMetadata().device_authorization_endpoint === undefined) {
    throw new CliError(`${new URL(settings.issuerUrl).host} does not support the device flow: omit --device`);
  }
  requireEndpoint(client, 'token_endpoint');
  const device = await callProvider(settings.issuerUrl, () =>
    initiateDeviceAuthorization(configuration, { scope: scopesFor(client) }),
  );
  const { verification_uri: address, verification_uri_complete: complete, user_code: code } = device;
  context.err.write(
    `Open ${terminalSafe(address)} in any browser, and enter the code ${terminalSafe(code)}\n` +
      (complete === undefined ? '' : `or open this address:\n\n  ${terminalSafe(complete)}\n\n`),
  );
  const response = await callProvider(settings.issuerUrl, () =>
    pollDeviceAuthorizationGrant(configuration, device, undefined, { signal }),
  );
  return tokensOf(response, context.now());
}
