import { MAX_CLIENT_NAME } from '../api/kinds/pass-spec.ts';
import { cleanText, truncate, unescaped } from '../lib/text.ts';
import { TOOLS } from './tools.ts';

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
