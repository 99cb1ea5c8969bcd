import type { ApiObject } from '../../api/kind.ts';
import { accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { accountText } from '../../api/kinds/approval.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import type { Client } from '../../client/create-client.ts';
import { terminalSafe } from '../../lib/text.ts';
import { type Approvable, approvablePath, forEach, objectName, REQUESTS } from '../approvable.ts';
import { CliError, type Run, UsageError } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun, noteOf, writeQuery } from '../dry-run.ts';
import { printObjects } from '../output/printer.ts';
import { fieldSelectorOf } from '../token-selection.ts';

export const listApprovables =
  (of: Approvable): Run =>
  async (context, invocation) => {
    const client = await connect(context, invocation);
    const fieldSelector = fieldSelectorOf({
      'spec.cluster': invocation.text('cluster'),
      'spec.requestedBy.username': invocation.text('requester'),
      'status.phase': invocation.text('phase'),
    });
    await printObjects(context, invocation, await listObjects(client, of, fieldSelector), of.kind);
  };

interface ObjectList {
  readonly items: readonly ApiObject[];
}

/** In one page: the server bounds the objects of each caller. */
async function listObjects(client: Client, of: Approvable, fieldSelector: string | undefined): Promise<ApiObject[]> {
  const { value } = await client.request<ObjectList>('GET', of.path, { query: { fieldSelector }, expects: 'list' });
  return value.items.map((item) => ({ ...item, ...of.type }));
}

/** `approve`, `deny` and `withdraw`: each adds a condition to the request or the pass. */
export const decide =
  (type: 'Approved' | 'Denied' | 'Withdrawn', of: Approvable): Run =>
  async (context, invocation) => {
    const message = invocation.text('message');
    const uid = invocation.text('uid');
    if (uid === '') throw new UsageError('--uid must not be empty');
    if (uid !== undefined && invocation.args.length > 1) throw new CliError('--uid is for one request');
    const client = await connect(context, invocation);
    const condition = { type, status: 'True', ...(message === undefined ? {} : { message }) };
    const notes: string[] = [];
    const code = await forEach(context, of, invocation.args, async (name) => {
      const { value } = await client.request<ApiObject>('PATCH', `${approvablePath(of, name)}/approval`, {
        expects: 'object',
        query: writeQuery(invocation),
        body: { ...(uid === undefined ? {} : { metadata: { uid } }), status: { conditions: [condition] } },
        contentType: 'application/merge-patch+json',
      });
      const done = `${objectName(of, value)} ${type.toLowerCase()}${noteOf(invocation)}`;
      if (type === 'Withdrawn' && !isDryRun(invocation)) notes.push(...remainingPasses(value));
      context.out.write(`${terminalSafe(`${done}${of === REQUESTS ? granted(value) : allowed(value)}`)}\n`);
    });
    for (const note of notes) context.err.write(`${terminalSafe(note)}\n`);
    return code;
  };

/** A withdrawal deletes the binding. With it the server revokes the passes that have a record. */
function remainingPasses(request: ApiObject): string[] {
  const { cluster, serviceAccount, requestedBy } = requestSpec(request);
  if (serviceAccount === undefined || requestStatus(request).bindingRef === undefined) return [];
  const passes = `Passes of ${serviceAccount.namespace}/${serviceAccount.name} in ${cluster}`;
  const revoked = `${passes} that ${requestedBy?.username} requested under it are revoked if they have a record.`;
  return [`${revoked} Others stay valid until they expire.`];
}

/** What an approved request gives, for people. */
export function granted(request: ApiObject): string {
  const { phase, expirationTimestamp } = requestStatus(request);
  if (phase !== 'Approved') return '';
  const spec = requestSpec(request);
  return `: ${accessText(spec)} in ${spec.cluster} for ${spec.requestedBy?.username} until ${expirationTimestamp}`;
}

function allowed(pass: ApiObject): string {
  const { phase, expirationTimestamp } = passStatus(pass);
  if (phase !== 'Ready') return '';
  const spec = passSpec(pass);
  const { cluster, requestedBy } = spec;
  return `: ${accountText(spec)} in ${cluster} for ${requestedBy?.username} until ${expirationTimestamp}`;
}
