import type { ApiObject } from '../../api/kind.ts';
import { type Client, createClient } from '../../client/create-client.ts';
import { ConnectionError, StatusError } from '../../client/errors.ts';
import type { Fetch } from '../../client/transport.ts';
import { cleanText } from '../../lib/text.ts';
import { stdioHeaders } from '../../mcp/headers.ts';
import { createProtocol, type ToolCall } from '../../mcp/protocol.ts';
import { type Send, ToolError } from '../../mcp/tool.ts';
import { errorResult, runTool, type ToolResult } from '../../mcp/tool-result.ts';
import { READ_ONLY_TOOLS, TOOLS } from '../../mcp/tools.ts';
import { CliError, type Context, type Invocation, type Run, UsageError } from '../command.ts';
import { type Connection, clientOptions, resolveConnection } from '../connection/connection.ts';
import { codeChallengeFor } from '../connection/machine-key.ts';
import { describeError, failureText } from '../describe-error.ts';
import { localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { forgetPass, writePassKubeconfig } from '../kubeconfig/pass-kubeconfig.ts';
import { serveStdio } from '../mcp/stdio-server.ts';

const MAX_MESSAGE = 512;

/** Serves MCP on stdin and stdout, with the login of the person. */
export const run: Run = async (context, invocation) => {
  const bounds = boundsOf(invocation);
  if (invocation.text('tokenFile') === '-') throw new CliError('--token-file - cannot be used: stdin has the messages');
  if (context.stdin === undefined) throw new CliError('there is no stdin to read messages from');
  const connection = await resolveConnection(context, invocation);
  const options = clientOptions(context, connection);
  const userAgent = `clusterpass-mcp/${context.version}`;
  const tools = invocation.is('readOnly') ? READ_ONLY_TOOLS : TOOLS;
  await serveStdio({
    input: context.stdin(),
    write: (line) => context.out.write(line),
    protocol: createProtocol(context.version, tools),
    callTool: (call, signal) => {
      const headers = stdioHeaders(call.tool.name, call.client.name);
      const client = createClient({ ...options, userAgent, fetch: withHeaders(options.fetch, headers) });
      return callTool({ context, connection, client, bounds }, call, signal);
    },
    // Standard error is for logs. The answer says nothing on purpose.
    onError: (error) => context.err.write(`${failureText(error)}\n`),
  });
};

/** The largest result and the longest call (MC-78). */
function boundsOf(invocation: Invocation) {
  const maxResultBytes = invocation.number('maxResultBytes');
  if (maxResultBytes < 8_192 || maxResultBytes > 1_048_576) {
    throw new UsageError('--max-result-bytes: expected a whole number from 8192 to 1048576');
  }
  const callSeconds = invocation.seconds('callTimeout');
  if (callSeconds === undefined || callSeconds > 300) {
    throw new UsageError('--call-timeout: expected a duration from 1s to 5m');
  }
  return { maxResultBytes, callSeconds };
}

const withHeaders =
  (fetch: Fetch, headers: Readonly<Record<string, string>>): Fetch =>
  (input, init) =>
    fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } });

/** One call of a tool. */
interface Session {
  readonly context: Context;
  readonly connection: Connection;
  readonly client: Client;
  readonly bounds: ReturnType<typeof boundsOf>;
}

async function callTool(session: Session, call: ToolCall, cancelled: AbortSignal): Promise<ToolResult> {
  const { client, connection, bounds } = session;
  const timeout = AbortSignal.timeout(bounds.callSeconds * 1_000);
  const signal = AbortSignal.any([cancelled, timeout]);
  try {
    return await runTool(call.tool, call.args, {
      send: sendBy(client, signal),
      productName: client.productName,
      baseUrl: connection.server,
      clientAddress: () => localAddressTo(connection.server),
      clientName: call.client.name,
      opensUrls: call.client.opensUrls,
      requestState: call.requestState,
      maxResultBytes: bounds.maxResultBytes,
      codeChallenge: () => codeChallengeOf(session),
      useOf: (pass) => kubeconfigOf(session, pass),
      onRevoked: (handle) => forgetPass(session.context, connection.server, handle),
    });
  } catch (error) {
    if (timeout.aborted)
      return errorResult(`The call took longer than ${bounds.callSeconds} s. Try again, or ask for less.`);
    throw error;
  }
}

/** Binds the pass to this machine. If the key of the machine cannot be stored, a person has to act. */
const codeChallengeOf = ({ context, connection }: Session): Promise<string> =>
  codeChallengeFor(context, connection.server).catch((error: unknown) => {
    throw error instanceof CliError ? toolErrorOf(error) : error;
  });

/** MC-75: the path of a kubeconfig whose exec plugin redeems the pass, with the login of the person. */
async function kubeconfigOf({ context, connection, client }: Session, pass: ApiObject): Promise<string> {
  try {
    return `KUBECONFIG=${await writePassKubeconfig(context, connection, client, pass)}`;
  } catch (error) {
    // The pass exists. Only its kubeconfig could not be written.
    if (!(error instanceof CliError)) throw error;
    return `${cleanText(error.message, MAX_MESSAGE)}; clusterpass credential --pass ${pass.metadata.name} redeems it`;
  }
}

/** Every answer of the server is a reply, errors too. */
const sendBy =
  (client: Client, signal: AbortSignal): Send =>
  async ({ method, path, query = {}, body }) => {
    try {
      const { code, value, warnings } = await client.request(method, path, { query, body, signal });
      return { code, body: value, warnings };
    } catch (error) {
      if (error instanceof StatusError) return { code: error.code, body: error.status, warnings: error.warnings };
      // A person has to act: sign in again, or start the server.
      throw error instanceof CliError || error instanceof ConnectionError ? toolErrorOf(error) : error;
    }
  };

const toolErrorOf = (error: Error): ToolError =>
  new ToolError(`Tell the person: ${cleanText(describeError(error) ?? error.message, MAX_MESSAGE)}`);
