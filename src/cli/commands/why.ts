import { createHash } from 'node:crypto';
import { AUTHENTICATED } from '../../api/caller.ts';
import { toYaml } from '../../api/codec/to-yaml.ts';
import {
  type ResourceAttributes,
  reviewAccess,
  reviewSelf,
  reviewSubjectAccess,
  type SubjectAccessReviewStatus,
} from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import type { Invocation, Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { namePart } from '../name-part.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { attributesOf, checkCluster } from '../resource-attributes.ts';

/** Prints `yes` and the binding behind it, or `no` and the objects that would allow it: a manifest for `apply`. */
export const run: Run = async (context, invocation) => {
  const [verb = '', type = '', name] = invocation.args;
  const client = await connect(context, invocation);
  const cluster = invocation.text('cluster');
  checkCluster(invocation, client, type);
  const resourceAttributes = attributesOf(context, invocation, client, verb, type, name);
  const status = await ask(client, invocation, resourceAttributes);
  const reason = terminalSafe(status.reason || status.evaluationError || '');
  if (status.allowed === true) {
    context.out.write(`yes\n${reason === '' ? 'The group system:masters may do everything.' : reason}\n`);
    return 0;
  }
  const subject = await subjectOf(client, invocation);
  const documents = manifestOf(resourceAttributes, cluster, subject).map((object) => toYaml(object));
  const isWithoutGroups = invocation.text('user') !== undefined && invocation.list('group').length === 0;
  const lines = [
    'no',
    reason === '' ? 'No binding allows it.' : reason,
    ...(isWithoutGroups ? [NO_GROUPS] : []),
    '',
    'These objects would allow it.',
  ];
  const explanation = lines.map((line) => (line === '' ? '\n' : `# ${line}\n`)).join('');
  context.out.write(`${explanation}${documents.join('---\n')}`);
  return 1;
};

/** The groups of a user are known to the identity provider alone. */
const NO_GROUPS = `--group was not given: bindings of groups other than ${AUTHENTICATED} do not count.`;

const isAboutOthers = (invocation: Invocation): boolean =>
  invocation.text('user') !== undefined || invocation.list('group').length > 0;

function ask(client: Client, invocation: Invocation, asked: ResourceAttributes): Promise<SubjectAccessReviewStatus> {
  const cluster = invocation.text('cluster');
  if (!isAboutOthers(invocation)) return reviewAccess(client, cluster, { resourceAttributes: asked });
  const user = invocation.text('user') ?? '';
  const groups = [...new Set([...invocation.list('group'), AUTHENTICATED])];
  return reviewSubjectAccess(client, cluster, { user, groups, resourceAttributes: asked });
}

interface SubjectReference {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** The user that was asked about, else the first group, else the caller. */
async function subjectOf(client: Client, invocation: Invocation): Promise<SubjectReference> {
  const user = invocation.text('user');
  if (user !== undefined) return { kind: 'User', name: user };
  const [group] = invocation.list('group');
  if (group !== undefined) return { kind: 'Group', name: group };
  const { status } = await reviewSelf(client, invocation.text('cluster'));
  return { kind: 'User', name: status?.userInfo?.username ?? '' };
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** A role and a binding that allow this to the subject, and nothing else. */
function manifestOf(asked: ResourceAttributes, pathCluster: string | undefined, subject: SubjectReference): object[] {
  const { verb, group = '', resource, subresource, namespace, name } = asked;
  // A Cluster object belongs to the cluster that it describes.
  const cluster = pathCluster ?? (group === 'clusterregistry.k8s.io' && resource === 'clusters' ? name : undefined);
  const rule = {
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    ...(name === undefined ? {} : { resourceNames: [name] }),
    verbs: [verb],
  };
  const action = [verb, resource, subresource, name];
  const roleName = nameFor(action, rule);
  const roleKind = namespace === undefined ? 'ClusterRole' : 'Role';
  const scope = namespace === undefined ? {} : { namespace };
  const clusters = { 'clusterpass.dev/clusters': `kubernetes.io/metadata.name=${cluster}` };
  return [
    { apiVersion: `${RBAC_GROUP}/v1`, kind: roleKind, metadata: { name: roleName, ...scope }, rules: [rule] },
    {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: `${roleKind}Binding`,
      metadata: {
        name: nameFor([...action, subject.name, cluster], [rule, subject, cluster]),
        ...scope,
        ...(cluster === undefined ? {} : { annotations: clusters }),
      },
      subjects: [{ apiGroup: RBAC_GROUP, ...subject }],
      roleRef: { apiGroup: RBAC_GROUP, kind: roleKind, name: roleName },
    },
  ];
}

const MAX_WORDS_LENGTH = 119;

/** The words are for readers. The hash keeps an object from replacing another one whose words are the same. */
function nameFor(words: readonly (string | undefined)[], identity: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 8);
  return `${namePart(words.join(' '), MAX_WORDS_LENGTH) || 'any'}-${hash}`;
}
