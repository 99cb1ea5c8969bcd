import { utf8Text } from '../../lib/text.ts';
import {
  errorResponse,
  idOf,
  parseJson,
  type RequestId,
  RPC_CODES,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
  readMessage,
} from '../../mcp/json-rpc.ts';
import { clientOf, initializedName, type Protocol, type ToolCall } from '../../mcp/protocol.ts';
import type { ToolResult } from '../../mcp/tool-result.ts';

export interface StdioServerParts {
  readonly input: AsyncIterable<Uint8Array>;
  /** Gets whole lines: one message each. */
  readonly write: (line: string) => void;
  readonly protocol: Protocol;
  /** The signal is aborted when the client cancels the call. */
  readonly callTool: (call: ToolCall, signal: AbortSignal) => Promise<ToolResult>;
  /** Gets errors that are no answer of a tool. */
  readonly onError: (error: unknown) => void;
}

/** Longer than any request of a client. */
export const MAX_MESSAGE_BYTES = 64 * 1024;
/** Further messages wait unread. */
const MAX_IN_FLIGHT = 16;

/** MC-10: one message a line. Resolves at the end of the input, when all requests are answered. */
export async function serveStdio({ input, write, protocol, callTool, onError }: StdioServerParts): Promise<void> {
  const inFlight = new Map<RequestId, AbortController>();
  const pending = new Set<Promise<void>>();
  let legacyName = '';
  const send = (response: RpcResponse): void => write(`${JSON.stringify(response)}\n`);

  const answer = async (request: RpcRequest, { signal }: AbortController): Promise<void> => {
    let response: RpcResponse;
    try {
      const client = clientOf(request, legacyName);
      response = await protocol(request, client, (call) => callTool(call, signal));
    } catch (error) {
      if (!(error instanceof RpcError) && !signal.aborted) onError(error);
      response = errorResponse(error instanceof RpcError ? error : internalError(), request.id);
    }
    // MC-17: nothing is sent for a request that was cancelled.
    if (!signal.aborted) send(response);
  };

  const start = (request: RpcRequest): void => {
    if (inFlight.has(request.id)) throw new RpcError(RPC_CODES.invalidRequest, '"id" is that of a request in flight');
    legacyName = initializedName(request) ?? legacyName;
    const controller = new AbortController();
    inFlight.set(request.id, controller);
    const task = answer(request, controller).finally(() => {
      inFlight.delete(request.id);
      pending.delete(task);
    });
    pending.add(task);
  };

  const receive = (message: RpcMessage): void => {
    if (message.type === 'request') start(message);
    else if (message.method === 'notifications/cancelled') inFlight.get(message.params.requestId as RequestId)?.abort();
  };

  for await (const line of boundedLines(input, MAX_MESSAGE_BYTES)) {
    if ('problem' in line) {
      send(errorResponse(new RpcError(RPC_CODES.parseError, line.problem)));
      continue;
    }
    if (line.text.trim() === '') continue;
    let value: unknown;
    try {
      value = parseJson(line.text);
      receive(readMessage(value));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      send(errorResponse(error, idOf(value)));
    }
    if (pending.size >= MAX_IN_FLIGHT) await Promise.race(pending);
  }
  await Promise.all(pending);
}

const internalError = (): RpcError => new RpcError(RPC_CODES.internalError, 'Internal error');

/** A line, or the news that one was too long or not UTF-8. */
export type Line = { readonly text: string } | { readonly problem: string };

const NEWLINE = 0x0a;

/**
 * Splits bytes into lines of at most `limit` bytes. A longer line is skipped while it arrives, so that memory stays
 * bounded. A last line without a newline counts.
 */
export async function* boundedLines(chunks: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Line> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const end = (): Line => {
    const line = length > limit ? tooLong(limit) : decoded(parts);
    parts = [];
    length = 0;
    return line;
  };
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length <= limit) parts.push(part);
    else parts = [];
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      yield end();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield end();
}

const tooLong = (limit: number): Line => ({ problem: `the message is longer than ${limit} bytes` });

function decoded(parts: readonly Uint8Array[]): Line {
  const text = utf8Text(Buffer.concat(parts));
  return text === undefined ? { problem: 'the message is not UTF-8' } : { text };
}
