import { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from 'openid-client';
import { CliError, type Context } from '../command.ts';
import { printable } from '../output/terminal-safe.ts';
import type { Tokens } from './oidc-session.ts';
import { asking, type ProviderClient, scopesFor, tokensOf } from './provider-client.ts';

/** Signing in with a browser anywhere: the device flow (RFC 8628), for machines that have none. */
export async function signInOnDevice(context: Context, client: ProviderClient, signal: AbortSignal): Promise<Tokens> {
  const { configuration, settings } = client;
  if (configuration.serverMetadata().device_authorization_endpoint === undefined) {
    throw new CliError(`${new URL(settings.issuerUrl).host} does not have the device flow: leave out --device`);
  }
  const device = await asking(settings.issuerUrl, () =>
    initiateDeviceAuthorization(configuration, { scope: scopesFor(client) }),
  );
  const { verification_uri: address, verification_uri_complete: complete, user_code: code } = device;
  context.err.write(
    `Open ${printable(address)} in any browser, and enter the code ${printable(code)}\n` +
      (complete === undefined ? '' : `or open this address:\n\n  ${printable(complete)}\n\n`),
  );
  const answer = await asking(settings.issuerUrl, () =>
    pollDeviceAuthorizationGrant(configuration, device, undefined, { signal }),
  );
  return tokensOf(answer, context.now());
}
