import { Type } from 'typebox';
import { approvalPage } from '../../api/approval-page.ts';
import { MCP_SCOPES } from '../../api/caller.ts';
import { AGENTS_ALLOW } from '../../api/kinds/fleet-role-binding-spec.ts';
import { defined, memberOf } from '../../lib/json.ts';
import { objectOf } from '../api-call.ts';
import { textField } from '../result-fields.ts';
import { closed, complete, fields, tool } from '../tool.ts';

const input = closed({
  cluster: fields.cluster,
  namespace: fields.namespace,
  account: fields.account,
  reason: Type.String({ minLength: 8, maxLength: 200, description: 'Why, for the person who decides. One line.' }),
  durationSeconds: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 2 ** 31, default: 3_600, description: 'For how long after the approval.' }),
  ),
});

const output = Type.Object({
  name: Type.String({ description: 'The name of the access request.' }),
  phase: Type.String(),
  cluster: Type.String(),
  namespace: Type.String(),
  account: Type.String(),
  expires: Type.Optional(fields.time),
  next: Type.String({ description: 'How to go on.' }),
});

const ADVICE = {
  403: 'Only a person who manages the fleet can grant this.',
  422: 'Correct the argument and call the tool again.',
};

/** The binding of an approved request does not say that agents may use it. */
export const FOR_THE_PERSON =
  'An approval is for the person. An agent gets passes only through a FleetRoleBinding with ' +
  `spec.agents: ${AGENTS_ALLOW}.`;

/** An AccessRequest for passes of a service account. People decide about it; an agent cannot. */
export const accessRequest = tool({
  name: 'access_request',
  title: 'Ask for access',
  description:
    'Asks for the right of your person to have passes of a service account, for some time. A person who may approve it ' +
    `decides; nothing is granted at once. ${FOR_THE_PERSON} Call access_explain first: ask only for what is missing.`,
  inputSchema: input,
  outputSchema: output,
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
    return complete(
      defined({
        name,
        phase: textField(memberOf(status, 'phase')) ?? 'Pending',
        cluster,
        namespace,
        account,
        expires: textField(memberOf(status, 'expirationTimestamp')),
        next: `Tell the person that the request waits at ${approvalPage(baseUrl, 'accessrequests', name)}. ${FOR_THE_PERSON} access_explain says whether you may.`,
      }),
    );
  },
});
