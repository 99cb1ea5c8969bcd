import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
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
import { createServer } from '../../lib/node-http.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context } from '../command.ts';
import { openBrowser } from '../open-browser.ts';
import type { Tokens } from './oidc-session.ts';
import { callProvider, type ProviderClient, requireEndpoint, scopesFor, tokensOf } from './provider-client.ts';

interface CodeFlowOptions {
  readonly port: number;
  /** Whether to open a browser. */
  readonly browser: boolean;
  readonly signal: AbortSignal;
}

/**
 * Signs in with a browser on this machine: authorization code flow with PKCE (RFC 7636). `state` ties the redirect to
 * this run, `nonce` ties the ID token to it.
 */
export async function signInWithBrowser(
  context: Context,
  client: ProviderClient,
  { port, browser, signal }: CodeFlowOptions,
): Promise<Tokens> {
  requireEndpoint(client, 'authorization_endpoint');
  requireEndpoint(client, 'token_endpoint');
  const { configuration, settings } = client;
  const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
  const listener = await listenForRedirect(port, state, signal);
  try {
    const address = buildAuthorizationUrl(configuration, {
      redirect_uri: listener.redirectUri,
      ...withPrompt(scopesFor(client)),
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
const withPrompt = (scope: string): { scope: string; prompt?: string } =>
  scope.split(' ').includes('offline_access') ? { scope, prompt: 'consent' } : { scope };

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

/** The redirect URI on loopback (RFC 8252 section 7.3). */
export interface RedirectListener {
  readonly redirectUri: string;
  /** The URL of the browser's request, and the function that answers it with a text. */
  readonly redirect: Promise<{ readonly url: URL; respond(text: string): void }>;
  close(): void;
}

const PATH = '/callback';

/** Port 0 takes any free one. A request with another `state` gets an error page and is ignored. */
export async function listenForRedirect(port: number, state: string, signal: AbortSignal): Promise<RedirectListener> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<RedirectListener['redirect']>>();
  let isAnswered = false;
  const server = createServer((request, response) => {
    const target = request.url ?? '';
    // Any page and any program on this machine can send requests here, also with a target that is no path.
    const url = target.startsWith(PATH) && URL.canParse(target, redirectUri) ? new URL(target, redirectUri) : undefined;
    if (request.method !== 'GET' || url?.pathname !== PATH) return send(response, 404, 'Not found.');
    if (url.searchParams.get('state') !== state) return send(response, 400, 'The state is not that of this login.');
    if (isAnswered) return send(response, 400, 'This login has its answer.');
    isAnswered = true;
    resolve({ url, respond: (text) => send(response, 200, text) });
  });
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`cannot listen on port ${port} for the browser: ${code ?? 'unknown error'}`);
  }
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  // If the caller fails before it awaits `redirect`, the rejection is ignored.
  promise.catch(() => {});
  return {
    redirectUri,
    redirect: promise,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Sends plain text that repeats nothing from the URL and is not cached. */
function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${text}\n`);
}
