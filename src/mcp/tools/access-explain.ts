import { Type } from 'typebox';
import { MCP_SCOPES } from '../../api/caller.ts';
import { defined, memberOf } from '../../lib/json.ts';
import { type ApiReply, isSuccess, refusal, warningsOf } from '../api-call.ts';
import { textField } from '../result-fields.ts';
import { closed, complete, fields, READS, type ToolContext, tool } from '../tool.ts';
import { FOR_THE_PERSON } from './access-request.ts';
import { reviewOf } from './access-review.ts';
import { PASSES_PATH, type PassArguments, passBody, passDuration } from './pass-object.ts';

const APPROVALS = ['none', 'confirm', 'review'] as const;

const input = closed({
  cluster: fields.cluster,
  namespace: fields.namespace,
  account: fields.account,
  audience: Type.Optional(fields.audience),
  durationSeconds: Type.Optional(passDuration),
});

const output = Type.Object({
  allowed: Type.Boolean({ description: 'Whether a pass would be granted, perhaps after an approval.' }),
  rule: Type.Optional(Type.String({ description: 'The rule that allows it.' })),
  missing: Type.Optional(Type.String({ description: 'What is missing, and what to do about it.' })),
  grantedSeconds: Type.Optional(Type.Integer({ description: 'How long a pass would last.' })),
  approval: Type.Optional(Type.Enum(APPROVALS, { description: 'Who has to approve it.' })),
  warnings: Type.Optional(Type.Array(Type.String())),
});

/** MC-72 */
export const accessExplain = tool({
  name: 'access_explain',
  title: 'Explain access',
  description:
    'Says whether you may have a pass of a service account in a cluster, by which rule, for how long, and what is missing ' +
    'if you may not. A dry run: it changes nothing and issues nothing.',
  inputSchema: input,
  outputSchema: output,
  annotations: READS,
  scope: MCP_SCOPES.read,
  async run({ cluster, namespace, account, audience, durationSeconds }, context) {
    const attributes = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' };
    const review = await reviewOf(context, cluster, { ...attributes, namespace, name: account });
    // A binding that requires a review gives passes and no tokens, so the dry run decides, not the review of access.
    const reply = await tryPass({ cluster, namespace, account, audience, durationSeconds }, context);
    if (reply.code === 403 && !review.allowed && review.reason === undefined) {
      const next = await nextStep(context, cluster, namespace);
      const missing = `No rule lets you create serviceaccounts/token of ${namespace}/${account} in ${cluster}. ${next}`;
      return complete({ allowed: false, missing });
    }
    if (!isSuccess(reply)) return complete({ allowed: false, missing: refusal(reply).message });
    const approval = memberOf(reply.body, 'status', 'approval');
    return complete(
      defined({
        allowed: true,
        rule: bindingOf(reply) ?? (review.allowed ? review.reason : undefined),
        grantedSeconds: grantedSeconds(reply),
        approval: APPROVALS.find((one) => one === approval),
        warnings: warningsOf(reply),
      }),
    );
  },
});

type ExplainArguments = Omit<PassArguments, 'purpose'>;

/** The pass itself, as a dry run: it tells whether an approval is needed. */
function tryPass(args: ExplainArguments, { send, clientName }: ToolContext): Promise<ApiReply> {
  const body = passBody({ ...args, purpose: 'access_explain: a dry run' }, clientName);
  return send({ method: 'POST', path: PASSES_PATH, query: { dryRun: 'All' }, body });
}

/** Whether access can be asked for. */
async function nextStep(context: ToolContext, cluster: string, namespace: string): Promise<string> {
  const attributes = { verb: 'create', group: 'clusterpass.dev', resource: 'accessrequests', namespace };
  const { allowed } = await reviewOf(context, cluster, attributes);
  return allowed
    ? `Ask for it with access_request: a person decides about it. ${FOR_THE_PERSON}`
    : 'You may not ask for it with access_request either: a person who manages the fleet has to grant it.';
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
