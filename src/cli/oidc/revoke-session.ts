import { CliError, type Context } from '../command.ts';
import type { Session } from './oidc-session.ts';

/**
 * Revokes the refresh token of a session that is no longer stored, so a failure is only a warning. It stays if the next
 * session is of the same person at the same client: a provider may end all tokens of a grant with one of them (RFC 7009
 * section 2.1), and the next session is often of the same grant. Keycloak, for example, would end the new login.
 */
export async function revokeSession(context: Context, ended: Session | undefined, next?: Session): Promise<void> {
  if (ended?.refreshToken === undefined || (next !== undefined && mayShareGrant(ended, next))) return;
  const { revoke } = await import('./provider-client.ts');
  try {
    await revoke(ended, ended.refreshToken, context);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const which = next === undefined ? 'the refresh token' : 'the refresh token of the login before';
    context.err.write(`Warning: could not revoke ${which} at the identity provider: ${error.message}\n`);
  }
}

const mayShareGrant = (a: Session, b: Session): boolean =>
  a.issuerUrl === b.issuerUrl && a.clientId === b.clientId && a.subject === b.subject;
