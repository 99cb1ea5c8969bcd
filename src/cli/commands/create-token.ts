import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { printerFor } from '../output/printer.ts';
import { parseTokenReference } from '../token-id.ts';

/** Writes only the token to stdout; messages go to stderr. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const cluster = invocation.required('cluster', '--cluster');
  const expirationSeconds = invocation.seconds('duration', '--duration');
  const minExpirationSeconds = invocation.seconds('minDuration', '--min-duration');
  const boundObjectRef = boundObject(invocation);
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  const { token, expirationTimestamp, tokenRequest } = await client.createToken({
    cluster,
    namespace: invocation.text('namespace') ?? 'default',
    name: invocation.args[0] ?? '',
    audiences: invocation.list('audience'),
    dryRun,
    forCluster: invocation.is('forCluster'),
    tracked: invocation.is('tracked'),
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    ...(minExpirationSeconds === undefined ? {} : { minExpirationSeconds }),
    ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
  });
  if (print !== undefined) context.out.write(print(tokenRequest));
  else if (dryRun) context.err.write(`The token would expire at ${expirationTimestamp} (server dry run).\n`);
  else context.out.write(`${token}\n`);
  const id = invocation.is('tracked') && !dryRun ? parseTokenReference(token)?.id : undefined;
  if (id !== undefined) context.err.write(`To revoke this token: clusterpass token revoke ${id}\n`);
  return undefined;
};

const BOUND_KINDS = ['Pod', 'Secret'];

function boundObject(invocation: Invocation): BoundObjectReference | undefined {
  const kind = invocation.text('boundObjectKind');
  const name = invocation.text('boundObjectName');
  const uid = invocation.text('boundObjectUid');
  if (kind === undefined) {
    if (name !== undefined)
      throw new CliError('--bound-object-name can only be set if --bound-object-kind is provided');
    if (uid !== undefined) throw new CliError('--bound-object-uid can only be set if --bound-object-kind is provided');
    return undefined;
  }
  if (!BOUND_KINDS.includes(kind)) {
    throw new CliError(`supported --bound-object-kind values are ${BOUND_KINDS.join(', ')}`);
  }
  if (!name) throw new CliError('--bound-object-name is required if --bound-object-kind is provided');
  return { kind, apiVersion: 'v1', name, ...(uid === undefined ? {} : { uid }) };
}
