import { Type } from 'typebox';
import { approvalPage } from '../../api/approval-page.ts';
import { MCP_SCOPES } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import { isHandle, MAX_PURPOSE, MIN_PURPOSE, passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { defined } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { isSuccess, objectOf, ToolError } from '../api-call.ts';
import { textField } from '../result-fields.ts';
import { closed, complete, fields, type ToolContext, type ToolOutcome, tool } from '../tool.ts';
import {
  isPassFor,
  PASSES_PATH,
  type PassArguments,
  passBody,
  passDuration,
  passProperties,
  passView,
  use,
} from './pass-object.ts';

const input = closed({
  cluster: fields.cluster,
  namespace: fields.namespace,
  account: fields.account,
  audience: Type.Optional(fields.audience),
  durationSeconds: Type.Optional(passDuration),
  purpose: Type.String({
    minLength: MIN_PURPOSE,
    maxLength: MAX_PURPOSE,
    description: 'Why, for the audit log and for the person who approves. One line.',
  }),
});

const output = Type.Object({
  ...passProperties,
  use: Type.Optional(use),
  approveUrl: Type.Optional(Type.String({ format: 'uri', description: 'Where a person approves it.' })),
  next: Type.Optional(Type.String({ description: 'How to go on.' })),
});

const ADVICE = {
  403: 'Call access_explain: it says what is missing.',
  404: 'Call cluster_describe for the accounts of the cluster.',
  422: 'Correct the argument and call the tool again.',
};

/** MC-74, MC-92. No token exists until the pass is redeemed, and the model does not redeem it. */
export const passRequest = tool({
  name: 'pass_request',
  title: 'Request a pass',
  description:
    'Requests a pass: access as one service account to one cluster, for one purpose, at most 15 minutes. Returns a handle, ' +
    'never a token. The handle is of use only with the sign-in of the person who requested it. If a person has to ' +
    'approve it, the state is pending for at most 10 minutes: give the person the approveUrl, then call pass_list until it ' +
    'is ready, and use it as `use` says. If it needs an approval, the same arguments give the same handle until it is ' +
    'used; after that they request another pass, which needs another approval. Otherwise each call requests another pass.',
  inputSchema: input,
  outputSchema: output,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  scope: MCP_SCOPES.pass,
  async run(args, context) {
    const waitedFor = await retried(args, context);
    if (waitedFor === undefined) return outcomeOf(await created(args, context), args, context);
    // Once a call. A client that cannot ask a person answers at once: asked again, it would use up its calls.
    return outcomeOf(waitedFor, args, { ...context, opensUrls: false });
  },
});

async function created(args: PassArguments, { send, clientName, codeChallenge }: ToolContext): Promise<ApiObject> {
  const body = passBody(args, clientName, await codeChallenge?.());
  return objectOf(await send({ method: 'POST', path: PASSES_PATH, body }), ADVICE) as unknown as ApiObject;
}

/**
 * The pass that the client waits for. The state is the handle and nothing else: it is looked up as the caller, and must
 * be for what is asked now, so a client gains nothing by changing it (MC-51).
 */
async function retried(args: PassArguments, { send, requestState }: ToolContext): Promise<ApiObject | undefined> {
  if (requestState === undefined || !isHandle(requestState)) return undefined;
  const reply = await send({ method: 'GET', path: `${PASSES_PATH}/${requestState}` });
  return isSuccess(reply) && isPassFor(reply.body as ApiObject, args) ? (reply.body as ApiObject) : undefined;
}

async function outcomeOf(
  pass: ApiObject,
  args: PassArguments,
  context: ToolContext,
): Promise<ToolOutcome<ReturnType<typeof passView>>> {
  const view = passView(pass);
  // It becomes a part of an address, of a command, and of what the model reads.
  if (!isHandle(view.handle)) throw new ToolError('The server did not answer with a pass.');
  switch (view.state) {
    case 'ready':
      return complete({ ...view, use: await context.useOf(pass) });
    case 'pending':
      return pending(view, args, pass, context);
    case 'denied':
      throw new ToolError('The pass was denied. Do not ask for the same again: tell the person, and go on without it.');
    case 'ended':
      throw new ToolError('The pass has ended. Call pass_request again if it is still needed.');
  }
}

async function pending(
  view: ReturnType<typeof passView>,
  args: PassArguments,
  pass: ApiObject,
  { baseUrl, opensUrls, useOf }: ToolContext,
): Promise<ToolOutcome<ReturnType<typeof passView>>> {
  const approveUrl = approvalPage(baseUrl, 'passes', view.handle);
  const { approval } = passStatus(pass);
  const who = approval === 'review' ? 'Another person who may approve it' : 'The person whose sign-in is used';
  if (opensUrls && approval !== 'review') {
    const { cluster, namespace, account } = view;
    const purpose = cleanText(args.purpose, MAX_PURPOSE);
    const message = `Approve a pass of ${namespace}/${account} in ${cluster}? ${clientOf(pass)}Purpose: ${purpose}`;
    return { type: 'input', message, url: approveUrl, state: view.handle };
  }
  return complete(
    defined({
      ...view,
      use: await useOf(pass),
      approveUrl,
      next:
        `${who} has to approve it there before ${view.expires}. Call pass_list until it is ready, then use it as \`use\` ` +
        'says. Do not request it again.',
    }),
  );
}

/** The client as the server knows it, and apart from it the name that it gives itself. */
function clientOf(pass: ApiObject): string {
  const { client = {} } = passSpec(pass);
  const [id, name] = [textField(client.id), textField(client.name)];
  if (id === undefined) return '';
  return `Client: ${id}${name === undefined ? '' : `, which calls itself ${JSON.stringify(name)}`}. `;
}
