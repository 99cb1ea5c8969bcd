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
      'Clusterpass now refuses the tokens of this key. Clusters do not notice by themselves: a kube-apiserver accepts ' +
        'them until they expire, as long as it has the key in memory.\n' +
        'Clusterpass makes each cluster that it probes read the keys again: most within a minute, the others in an ' +
        'hour. To be sure, and sooner, on the machine of each API server: clusterpass trust --refresh --file FILE, ' +
        'where FILE is that of --authentication-config. It takes about 20 seconds.\n',
    );
  }
  return undefined;
};
