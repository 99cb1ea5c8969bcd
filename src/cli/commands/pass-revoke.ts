import { terminalSafe } from '../../lib/text.ts';
import { approvablePath, PASSES } from '../approvable.ts';
import type { Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { forEach, mayBeAbsent } from '../for-each.ts';
import { forgetPass } from '../kubeconfig/pass-kubeconfig.ts';

/** Deletes passes, which revokes the tokens that they were redeemed for. */
export const run: Run = async (context, invocation) => {
  const connection = await resolveConnection(context, invocation);
  const client = await clientFor(context, connection);
  return forEach(context, PASSES, invocation.args, async (argument) => {
    const path = approvablePath(PASSES, argument);
    const name = path.slice(path.lastIndexOf('/') + 1);
    try {
      await client.request('DELETE', path);
    } catch (error) {
      // It may have been revoked from another machine.
      if (mayBeAbsent(error)) await forgetPass(context, connection.server, name);
      throw error;
    }
    await forgetPass(context, connection.server, name);
    context.out.write(`${terminalSafe(`${PASSES.kind.singular}.${PASSES.kind.group}/${name} revoked`)}\n`);
  });
};
