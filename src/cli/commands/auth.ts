import { type AllowedSubject, allowingObjects } from '../../api/allowing-objects.ts';
import { AUTHENTICATED, MASTERS } from '../../api/caller.ts';
import { toYaml } from '../../api/codec/to-yaml.ts';
import { serviceAccountKind } from '../../api/kinds/core.ts';
import type { GrantedSubject, GrantPath } from '../../api/kinds/grant-reviews.ts';
import { givesPassesOf, givesTexts } from '../../api/reach.ts';
import {
  type ReviewedAction,
  reviewAccess,
  reviewReach,
  reviewResourceAccess,
  reviewSelf,
  reviewSubjectAccess,
  type SubjectAccessReviewStatus,
} from '../../client/access-reviews.ts';
import { type Client, createClient } from '../../client/create-client.ts';
import type { Fetch } from '../../client/transport.ts';
import { terminalSafe } from '../../lib/text.ts';
import { clusterPath } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { clientOptions, connect, resolveConnection } from '../connection/connection.ts';
import { isPrinted, renderTable } from '../output/printer.ts';
import { absenceOf, askedAction, checkCluster, objectPath } from '../resources.ts';
import { parseServiceAccount, type ServiceAccount } from '../service-account.ts';

/** Prints `yes` and exits with 0, or `no` and exits with 1. */
export const canI: Run = async (context, invocation) => {
  const client = await connectAs(context, invocation);
  checkCluster(invocation, client);
  const asked = askedAction(context, invocation, client);
  const status = await reviewAccess(client, invocation.text('cluster'), asked);
  const allowed = status.allowed === true;
  if (!invocation.is('quiet')) {
    const reason = !allowed && status.reason ? ` - ${terminalSafe(status.reason)}` : '';
    const problem = status.evaluationError ? ` - ${terminalSafe(status.evaluationError)}` : '';
    context.out.write(`${allowed ? 'yes' : 'no'}${reason}${problem}\n`);
  }
  return allowed ? 0 : 1;
};

/** The client of the caller, or of the user of `--as`: the server checks the permission to impersonate it. */
async function connectAs(context: Context, invocation: Invocation): Promise<Client> {
  const user = invocation.text('as');
  if (user === undefined) return connect(context, invocation);
  const options = clientOptions(context, await resolveConnection(context, invocation));
  // The bytes of UTF-8, as client-go sends them: Node takes one character for one byte.
  const header = Buffer.from(user).toString('latin1');
  const fetch: Fetch = (input, init) =>
    options.fetch(input, {
      ...init,
      headers: { ...(init?.headers as Record<string, string>), 'Impersonate-User': header },
    });
  return createClient({ ...options, fetch });
}

/** Prints `yes` and the binding behind it, or `no` and the objects that would allow it: a manifest for `apply`. */
export const why: Run = async (context, invocation) => {
  const client = await connect(context, invocation);
  checkCluster(invocation, client);
  const asked = askedAction(context, invocation, client);
  const status = await ask(client, invocation, asked);
  if (status.allowed === true) {
    const why = await whyAllowed(status, () => groupsOf(client, invocation));
    context.out.write(`yes\n${terminalSafe(why)}\n`);
    return 0;
  }
  const reason = terminalSafe(status.reason || status.evaluationError || '');
  const action =
    'nonResourceAttributes' in asked
      ? asked.nonResourceAttributes
      : { ...asked.resourceAttributes, cluster: invocation.text('cluster') };
  const objects = allowingObjects(action, await subjectOf(client, invocation));
  const isWithoutGroups = invocation.text('user') !== undefined && invocation.list('group').length === 0;
  const lines = [
    'no',
    reason === '' ? 'No binding allows it.' : reason,
    ...(isWithoutGroups ? [NO_GROUPS] : []),
    '',
    'These objects would allow it.',
  ];
  const explanation = lines.map((line) => (line === '' ? '\n' : `# ${line}\n`)).join('');
  context.out.write(`${explanation}${objects.map(toYaml).join('---\n')}`);
  return 1;
};

/** The groups of a user are known to the identity provider alone. */
const NO_GROUPS = `--group was not given: bindings of groups other than ${AUTHENTICATED} do not count.`;

const isAboutOthers = (invocation: Invocation): boolean =>
  invocation.text('user') !== undefined || invocation.list('group').length > 0;

function ask(client: Client, invocation: Invocation, asked: ReviewedAction): Promise<SubjectAccessReviewStatus> {
  const cluster = invocation.text('cluster');
  if (!isAboutOthers(invocation)) return reviewAccess(client, cluster, asked);
  const user = invocation.text('user') ?? '';
  return reviewSubjectAccess(client, cluster, { user, groups: namedGroups(invocation), ...asked });
}

const namedGroups = (invocation: Invocation): string[] => [...new Set([...invocation.list('group'), AUTHENTICATED])];

async function groupsOf(client: Client, invocation: Invocation): Promise<readonly string[]> {
  if (isAboutOthers(invocation)) return namedGroups(invocation);
  return (await reviewSelf(client, invocation.text('cluster'))).status?.userInfo?.groups ?? [];
}

/** The user that was asked about, else the first group, else the caller. */
async function subjectOf(client: Client, invocation: Invocation): Promise<AllowedSubject> {
  const user = invocation.text('user');
  if (user !== undefined) return { kind: 'User', name: user };
  const [group] = invocation.list('group');
  if (group !== undefined) return { kind: 'Group', name: group };
  const { status } = await reviewSelf(client, invocation.text('cluster'));
  return { kind: 'User', name: status?.userInfo?.username ?? '' };
}

/** Lists who may do something, with the binding and the role behind each. */
export const whoCan: Run = async (context, invocation) => {
  const { length } = invocation.args;
  const cluster = invocation.text('cluster');
  if (length === 1) throw new CliError('you must specify VERB and TYPE');
  if (length === 0 && cluster === undefined) throw new CliError('you must specify VERB and TYPE, or --cluster');
  const account = accountOf(invocation);
  if (length > 0 && account !== undefined) throw new CliError('--account cannot be combined with VERB and TYPE');
  const client = await connect(context, invocation);
  const asked = length === 0 ? ({ reach: true } as const) : askedAction(context, invocation, client);
  const review = await reviewResourceAccess(client, cluster, asked);
  const status = account === undefined ? review : { ...review, subjects: passHolders(review.subjects ?? [], account) };
  const absentCluster = cluster === undefined ? undefined : await absenceOf(client, clusterPath(cluster));
  // The labels of a cluster decide which bindings hold there: without a cluster the table says nothing.
  if (absentCluster !== undefined) throw absentCluster;
  // Not an error: an account of a cluster that issues its own tokens may be known to that cluster only.
  if (account !== undefined) {
    const path = objectPath(client, serviceAccountKind, { cluster, namespace: account.namespace }, account.name);
    const absentAccount = await absenceOf(client, path);
    if (absentAccount) context.err.write(`Warning: ${terminalSafe(absentAccount.message)}\n`);
  }
  if (await isPrinted(context, invocation, status)) return;
  context.out.write(subjectTable(invocation, status.subjects ?? []));
  if (status.evaluationError) context.err.write(`Warning: ${terminalSafe(status.evaluationError)}\n`);
};

interface ListedSubject extends GrantedSubject {
  readonly cluster?: string;
}

type SubjectColumn = readonly [title: string, cell: (row: ListedSubject) => string | undefined, unset?: string];

const SUBJECT_COLUMNS: readonly SubjectColumn[] = [
  ['CLUSTER', ({ cluster }) => cluster],
  ['KIND', ({ kind = '' }) => kind],
  ['NAME', ({ namespace = '', name = '' }) => (namespace === '' ? name : `${namespace}/${name}`)],
  ['BINDING', ({ binding }) => grantCell(binding)],
  ['ROLE', ({ role }) => grantCell(role)],
  ['UNTIL', ({ expiresAt }) => expiresAt, '<never>'],
  ['ONLY', ({ resourceNames }) => resourceNames?.join(','), '<all>'],
  ['GIVES', (row) => row.gives && givesTexts(row).join('; ')],
];

/** Without the columns that are empty. */
function subjectTable(invocation: Invocation, subjects: readonly ListedSubject[]): string {
  const columns = SUBJECT_COLUMNS.filter(([, cell]) => subjects.some((row) => cell(row) !== undefined));
  const rows = subjects.map((row) => columns.map(([, cell, unset]) => cell(row) ?? unset));
  return renderTable([...(invocation.isOff('headers') ? [] : [columns.map(([title]) => title)]), ...rows]);
}

function accountOf(invocation: Invocation): ServiceAccount | undefined {
  const account = invocation.text('account');
  return account === undefined ? undefined : parseServiceAccount(account, '--account');
}

/** Of all who reach a cluster, those who get passes of the account, with nothing else. */
const passHolders = (subjects: readonly GrantedSubject[], account: ServiceAccount): GrantedSubject[] =>
  subjects
    .map((subject) => ({ ...subject, gives: (subject.gives ?? []).filter((each) => givesPassesOf(account, each)) }))
    .filter(({ gives }) => gives.length > 0);

/** Lists what a user reaches, cluster by cluster. */
export const reach: Run = async (context, invocation) => {
  const user = invocation.args[0] ?? '';
  const groups = namedGroups(invocation);
  const client = await connect(context, invocation);
  const { clusters, evaluationError } = await reviewReach(client, invocation.text('cluster'), { user, groups });
  if (await isPrinted(context, invocation, { user, groups, clusters })) return;
  const rows = clusters.flatMap(({ name, subjects }) => subjects.map((subject) => ({ ...subject, cluster: name })));
  if (rows.length === 0) context.err.write('No clusters found.\n');
  else context.out.write(subjectTable(invocation, rows));
  for (const problem of [evaluationError, invocation.list('group').length === 0 ? NO_GROUPS : '']) {
    if (problem !== '') context.err.write(`Warning: ${terminalSafe(problem)}\n`);
  }
};

/** Prints the table of `kubectl auth whoami`. */
export const whoami: Run = async (context, invocation) => {
  const review = await reviewSelf(await connect(context, invocation), invocation.text('cluster'));
  if (await isPrinted(context, invocation, review)) return;
  const { username = '', uid = '', groups = [], extra = {} } = review.status?.userInfo ?? {};
  const rows = [['ATTRIBUTE', 'VALUE']];
  if (username !== '') rows.push(['Username', username]);
  if (uid !== '') rows.push(['UID', uid]);
  if (groups.length > 0) rows.push(['Groups', `[${groups.join(' ')}]`]);
  for (const [key, values] of Object.entries(extra)) rows.push([`Extra: ${key}`, `[${values.join(' ')}]`]);
  context.out.write(renderTable(rows));
};

/** The binding or the role behind a permission: `RoleBinding/ci/x`. */
function grantCell(reference: GrantPath['role']): string {
  if (reference === undefined) return '<none>';
  const { kind, namespace = '', name } = reference;
  return namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

/**
 * Why an access review allows something to a user with these groups. The server evaluates no rule for members of
 * system:masters, so it gives no reason.
 */
export async function whyAllowed(
  { reason, evaluationError }: SubjectAccessReviewStatus,
  groups: () => Promise<readonly string[]>,
): Promise<string> {
  if (reason || evaluationError) return reason || evaluationError || '';
  return (await groups()).includes(MASTERS)
    ? `members of ${MASTERS} may do everything`
    : 'it is allowed, but no rule is named';
}
