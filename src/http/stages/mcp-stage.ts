import { type Agent, MCP_SCOPES } from '../../api/caller.ts';
import { sentBody } from '../../api/request.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { utf8Text } from '../../lib/text.ts';
import { checkMessageHeaders } from '../../mcp/headers.ts';
import {
  errorResponse,
  idOf,
  parseJson,
  RPC_CODES,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
  readMessage,
} from '../../mcp/json-rpc.ts';
import { clientOf, type ToolCall } from '../../mcp/protocol.ts';
import { type ApiCall, type ApiReply, ToolError } from '../../mcp/tool.ts';
import { errorResult, runTool, type ToolResult } from '../../mcp/tool-result.ts';
import { type Exchange, mcpOf } from '../exchange.ts';
import { InsufficientScope, type McpEndpoint } from '../mcp/mcp-endpoint.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import { type Answer, jsonOf, type RawAnswer, rawAnswer } from '../response/respond.ts';
import type { Stage, StageParts } from './stage.ts';
import { answerSubrequest, recordFailure } from './subrequest.ts';

/** A message is short. It is received before it is known what it asks for. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Refuses what can be refused without a credential (MC-11, MC-14). */
export const checkEndpoint: Stage = (x) => {
  const mcp = mcpOf(x);
  x.maxBodyBytes = MAX_MESSAGE_BYTES;
  x.render = mcp.render(x.req.headers.authorization !== undefined);
  x.annotate('clusterpass.dev/surface', 'mcp-http');
  const { origin } = x.req.headers;
  if (origin !== undefined && !mcp.isAllowedOrigin(origin)) {
    throw new ApiError(403, 'Forbidden', 'this Origin is not allowed: see --mcp-allowed-origin');
  }
  if (x.headers.method !== 'POST') throw methodNotAllowed();
  // Agents have passes only through bindings that are marked for them (ADR 39). As another user they would have more.
  if (x.headers.impersonation !== undefined) {
    throw badRequest('/mcp takes no Impersonate-* headers: an agent acts as the user of its token');
  }
  x.deadline.shorten(mcp.callTimeoutMs);
};

/**
 * Answers a message of MCP. A call of a tool is one or several requests of the API by the same caller, which the stages
 * authorize, handle and record like any other: MCP gives nothing that these requests would not give.
 */
export const serveMcp: Stage = async (x, parts) => {
  const mcp = mcpOf(x);
  let value: unknown;
  try {
    value = parseJson(decodedText(sentBody(x.body).bytes));
    const message: RpcMessage = readMessage(value);
    checkMessageHeaders(message, x.req.headers);
    x.answer = message.type === 'notification' ? ACCEPTED : await answerTo(message, x, parts, mcp);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    x.answer = jsonAnswer(400, errorResponse(error, idOf(value)));
  }
};

/** Bytes that are not UTF-8 are refused, not replaced. */
function decodedText(bytes: Uint8Array): string {
  const text = utf8Text(bytes);
  if (text === undefined) throw new RpcError(RPC_CODES.parseError, 'the message is not UTF-8');
  return text;
}

async function answerTo(request: RpcRequest, x: Exchange, parts: StageParts, mcp: McpEndpoint): Promise<RawAnswer> {
  const client = clientOf(request);
  const response = await mcp.protocol(request, client, (call) => callTool(call, x, parts, mcp));
  const isUnknown = 'error' in response && response.error.code === RPC_CODES.methodNotFound;
  // MC-18. A legacy client takes a 404 for a session that has ended.
  return jsonAnswer(isUnknown && client.era === 'modern' ? 404 : 200, response);
}

async function callTool(call: ToolCall, x: Exchange, parts: StageParts, mcp: McpEndpoint): Promise<ToolResult> {
  const { tool, client } = call;
  const { id, scopes = [] } = x.caller.oauthClient ?? {};
  const agent: Agent = { id: id ?? '', name: client.name };
  const annotations = annotationsOf(tool.name, agent);
  for (const [key, text] of annotations) x.annotate(key, text);
  if (tool.scope === MCP_SCOPES.pass && !scopes.includes(tool.scope)) {
    throw new InsufficientScope(tool.name, Object.values(MCP_SCOPES));
  }
  if (tool.name === 'pass_request' && agent.id === '') return errorResult(NO_CLIENT);
  const seconds = mcp.secondsToWait(`${x.caller.flow}\n${agent.id}`, tool.name);
  if (seconds > 0) return errorResult(`Too many calls. Wait ${seconds} s before the next one.`);
  return runTool(tool, call.args, {
    send: (apiCall) => send(apiCall, x, parts, { agent, annotations }),
    productName: mcp.productName,
    baseUrl: mcp.baseUrl(),
    maxResultBytes: mcp.maxResultBytes,
    clientAddress: async () => x.req.socket.remoteAddress,
    clientName: client.name,
    opensUrls: client.opensUrls,
    requestState: call.requestState,
    useOf: async ({ metadata }) => exchangeOf(mcp, metadata.name ?? ''),
  });
}

const NO_CLIENT =
  'The token names no client (claim client_id or azp), so no pass can be given to it. A person who manages the identity ' +
  'provider has to add the claim.';

/** MC-75: the person, or what runs the workload for the person, redeems the pass. */
const exchangeOf = ({ baseUrl }: McpEndpoint, handle: string): string =>
  `Not by the model: the person runs clusterpass credential --pass ${handle}, or a program of the person exchanges it ` +
  `(RFC 8693) at ${baseUrl()}/oauth/token with scope=pass:${handle} and the person's own Clusterpass token.`;

/** A request of the API as a subrequest of this one. `annotations` of the audit event say which call it belongs to. */
async function send(
  { method, path, query = {}, body }: ApiCall,
  x: Exchange,
  parts: StageParts,
  { agent, annotations }: { readonly agent: Agent; readonly annotations: ReadonlyMap<string, string> },
): Promise<ApiReply> {
  // The request has timed out, or its client has left.
  if (!x.deadline.isOpen) throw new ToolError('The call was cancelled.');
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const line = parts.parseRequestLine(method, search.size === 0 ? path : `${path}?${search}`);
  const item = x.subrequest(line.info, body && { value: body });
  item.query = line.query;
  item.checkedHeaders = { ...x.headers, method };
  item.agent = agent;
  for (const [key, text] of annotations) item.annotate(key, text);
  try {
    const { code, value } = readAnswer(await answerSubrequest(item, parts));
    parts.observeSubrequest(item, code);
    return { code, body: value, warnings: item.warningTexts };
  } catch (error) {
    const status = recordFailure(item, parts, error);
    return { code: status.code, body: status, warnings: item.warningTexts };
  }
}

function readAnswer(answer: Answer): { code: number; value: unknown } {
  switch (answer.type) {
    case 'list': {
      const { apiVersion, kind, metadata } = answer;
      const items = answer.items.map((item) => JSON.parse(Buffer.from(item).toString('utf8')) as unknown);
      return { code: 200, value: { apiVersion, kind, metadata, items } };
    }
    case 'json':
    case 'value':
      return { code: answer.code, value: jsonOf(answer) };
    default:
      throw new Error('a tool reads objects and lists only');
  }
}

/** MC-80 */
const annotationsOf = (tool: string, { id, name }: Agent): ReadonlyMap<string, string> =>
  new Map([
    ['clusterpass.dev/surface', 'mcp-http'],
    ['clusterpass.dev/tool', tool],
    ...(id === '' ? [] : [['clusterpass.dev/client', id] as const]),
    ...(name === '' ? [] : [['clusterpass.dev/client-name', name] as const]),
  ]);

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' } as const;

const jsonAnswer = (code: number, response: RpcResponse): RawAnswer =>
  rawAnswer(code, HEADERS, JSON.stringify(response));

/** MC-11 */
const ACCEPTED = rawAnswer(202, HEADERS);
