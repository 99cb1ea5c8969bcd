import { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from 'openid-client';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context } from '../command.ts';
import type { Tokens } from './oidc-session.ts';
import { callProvider, type ProviderClient, requireEndpoint, scopesFor, tokensOf } from './provider-client.ts';

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
