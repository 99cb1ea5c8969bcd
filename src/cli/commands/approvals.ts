import { type ApiObject, apiVersionOf, type Kind } from '../../api/kind.ts';
import { accessRequestKind } from '../../api/kinds/access-request.ts';
import { accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import {
  type ApprovalSpec,
  type ApprovalStatus,
  accountText,
  approvalSpec,
  approvalStatus,
  isOpenPhase,
  previewRows,
  type RequestUser,
} from '../../api/kinds/approval.ts';
import { passKind } from '../../api/kinds/pass.ts';
import { passSpec } from '../../api/kinds/pass-spec.ts';
import { fieldSelectorOf } from '../../api/selectors.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus, type StatusError } from '../../client/errors.ts';
import { oneLine, terminalSafe } from '../../lib/text.ts';
import { pathSegment } from '../clusters.ts';
import { CliError, type Context, isDryRun, noteOf, type Run, UsageError, writeQuery } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isObjectError } from '../describe-error.ts';
import { asList, isPrinted, printObjects, renderTable } from '../output/printer.ts';

/** A kind whose objects people ask for and others approve. `absence`: why an object may not exist, for errors. */
const approvable = (kind: Kind, absence: string) => ({
  kind,
  absence,
  path: `/apis/${apiVersionOf(kind)}/${kind.resource}`,
  type: { apiVersion: apiVersionOf(kind), kind: kind.kind },
});

type Approvable = ReturnType<typeof approvable>;

export const REQUESTS = approvable(
  accessRequestKind,
  'There may be no such request: its requester can delete it, and finished requests are deleted, by default after a week.',
);
export const PASSES = approvable(
  passKind,
  'There may be no such pass: passes are deleted when they are revoked, a day after a denial, and an hour after another end.',
);

/** `argument` is a name, or `TYPE/NAME` as kubectl writes it. */
export const approvablePath = ({ path }: Approvable, argument: string): string =>
  `${path}/${pathSegment(argument.split('/').at(-1) ?? '')}`;

/** `accessrequest.clusterpass.dev/jane-x7k2p` */
export const objectName = ({ kind }: Approvable, { metadata }: ApiObject): string =>
  terminalSafe(`${kind.singular}.${kind.group}/${metadata.name}`);

/** Calls `act` for each name. An error of one does not keep the others from being done. Returns the exit code. */
export async function forEach(
  context: Context,
  of: Approvable,
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<number> {
  let failed = 0;
  for (const name of names) {
    try {
      await act(name);
    } catch (error) {
      if (!isObjectError(error)) throw error;
      failed++;
      context.err.write(`${describeError(error)}\n${mayBeAbsent(error) ? `${of.absence}\n` : ''}`);
    }
  }
  return failed > 0 ? 1 : 0;
}

/** The server refuses an object that does not exist like one for which the caller has no permission. */
export const mayBeAbsent = (error: unknown): error is StatusError =>
  isStatus(error, 404) || (isStatus(error, 403) && / cannot \w+ resource /.test(error.message));

/** A title with its text. Without a text it is not shown. */
export type Row = readonly [title: string, text: string | undefined];

/** The command that shows the named objects: as they are with `-o`, else as rows. */
export const showApprovable =
  (of: Approvable, rowsOf: (object: ApiObject) => readonly Row[]): Run =>
  async (context, invocation) => {
    const client = await connect(context, invocation);
    const objects: ApiObject[] = [];
    const code = await forEach(context, of, invocation.args, async (name) => {
      // With what an approval by the caller would do.
      const path = `${approvablePath(of, name)}/approval`;
      objects.push((await client.request<ApiObject>('GET', path, { expects: 'object' })).value);
    });
    const isOne = invocation.args.length === 1;
    if (isOne && code !== 0) return code;
    if (!(await isPrinted(context, invocation, isOne ? objects[0] : asList(objects)))) {
      context.out.write(objects.map((object) => renderTable(rowsOf(object).filter(([, text]) => text))).join('\n'));
    }
    return code;
  };

export function person(user: RequestUser | undefined): string | undefined {
  if (user === undefined) return undefined;
  const { username, actors = [] } = user;
  return actors.length === 0 ? username : `${username} (also ${actors.join(', ')})`;
}

/** What an approval would do, and what comes after it. */
export const nextRows = (spec: ApprovalSpec, status: ApprovalStatus): Row[] => [
  ...previewRows(spec, status).map(([title, text]): Row => [`${title}:`, text && oneLine(text)]),
  ['Next:', isOpenPhase(status.phase) ? status.next : undefined],
];

export const bindingRow = ({ bindingRef }: Pick<ApprovalStatus, 'bindingRef'>): Row => [
  'Binding:',
  bindingRef && `${bindingRef.kind} ${[bindingRef.namespace, bindingRef.name].filter(Boolean).join('/')}`,
];

export const conditionRows = ({ conditions = [] }: Pick<ApprovalStatus, 'conditions'>): Row[] =>
  conditions.map(({ type, lastTransitionTime, reason = '', message = '' }) => [
    `${type}:`,
    [lastTransitionTime, reason, message].filter((text) => text !== undefined && text !== '').join(', '),
  ]);

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

/** In one page: the server bounds the objects of each caller. */
async function listObjects(client: Client, of: Approvable, fieldSelector: string | undefined): Promise<ApiObject[]> {
  const options = { query: { fieldSelector }, expects: 'list' } as const;
  const { value } = await client.request<{ items: ApiObject[] }>('GET', of.path, options);
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
export const granted = (request: ApiObject): string => given(request, 'Approved', accessText(requestSpec(request)));
const allowed = (pass: ApiObject): string => given(pass, 'Ready', accountText(passSpec(pass)));

function given(object: ApiObject, open: string, what: string): string {
  const { cluster, requestedBy } = approvalSpec(object);
  const { phase, expirationTimestamp } = approvalStatus(object);
  return phase === open ? `: ${what} in ${cluster} for ${requestedBy?.username} until ${expirationTimestamp}` : '';
}
