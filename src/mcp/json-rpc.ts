import { JsonSyntaxError, parseJson as parseTree } from '../api/codec/parse-json.ts';
import { toPlain } from '../api/codec/tree.ts';
import { reportDuplicates, Violations } from '../api/codec/violations.ts';
import { ApiError } from '../api/status.ts';
import { isJsonObject } from '../lib/json.ts';

/** JSON-RPC 2.0, as MCP uses it: one message, no batches, ids that are never null (MC-17). */

export type RequestId = string | number;

export interface RpcRequest {
  readonly type: 'request';
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
}

interface RpcNotification {
  readonly type: 'notification';
  readonly method: string;
  readonly params: Params;
}

export type RpcMessage = RpcRequest | RpcNotification;

export type Params = Readonly<Record<string, unknown>>;

/** MC-18. No other code is sent: -32000 to -32099 belong to the specification. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES];

/** An error of the protocol. Refusals and bad arguments of tools are results instead (MC-32). */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: RpcCode;
  readonly data: object | undefined;

  constructor(code: RpcCode, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface RpcErrorResponse {
  readonly jsonrpc: '2.0';
  readonly id?: RequestId;
  readonly error: { readonly code: RpcCode; readonly message: string; readonly data?: object };
}

interface RpcResultResponse {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly result: object;
}

export type RpcResponse = RpcResultResponse | RpcErrorResponse;

export const resultResponse = (id: RequestId, result: object): RpcResultResponse => ({ jsonrpc: '2.0', id, result });

/** Without an id where the id of the request could not be read. */
export const errorResponse = ({ code, message, data }: RpcError, id?: RequestId): RpcErrorResponse => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

/** The id of a message that may be malformed, for its error. */
export function idOf(value: unknown): RequestId | undefined {
  const id = isJsonObject(value) ? value.id : undefined;
  return isRequestId(id) ? id : undefined;
}

/**
 * The JSON of a message, read as strictly as a body of the API. Throws RpcError, also for text that is not Unicode, for
 * more than a tree may have, and for a key that is given twice: a gateway may have read the other value.
 */
export function parseJson(text: string): unknown {
  try {
    const tree = parseTree(text);
    const duplicates = new Violations();
    reportDuplicates(tree, undefined, duplicates);
    if (duplicates.list.length === 0) return toPlain(tree);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new RpcError(RPC_CODES.parseError, 'the message is not JSON');
    if (error instanceof ApiError) throw new RpcError(RPC_CODES.parseError, error.message);
    throw error;
  }
  throw new RpcError(RPC_CODES.invalidRequest, 'the message gives a key twice in one object');
}

/** Longer ids are refused, because a response repeats the id. */
const MAX_ID_LENGTH = 256;

/** Throws RpcError. */
export function readMessage(value: unknown): RpcMessage {
  const invalid = (message: string): RpcError => new RpcError(RPC_CODES.invalidRequest, message);
  if (Array.isArray(value)) throw invalid('batches are not supported: send one message');
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    throw invalid('the message must be an object with "jsonrpc": "2.0"');
  }
  const { id, method, params = {} } = value;
  if (typeof method !== 'string') {
    const isResponse = 'result' in value || 'error' in value;
    throw invalid(isResponse ? 'responses are not accepted: no request was sent' : '"method" must be a text');
  }
  if (!isJsonObject(params)) throw invalid('"params" must be an object');
  if (!('id' in value)) return { type: 'notification', method, params };
  if (!isRequestId(id)) throw invalid(`"id" must be an integer or a text of at most ${MAX_ID_LENGTH} characters`);
  return { type: 'request', id, method, params };
}

const isRequestId = (id: unknown): id is RequestId =>
  typeof id === 'string' ? id.length <= MAX_ID_LENGTH : Number.isSafeInteger(id);
