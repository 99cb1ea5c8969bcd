import { approvablePath, PASSES } from '../approvable.ts';
import type { Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { forgetPass } from '../kubeconfig/pass-kubeconfig.ts';
import { forEach } from './request-decide.ts';

/** Deletes passes, which revokes the tokens that they were redeemed for. */
export const run: Run = async (context, invocation) => {
  const connection = await resolveConnection(context, invocation);
  const client = await clientFor(context, connection);
  return forEach(context, invocation.args, async (argument) => {
    const path = approvablePath(PASSES, argument);
    await client.request('DELETE', path);
    const name = path.slice(path.lastIndexOf('/') + 1);
    await forgetPass(context, connection.server, name);
    return `${PASSES.kind.singular}.${PASSES.kind.group}/${name} revoked`;
  });
};
