import { Type } from 'typebox';
import { approvalPage } from '../../api/approval-page.ts';
import { MCP_SCOPES } from '../../api/caller.ts';
import { AGENTS_ALLOW } from '../../api/kinds/fleet-role-binding.ts';
import type { ResourceAttributes } from '../../api/kinds/reviews.ts';
import { defined, memberOf } from '../../lib/json.ts';
import {
  type ApiReply,
  closed,
  fields,
  isSuccess,
  objectOf,
  READS,
  refusal,
  type ToolContext,
  textField,
  tool,
  warningsOf,
} from '../tool.ts';
import { PASSES_PATH, type PassArguments, passBody, passDuration } from './passes.ts';

/** A SelfSubjectAccessReview in a cluster, or (undefined) at the fleet. */
export async function reviewOf(
  { send, productName }: ToolContext,
  cluster: string | undefined,
  resourceAttributes: ResourceAttributes,
): Promise<{ readonly allowed: boolean; readonly reason: string | undefined }> {
  const prefix = cluster === undefined ? '' : `/${productName}/${cluster}`;
  const reply = await send({
    method: 'POST',
    path: `${prefix}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    },
  });
  const { status } = objectOf(reply);
  return { allowed: memberOf(status, 'allowed') === true, reason: textField(memberOf(status, 'reason')) };
}

const APPROVALS = ['none', 'confirm', 'review'] as const;

/** MC-72 */
export const accessExplain = tool({
  name: 'access_explain',
  title: 'Explain access',
  description:
    'Says whether you may have a pass of a service account in a cluster, by which rule, for how long, and what is missing ' +
    'if you may not. A dry run: it changes nothing and issues nothing.',
  inputSchema: closed({
    cluster: fields.cluster,
    namespace: fields.namespace,
    account: fields.account,
    audience: Type.Optional(fields.audience),
    durationSeconds: Type.Optional(passDuration),
  }),
  outputSchema: Type.Object({
    allowed: Type.Boolean({ description: 'Whether a pass would be granted, perhaps after an approval.' }),
    rule: Type.Optional(Type.String({ description: 'The rule that allows it.' })),
    missing: Type.Optional(Type.String({ description: 'What is missing, and what to do about it.' })),
    grantedSeconds: Type.Optional(Type.Integer({ description: 'How long a pass would last.' })),
    approval: Type.Optional(Type.Enum(APPROVALS, { description: 'Who has to approve it.' })),
    warnings: Type.Optional(Type.Array(Type.String())),
  }),
  annotations: READS,
  scope: MCP_SCOPES.read,
  async run({ cluster, namespace, account, audience, durationSeconds }, context) {
    const attributes = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' };
    const review = await reviewOf(context, cluster, { ...attributes, namespace, name: account });
    // A binding that requires a review gives passes and no tokens, so the dry run decides, not the review of access.
    const reply = await tryPass({ cluster, namespace, account, audience, durationSeconds }, context);
    if (reply.code === 403 && !review.allowed && review.reason === undefined) {
      const missing = `No rule lets you create serviceaccounts/token of ${namespace}/${account} in ${cluster}.`;
      return { allowed: false, missing: `${missing} Ask for it with access_request. ${FOR_THE_PERSON}` };
    }
    if (!isSuccess(reply)) return { allowed: false, missing: refusal(reply).message };
    const approval = memberOf(reply.body, 'status', 'approval');
    return defined({
      allowed: true,
      rule: bindingOf(reply) ?? (review.allowed ? review.reason : undefined),
      grantedSeconds: grantedSeconds(reply),
      approval: APPROVALS.find((one) => one === approval),
      warnings: warningsOf(reply),
    });
  },
});

type ExplainArguments = Omit<PassArguments, 'purpose'>;

/** The pass itself, as a dry run: it tells whether an approval is needed. */
function tryPass(args: ExplainArguments, { send, clientName }: ToolContext): Promise<ApiReply> {
  const body = passBody({ ...args, purpose: 'access_explain: a dry run' }, clientName);
  return send({ method: 'POST', path: PASSES_PATH, query: { dryRun: 'All' }, body });
}

function grantedSeconds({ body }: ApiReply): number | undefined {
  const seconds = memberOf(body, 'spec', 'durationSeconds');
  return Number.isSafeInteger(seconds) ? (seconds as number) : undefined;
}

/** The binding that gives the pass: for an agent it can be another than the one that gives the permission. */
function bindingOf({ body }: ApiReply): string | undefined {
  const binding = memberOf(body, 'status', 'bindingRef');
  const [kind, name] = [textField(memberOf(binding, 'kind')), textField(memberOf(binding, 'name'))];
  return kind === undefined || name === undefined ? undefined : `RBAC: allowed by ${kind} "${name}"`;
}

const ADVICE = {
  403: 'Only a person who manages the fleet can grant this.',
  422: 'Correct the argument and call the tool again.',
};

/** The binding of an approved request does not say that agents may use it. */
const FOR_THE_PERSON =
  'An approval is for the person. An agent gets passes only through a FleetRoleBinding with ' +
  `spec.agents: ${AGENTS_ALLOW}.`;

/** An AccessRequest for passes of a service account. People decide about it; an agent cannot. */
export const accessRequest = tool({
  name: 'access_request',
  title: 'Ask for access',
  description:
    'Asks for the right of your person to have passes of a service account, for some time. A person who may approve it ' +
    `decides; nothing is granted at once. ${FOR_THE_PERSON} Call access_explain first: ask only for what is missing.`,
  inputSchema: closed({
    cluster: fields.cluster,
    namespace: fields.namespace,
    account: fields.account,
    reason: Type.String({ minLength: 8, maxLength: 200, description: 'Why, for the person who decides. One line.' }),
    durationSeconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 2 ** 31, default: 3_600, description: 'For how long after the approval.' }),
    ),
  }),
  outputSchema: Type.Object({
    name: Type.String({ description: 'The name of the access request.' }),
    phase: Type.String(),
    cluster: Type.String(),
    namespace: Type.String(),
    account: Type.String(),
    expires: Type.Optional(fields.time),
    next: Type.String({ description: 'How to go on.' }),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  scope: MCP_SCOPES.pass,
  async run({ cluster, namespace, account, reason, durationSeconds }, { baseUrl, send }) {
    const serviceAccount = { namespace, name: account };
    const reply = await send({
      method: 'POST',
      path: '/apis/clusterpass.dev/v1alpha1/accessrequests',
      query: { fieldManager: 'clusterpass-mcp' },
      body: {
        apiVersion: 'clusterpass.dev/v1alpha1',
        kind: 'AccessRequest',
        metadata: { generateName: 'agent-' },
        spec: { cluster, serviceAccount, reason, durationSeconds },
      },
    });
    const { metadata, status } = objectOf(reply, ADVICE);
    const name = textField(memberOf(metadata, 'name')) ?? '';
    return defined({
      name,
      phase: textField(memberOf(status, 'phase')) ?? 'Pending',
      cluster,
      namespace,
      account,
      expires: textField(memberOf(status, 'expirationTimestamp')),
      next: `Tell the person that the request waits at ${approvalPage(baseUrl, 'accessrequests', name)}. ${FOR_THE_PERSON} access_explain says whether you may.`,
    });
  },
});
