import type { ApiObject } from '../../api/kind.ts';
import { accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import type { Client } from '../../client/create-client.ts';
import type { TrackedToken } from '../../client/types.ts';
import { shellWord } from '../../lib/shell-word.ts';
import { terminalSafe } from '../../lib/text.ts';
import { type Approvable, approvablePath, objectName, REQUESTS } from '../approvable.ts';
import { CliError, type Run, UsageError } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { isDryRun } from '../dry-run.ts';
import { forEach } from '../for-each.ts';
import { tokenSelector } from '../token-selection.ts';

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
    const notes: string[] = [];
    const code = await forEach(context, of, invocation.args, async (name) => {
      const { value } = await client.request<ApiObject>('PATCH', `${approvablePath(of, name)}/approval`, {
        expects: 'object',
        query: { fieldManager: 'clusterpass', ...(dryRun ? { dryRun: 'All' } : {}) },
        body: { ...(uid === undefined ? {} : { metadata: { uid } }), status: { conditions: [condition] } },
        contentType: 'application/merge-patch+json',
      });
      const done = `${objectName(of, value)} ${type.toLowerCase()}${dryRun ? ' (server dry run)' : ''}`;
      if (type === 'Withdrawn' && !dryRun) notes.push(...(await validPasses(client, value)));
      context.out.write(`${terminalSafe(`${done}${of === REQUESTS ? granted(value) : allowed(value)}`)}\n`);
    });
    for (const note of notes) context.err.write(`${terminalSafe(note)}\n`);
    return code;
  };

/** A withdrawal ends the binding, not the passes that were issued under it. */
async function validPasses(client: Client, request: ApiObject): Promise<string[]> {
  const { cluster = '', serviceAccount, requestedBy } = requestSpec(request);
  const requester = requestedBy?.username ?? '';
  if (serviceAccount === undefined || requestStatus(request).bindingRef === undefined) return [];
  const account = `${serviceAccount.namespace}/${serviceAccount.name}`;
  const fieldSelector = tokenSelector({ cluster, ...serviceAccount, requester }) ?? '';
  const all = `Passes of ${account} in ${cluster} that ${requester} requested stay valid until they expire`;
  let tokens: readonly TrackedToken[];
  try {
    tokens = await client.listIssuedTokens({ fieldSelector });
  } catch (error) {
    // The request is withdrawn, so this is no failure of the command.
    return [`${all}. Their records could not be read: ${describeError(error)}`];
  }
  const last = tokens
    .map(({ spec }) => spec.expirationTimestamp)
    .sort()
    .at(-1);
  if (last === undefined) return [`${all}. You see no record to revoke one by.`];
  return [
    `${all}, the last one with a record at ${last}.`,
    'Revoke those with a record: ' +
      `clusterpass token revoke --cluster ${cluster} --account ${account} --requester ${shellWord(requester)}`,
  ];
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
