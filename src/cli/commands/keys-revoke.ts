import { signingKeyKind } from '../../api/kinds/signing-key.ts';
import { CliError, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { objectPath } from '../object-path.ts';

export const run: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  if (!/^[A-Za-z0-9_-]{1,253}$/.test(name)) throw new CliError(`${JSON.stringify(name)} is not the ID of a key`);
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  await client.request('DELETE', objectPath(client, signingKeyKind, {}, name), {
    query: dryRun ? { dryRun: 'All' } : {},
  });
  context.out.write(`${name} revoked${dryRun ? ' (server dry run)' : ''}\n`);
  if (!dryRun) {
    context.err.write(
      'This server now refuses its tokens. Clusters may accept them until they read the key set again, within an hour.\n',
    );
  }
  return undefined;
};
