import type { ApiObject } from '../../api/kind.ts';
import { accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { type Approvable, approvablePath, objectName, REQUESTS } from '../approvable.ts';
import { CliError, type Context, type Run, UsageError } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isObjectError } from '../describe-error.ts';
import { isDryRun } from '../dry-run.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

/** `approve`, `deny` and `withdraw`: each adds a condition to the request or the pass. */
export const runFor =
  (type: 'Approved' | 'Denied' | 'Withdrawn', of: Approvable): Run =>
  async (context, invocation) => {
    const message = invocation.text('message');
    const uid = invocation.text('uid');
    if (uid === '') throw new UsageError('--uid must not be empty');
    if (uid !== undefined && invocation.args.length > 1) throw new CliError('--uid is for one request');
    const dryRun = isDryRun(invocation);
    const client = await connect(context, invocation);
    const condition = { type, status: 'True', ...(message === undefined ? {} : { message }) };
    return forEach(context, invocation.args, async (name) => {
      const { value } = await client.request<ApiObject>('PATCH', `${approvablePath(of, name)}/approval`, {
        query: { fieldManager: 'clusterpass', ...(dryRun ? { dryRun: 'All' } : {}) },
        body: { ...(uid === undefined ? {} : { metadata: { uid } }), status: { conditions: [condition] } },
        contentType: 'application/merge-patch+json',
      });
      const done = `${objectName(of, value)} ${type.toLowerCase()}${dryRun ? ' (server dry run)' : ''}`;
      return `${done}${of === REQUESTS ? granted(value) : allowed(value)}`;
    });
  };

/** Prints a line for each name. An error of one does not keep the others from being done. */
export async function forEach(
  context: Context,
  names: readonly string[],
  act: (name: string) => Promise<string>,
): Promise<number> {
  let failed = 0;
  for (const name of names) {
    try {
      context.out.write(`${terminalSafe(await act(name))}\n`);
    } catch (error) {
      if (!isObjectError(error)) throw error;
      failed++;
      context.err.write(`${describeError(error)}\n`);
    }
  }
  return failed > 0 ? 1 : 0;
}

function granted(request: ApiObject): string {
  const { phase, expirationTimestamp } = requestStatus(request);
  if (phase !== 'Approved') return '';
  const spec = requestSpec(request);
  return `: ${accessText(spec)} in ${spec.cluster} for ${spec.requestedBy?.username} until ${expirationTimestamp}`;
}

function allowed(pass: ApiObject): string {
  const { phase, expirationTimestamp } = passStatus(pass);
  if (phase !== 'Ready') return '';
  const { cluster, serviceAccount, requestedBy } = passSpec(pass);
  const account = `${serviceAccount?.namespace}/${serviceAccount?.name}`;
  return `: ${account} in ${cluster} for ${requestedBy?.username} until ${expirationTimestamp}`;
}
