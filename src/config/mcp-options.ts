import { flag, option } from './option.ts';
import { duration, integer, issuerUrls, origins } from './values.ts';

/** Options of the Model Context Protocol over HTTP. */
export const MCP_OPTIONS = {
  mcp: flag(
    'Serves agents at `<base-url>/mcp` (Model Context Protocol over HTTP), with tokens whose audience is that address. Needs `--mcp-authorization-server`.',
  ),
  mcpAuthorizationServer: option({
    value: 'URL',
    parse: issuerUrls,
    repeatable: true,
    doc: 'Where clients of `/mcp` get their tokens: an issuer of `--authentication-config`, whose `audiences` there include `<base-url>/mcp`.',
  }),
  mcpAllowedOrigin: option({
    value: 'ORIGIN',
    parse: origins,
    repeatable: true,
    doc: 'An origin of web pages that may call `/mcp`, e.g. `https://agent.example.com`. Requests with another `Origin` header are refused; requests without one do not come from web pages.',
  }),
  mcpCallsPerMinute: option({
    parse: integer(1, 100_000),
    default: '60',
    doc: 'How many calls of tools at `/mcp` one user and client may make in a minute, and how many at once. Each process counts its own: with workers and replicas, clients that open many connections get up to as many times more.',
  }),
  mcpPassRequestsPerMinute: option({
    parse: integer(1, 100_000),
    default: '10',
    doc: 'How many of these calls may be `pass_request`.',
  }),
  mcpMaxResultBytes: option({
    value: 'BYTES',
    parse: integer(8_192, 1_048_576),
    default: '65536',
    doc: 'The longest result of a tool at `/mcp`. `clusters_list` makes its pages shorter; other tools say that the result is too long.',
  }),
  mcpCallTimeout: option({
    parse: duration('1s', '30s'),
    default: '30s',
    doc: 'How long a call at `/mcp` may take. A longer one is answered with 504.',
  }),
} as const;
