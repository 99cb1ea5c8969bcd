import { type AllowedSubject, allowingObjects } from '../../api/allowing-objects.ts';
import { AUTHENTICATED } from '../../api/caller.ts';
import { toYaml } from '../../api/codec/to-yaml.ts';
import {
  reviewAccess,
  reviewSelf,
  reviewSubjectAccess,
  type SubjectAccessReviewStatus,
} from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Invocation, Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { type AskedAction, askedAction, checkCluster } from '../resource-attributes.ts';
import { whyAllowed } from '../why-allowed.ts';

/** Prints `yes` and the binding behind it, or `no` and the objects that would allow it: a manifest for `apply`. */
export const run: Run = async (context, invocation) => {
  const [verb = '', type = '', name] = invocation.args;
  const client = await connect(context, invocation);
  checkCluster(invocation, client, type);
  const asked = askedAction(context, invocation, client, verb, type, name);
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

function ask(client: Client, invocation: Invocation, asked: AskedAction): Promise<SubjectAccessReviewStatus> {
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
