import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { parseDuration } from '../../config/duration.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { printerFor } from '../output/printer.ts';
import { readGivenToken } from '../token-id.ts';

/** The token alone on stdout; whatever there is to say about it goes to stderr. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const cluster = invocation.required('cluster', '--cluster');
  const expirationSeconds = secondsOf(invocation.text('duration'));
  const minExpirationSeconds = secondsOf(invocation.text('minDuration'), '--min-duration');
  const boundObjectRef = boundObject(invocation);
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  const { token, answer } = await client.createToken({
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
  if (print !== undefined) context.out.write(print(answer));
  else if (dryRun) context.err.write(`A token would be granted until ${answer.status?.expirationTimestamp}.\n`);
  else context.out.write(`${token}\n`);
  const id = invocation.is('tracked') && !dryRun ? readGivenToken(token)?.id : undefined;
  if (id !== undefined) context.err.write(`Tracked: clusterpass token revoke ${id} takes it back.\n`);
  return undefined;
};

/** kubectl's rule: a part of a second is not lost, it counts as one. */
export function secondsOf(duration: string | undefined, flag = '--duration'): number | undefined {
  if (duration === undefined || duration === '0' || duration === '0s') return undefined;
  const milliseconds = parseDuration(duration);
  if (milliseconds === undefined || milliseconds <= 0) {
    throw new CliError(`${flag}: ${JSON.stringify(duration)} is not a duration such as 10m, 1h30m or 90s`);
  }
  return Math.ceil(milliseconds / 1000);
}

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
