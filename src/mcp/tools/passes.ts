import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from 'typebox';
import { approvalPage } from '../../api/approval-page.ts';
import { MCP_SCOPES } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import {
  HANDLE_PATTERN,
  isHandle,
  MAX_PASS_SECONDS,
  MAX_PURPOSE,
  MIN_PASS_SECONDS,
  MIN_PURPOSE,
  passAccount,
  passSpec,
  passStatus,
} from '../../api/kinds/pass-spec.ts';
import { defined, memberOf } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import {
  type ApiReply,
  closed,
  cursorOf,
  DEFAULT_LIMIT,
  fields,
  InputRequired,
  isSuccess,
  listOf,
  objectOf,
  READS,
  type Send,
  type ToolContext,
  ToolError,
  textField,
  tool,
  warningsOf,
} from '../tool.ts';

/** The Pass of the API, as tools show it. */

export const PASSES_PATH = '/apis/clusterpass.dev/v1alpha1/passes';
export const handle = Type.String({ pattern: HANDLE_PATTERN, description: 'The handle of a pass.' });
export const passDuration = Type.Integer({
  minimum: MIN_PASS_SECONDS,
  maximum: MAX_PASS_SECONDS,
  description: 'As short as the work allows.',
});

const passProperties = {
  handle,
  state: Type.Enum(['ready', 'pending', 'denied', 'ended']),
  expires: fields.time,
  cluster: Type.String(),
  namespace: Type.String(),
  account: Type.String(),
} as const;

export const use = Type.String({ description: 'How the pass is used, as soon as it is ready.' });

const PassSchema = Type.Object(passProperties);

export interface PassArguments {
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
  readonly audience?: string | undefined;
  readonly durationSeconds?: number | undefined;
  readonly purpose: string;
}

/** The member `client` marks the pass as one of an agent, also where no verified client is known (stdio). */
export const passBody = (
  { cluster, namespace, account, audience, durationSeconds, purpose }: PassArguments,
  clientName: string,
  codeChallenge?: string,
): object => ({
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind: 'Pass',
  metadata: {},
  spec: defined({
    cluster,
    serviceAccount: { namespace, name: account },
    audiences: audience === undefined ? undefined : [audience],
    durationSeconds,
    purpose,
    codeChallenge,
    client: { name: clientName },
  }),
});

const STATES = { Ready: 'ready', Pending: 'pending', Denied: 'denied', Ended: 'ended' } as const;

type PassView = Static<typeof PassSchema>;
type UsablePass = PassView & { readonly use: string };

function passView(pass: ApiObject): PassView {
  const { cluster, namespace, name } = passAccount(passSpec(pass));
  const { phase, expirationTimestamp } = passStatus(pass);
  return {
    handle: textField(pass.metadata.name) ?? '',
    state: STATES[phase as keyof typeof STATES] ?? 'ended',
    expires: textField(expirationTimestamp) ?? '',
    cluster: textField(cluster) ?? '',
    namespace: textField(namespace) ?? '',
    account: textField(name) ?? '',
  };
}

/** Whether the pass is the one that was asked for. The server chooses the duration if none is given. */
function isPassFor(pass: ApiObject, args: PassArguments): boolean {
  const { cluster, namespace, account, audience, durationSeconds, purpose } = args;
  const spec = passSpec(pass);
  return (
    isDeepStrictEqual(passAccount(spec), { cluster, namespace, name: account }) &&
    spec.purpose === purpose &&
    (durationSeconds === undefined || spec.durationSeconds === durationSeconds) &&
    isDeepStrictEqual(spec.audiences ?? [], audience === undefined ? [] : [audience])
  );
}

/** The passes that the caller has requested. A permission of the person for the passes of others is not for agents. */
async function ownOf(passes: readonly ApiObject[], send: Send): Promise<ApiObject[]> {
  const name = passes.length === 0 ? undefined : await nameOfCaller(send);
  return name === undefined ? [] : passes.filter((pass) => requestersOf(pass).includes(name));
}

async function nameOfCaller(send: Send): Promise<unknown> {
  const apiVersion = 'authentication.k8s.io/v1';
  const body = { apiVersion, kind: 'SelfSubjectReview' };
  const { status } = objectOf(await send({ method: 'POST', path: `/apis/${apiVersion}/selfsubjectreviews`, body }));
  return memberOf(status, 'userInfo', 'username');
}

/** In its own cluster an account has another name; the one at the fleet is then in `actors`. */
function requestersOf(pass: ApiObject): unknown[] {
  const { username, actors = [] } = passSpec(pass).requestedBy ?? {};
  return [username, ...actors];
}

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
  inputSchema: closed({
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
  }),
  outputSchema: Type.Object({
    ...passProperties,
    use: Type.Optional(use),
    approveUrl: Type.Optional(Type.String({ format: 'uri', description: 'Where a person approves it.' })),
    next: Type.Optional(Type.String({ description: 'How to go on.' })),
  }),
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

async function outcomeOf(pass: ApiObject, args: PassArguments, context: ToolContext): Promise<UsablePass> {
  const view = passView(pass);
  // It becomes a part of an address, of a command, and of what the model reads.
  if (!isHandle(view.handle)) throw new ToolError('The server did not answer with a pass.');
  switch (view.state) {
    case 'ready':
      return { ...view, use: await context.useOf(pass) };
    case 'pending':
      return pending(view, args, pass, context);
    case 'denied':
      throw new ToolError('The pass was denied. Do not ask for the same again: tell the person, and go on without it.');
    case 'ended':
      throw new ToolError('The pass has ended. Call pass_request again if it is still needed.');
  }
}

async function pending(
  view: PassView,
  args: PassArguments,
  pass: ApiObject,
  { baseUrl, opensUrls, useOf }: ToolContext,
): Promise<UsablePass> {
  const approveUrl = approvalPage(baseUrl, 'passes', view.handle);
  const { approval } = passStatus(pass);
  const who = approval === 'review' ? 'Another person who may approve it' : 'The person whose sign-in is used';
  if (opensUrls && approval !== 'review') {
    const { cluster, namespace, account } = view;
    const purpose = cleanText(args.purpose, MAX_PURPOSE);
    const message = `Approve a pass of ${namespace}/${account} in ${cluster}? ${clientOf(pass)}Purpose: ${purpose}`;
    throw new InputRequired({ message, url: approveUrl, state: view.handle });
  }
  return defined({
    ...view,
    use: await useOf(pass),
    approveUrl,
    next:
      `${who} has to approve it there before ${view.expires}. Call pass_list until it is ready, then use it as \`use\` ` +
      'says. Do not request it again.',
  });
}

/** The client as the server knows it, and apart from it the name that it gives itself. */
function clientOf(pass: ApiObject): string {
  const { client = {} } = passSpec(pass);
  const [id, name] = [textField(client.id), textField(client.name)];
  if (id === undefined) return '';
  return `Client: ${id}${name === undefined ? '' : `, which calls itself ${JSON.stringify(name)}`}. `;
}

/** MC-73 */
export const passList = tool({
  name: 'pass_list',
  title: 'List passes',
  description:
    'Lists your passes: their state (ready, pending, denied, ended), when they end, how those that are ready are used, ' +
    'and the ids of the tokens that they were redeemed for. Never a token. A page can have fewer than the limit: follow the cursor.',
  inputSchema: closed({
    cluster: Type.Optional(fields.cluster),
    limit: Type.Optional(fields.limit),
    cursor: Type.Optional(fields.cursor),
  }),
  outputSchema: Type.Object({
    passes: Type.Array(
      Type.Object({
        ...passProperties,
        purpose: Type.Optional(Type.String()),
        use: Type.Optional(use),
        tokens: Type.Array(Type.Object({ id: Type.String(), expires: Type.Optional(fields.time) })),
      }),
    ),
    cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one.' })),
  }),
  annotations: READS,
  scope: MCP_SCOPES.read,
  async run({ cluster, limit = DEFAULT_LIMIT, cursor }, { send, useOf }) {
    const fieldSelector = cluster === undefined ? undefined : `spec.cluster=${cluster}`;
    const query = defined({ limit, fieldSelector, continue: cursor });
    const { items, metadata } = listOf(await send({ method: 'GET', path: PASSES_PATH, query }));
    // A reviewer sees the passes of others. Their purposes are texts for people, so no model gets them (MC-79).
    const own = await ownOf(items, send);
    const shown = await Promise.all(own.map((pass) => listed(pass, useOf)));
    return defined({ passes: shown, cursor: cursorOf(metadata) });
  },
});

async function listed(pass: ApiObject, useOf: ToolContext['useOf']) {
  const view = passView(pass);
  const isUsable = view.state === 'ready' && isHandle(view.handle);
  return defined({
    ...view,
    purpose: textField(passSpec(pass).purpose),
    use: isUsable ? await useOf(pass) : undefined,
    tokens: (passStatus(pass).tokens ?? []).map(({ id = '', expirationTimestamp }) =>
      defined({ id: cleanText(id), expires: textField(expirationTimestamp) }),
    ),
  });
}

/**
 * Not a success, also for a call that is repeated: revoked passes leave no trace, so the handle may be wrong, and
 * the pass that was meant still usable.
 */
const NO_SUCH_PASS =
  'You have no such pass: it has ended, was revoked before, or was never yours. Nothing was revoked.';
const isAbsent = ({ code }: ApiReply): boolean => code === 403 || code === 404;

/** MC-76 */
export const passRevoke = tool({
  name: 'pass_revoke',
  title: 'Revoke a pass',
  description:
    'Ends a pass, and revokes every token that was redeemed with it. Call it as soon as a pass is no longer needed. A ' +
    'cluster that does not ask Clusterpass accepts a token until it expires.',
  inputSchema: closed({ handle }),
  outputSchema: Type.Object({
    handle,
    revokedTokens: Type.Integer({
      minimum: 0,
      description: 'How many tokens of Clusterpass were redeemed with it and are revoked now.',
    }),
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'Where tokens are accepted in spite of it, and until when.' }),
    ),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  scope: MCP_SCOPES.pass,
  async run({ handle: name }, { send, onRevoked }) {
    const path = `${PASSES_PATH}/${name}`;
    const found = await send({ method: 'GET', path });
    if (isAbsent(found)) throw new ToolError(NO_SUCH_PASS);
    const pass = objectOf(found) as unknown as ApiObject;
    if ((await ownOf([pass], send)).length === 0) throw new ToolError(NO_SUCH_PASS);
    const { tokens = [] } = passStatus(pass);
    const reply = await send({ method: 'DELETE', path });
    if (isAbsent(reply)) throw new ToolError(NO_SUCH_PASS);
    objectOf(reply);
    await onRevoked?.(name);
    const revokedTokens = tokens.filter(({ revocable }) => revocable !== false).length;
    return defined({ handle: name, revokedTokens, warnings: warningsOf(reply) });
  },
});
