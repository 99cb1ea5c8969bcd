import { RPC_CODES, RpcError, type RpcMessage, type RpcRequest } from './json-rpc.ts';
import { LEGACY_VERSIONS, MODERN_VERSION, modernVersionOf, unsupported } from './versions.ts';

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
