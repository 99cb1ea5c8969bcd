import { CliError, type Context } from '../command.ts';
import type { Session } from './oidc-session.ts';

/**
 * Revokes the refresh token of a session that is no longer stored, so a failure is only a warning. A token that the
 * provider has given to the next session, too, stays.
 */
export async function revokeSession(context: Context, ended: Session | undefined, next?: Session): Promise<void> {
  if (ended?.refreshToken === undefined || ended.refreshToken === next?.refreshToken) return;
  const { revoke } = await import('./provider-client.ts');
  try {
    await revoke(ended, ended.refreshToken, context);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const which = next === undefined ? 'the refresh token' : 'the refresh token of the login before';
    context.err.write(`Warning: could not revoke ${which} at the identity provider: ${error.message}\n`);
  }
}
