import { MAX_CLIENT_NAME } from '../api/kinds/pass-spec.ts';
import { cleanText, truncate, unescaped } from '../lib/text.ts';
import { RPC_CODES, RpcError, type RpcMessage, type RpcRequest } from './json-rpc.ts';
import { TOOLS } from './tools.ts';
import { LEGACY_VERSIONS, MODERN_VERSION, modernVersionOf, unsupported } from './versions.ts';

/**
 * MC-80: the tool and the client of a call of `clusterpass mcp`, for the audit log. The server cannot verify these
 * headers, because the command has the login of a person, so they decide nothing.
 */
const TOOL_HEADER = 'clusterpass-mcp-tool';
const CLIENT_HEADER = 'clusterpass-mcp-client';

const TOOL_NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ name }) => name));

export const stdioHeaders = (tool: string, clientName: string): Record<string, string> => ({
  [TOOL_HEADER]: tool,
  // Headers have no characters beyond Latin-1.
  ...(clientName === '' ? {} : { [CLIENT_HEADER]: encodeURIComponent(truncate(clientName, MAX_CLIENT_NAME)) }),
});

/** The annotations of the audit event; undefined for a request that names no tool of ours. */
export function stdioAnnotations(
  headers: Readonly<Record<string, unknown>>,
): [key: string, text: string][] | undefined {
  const tool = headers[TOOL_HEADER];
  if (typeof tool !== 'string' || !TOOL_NAMES.has(tool)) return undefined;
  const name = clientNameIn(headers[CLIENT_HEADER]);
  return [
    ['clusterpass.dev/surface', 'mcp-stdio'],
    ['clusterpass.dev/tool', tool],
    ['clusterpass.dev/client', 'login'],
    ...(name === '' ? [] : [['clusterpass.dev/client-name', name] as [string, string]]),
  ];
}

const clientNameIn = (value: unknown): string =>
  cleanText((typeof value === 'string' && unescaped(value)) || '', MAX_CLIENT_NAME);

/** Headers by their lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * MC-12, MC-20: a proxy may decide by the headers, so they must agree with the body. Throws RpcError, which is a 400.
 */
export function checkMessageHeaders(message: RpcMessage, headers: Headers): void {
  // Headers of notifications are not defined.
  if (message.type === 'notification') return;
  const version = modernVersionOf(message.params);
  if (version === undefined) checkLegacy(message, headers);
  else checkModern(message, headers, version);
}

function checkModern(message: RpcRequest, headers: Headers, version: unknown): void {
  const sent = required(headers, 'MCP-Protocol-Version');
  if (sent !== version) throw mismatch('MCP-Protocol-Version is not the version in params._meta');
  if (sent !== MODERN_VERSION) throw unsupported(sent);
  if (required(headers, 'Mcp-Method') !== message.method) throw mismatch('Mcp-Method is not the method of the body');
  if (message.method !== 'tools/call') return;
  if (decoded(required(headers, 'Mcp-Name')) !== message.params.name) {
    throw mismatch('Mcp-Name is not params.name of the body');
  }
}

/**
 * The first request of a legacy client agrees on the version, so it has no header. VS Code sends none later either. The
 * specification reads that as 2025-03-26, and what we answer to a legacy request is the same in each version.
 */
function checkLegacy({ method }: RpcRequest, headers: Headers): void {
  if (method === 'initialize' || headers['mcp-protocol-version'] === undefined) return;
  const sent = required(headers, 'MCP-Protocol-Version');
  if (LEGACY_VERSIONS.includes(sent)) return;
  if (sent !== MODERN_VERSION) throw unsupported(sent);
  throw new RpcError(RPC_CODES.invalidParams, 'params._meta is required by this protocol version');
}

function required(headers: Headers, name: string): string {
  const value = headers[name.toLowerCase()];
  if (typeof value !== 'string' || value === '') throw mismatch(`the header ${name} is required once`);
  return value;
}

const mismatch = (why: string): RpcError => new RpcError(RPC_CODES.headerMismatch, `Header mismatch: ${why}`);

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

function decoded(value: string): string {
  const [, base64] = ENCODED.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8');
}
