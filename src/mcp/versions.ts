import { MAX_CLIENT_NAME } from '../api/kinds/pass-spec.ts';
import { isJsonObject } from '../lib/json.ts';
import { cleanText, truncate } from '../lib/text.ts';
import { type Params, RPC_CODES, RpcError, type RpcRequest } from './json-rpc.ts';

/** MC-01. Modern: every request says its version. Legacy: `initialize` agrees on one for the requests that follow. */
export type Era = 'modern' | 'legacy';

export const MODERN_VERSION = '2026-07-28';
/** The newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18'];
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS];

const PREFIX = 'io.modelcontextprotocol/';
export const META = {
  version: `${PREFIX}protocolVersion`,
  capabilities: `${PREFIX}clientCapabilities`,
  client: `${PREFIX}clientInfo`,
  server: `${PREFIX}serverInfo`,
} as const;

/** What a request says about its client. It is not verified, so nothing is decided by it. */
export interface ClientFacts {
  readonly era: Era;
  /** `name/version`; `""` if the client gives none. */
  readonly name: string;
  /** Whether the client can show a person a page (MC-50). Legacy clients are not asked: that needs sessions. */
  readonly opensUrls: boolean;
}

/** MC-13: the version of a modern request; undefined for a legacy one. */
export const modernVersionOf = (params: Params): unknown => metaOf(params)[META.version];

const metaOf = ({ _meta: meta }: Params): Readonly<Record<string, unknown>> => (isJsonObject(meta) ? meta : {});

/** The client of a modern request. Throws RpcError. */
export function readModern({ params }: RpcRequest): ClientFacts {
  const meta = metaOf(params);
  const version = meta[META.version];
  if (typeof version !== 'string') throw invalidMeta(META.version, 'a text');
  if (version !== MODERN_VERSION) throw unsupported(version);
  const capabilities = meta[META.capabilities];
  if (!isJsonObject(capabilities)) throw invalidMeta(META.capabilities, 'an object');
  const { elicitation } = capabilities;
  return {
    era: 'modern',
    name: clientName(meta[META.client]),
    opensUrls: isJsonObject(elicitation) && isJsonObject(elicitation.url),
  };
}

const invalidMeta = (key: string, what: string): RpcError =>
  new RpcError(RPC_CODES.invalidParams, `params._meta["${key}"] is required and must be ${what}`);

const MAX_SHOWN_VERSION = 64;

export function unsupported(version: string): RpcError {
  const requested = truncate(version, MAX_SHOWN_VERSION);
  const data = { supported: SUPPORTED_VERSIONS, requested };
  return new RpcError(RPC_CODES.unsupportedVersion, 'Unsupported protocol version', data);
}

/** `name/version` of an `Implementation`, as one line. */
export function clientName(info: unknown): string {
  if (!isJsonObject(info) || typeof info.name !== 'string') return '';
  const text = typeof info.version === 'string' ? `${info.name}/${info.version}` : info.name;
  return cleanText(text, MAX_CLIENT_NAME);
}
