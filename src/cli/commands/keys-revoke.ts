import { CliError, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { printable } from '../output/terminal-safe.ts';
import { KEYS_PATH } from './keys-list.ts';

export const run: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  if (!/^[A-Za-z0-9_-]{1,253}$/.test(name)) throw new CliError(`${JSON.stringify(name)} is not the id of a key`);
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  await client.request('DELETE', `${KEYS_PATH}/${encodeURIComponent(name)}`, {
    query: dryRun ? { dryRun: 'All' } : {},
  });
  context.out.write(`${printable(name)} revoked${dryRun ? ' (server dry run)' : ''}\n`);
  if (!dryRun) {
    context.err.write(
      'Its tokens are refused here from now on. Clusters may accept them until they read the key set again, within an hour.\n',
    );
  }
  return undefined;
};
