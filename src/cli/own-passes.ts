import type { ApiObject } from '../api/kind.ts';
import { isOpenPhase } from '../api/kinds/approval.ts';
import { passSpec, passStatus } from '../api/kinds/pass-spec.ts';
import { reviewSelf } from '../client/access-reviews.ts';
import { approvablePath, PASSES } from './approvable.ts';
import type { Context } from './command.ts';
import { clientFor, connectionOfLogin } from './connection/connection.ts';
import type { Logins } from './connection/logins.ts';

/** A logout must not wait for a server that does not answer. */
const TIMEOUT_MS = 3_000;

/** Ends the live passes that were requested with this login, and returns their number. */
export async function revokeOwnPasses(context: Context, logins: Logins, server: string): Promise<number> {
  const client = await clientFor(context, connectionOfLogin(context, logins, server));
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { value } = await client.request<{ items: ApiObject[] }>('GET', PASSES.path, { expects: 'list', signal });
  if (value.items.length === 0) return 0;
  const { status } = await reviewSelf(client);
  const own = value.items.filter((pass) => {
    const { requestedBy, client: agent } = passSpec(pass);
    const isOfLogin = agent === undefined || agent.id === 'login';
    const isLive = isOpenPhase(passStatus(pass).phase);
    return isLive && isOfLogin && requestedBy?.username === status?.userInfo?.username;
  });
  for (const { metadata } of own) {
    await client.request('DELETE', approvablePath(PASSES, metadata.name ?? ''), { signal });
  }
  return own.length;
}
