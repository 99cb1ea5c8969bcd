import { type Caller, MCP_SCOPES, type McpScope } from '../../api/caller.ts';
import { MCP_PATH, mcpAudienceOf } from '../../api/pass-audience.ts';
import { ApiError } from '../../api/status.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import { createProtocol } from '../../mcp/protocol.ts';
import { TOOLS } from '../../mcp/tools.ts';
import type { Render } from '../oauth/oauth-error.ts';
import type { PathInfo } from '../request/request-info.ts';
import { type RawAnswer, rawAnswer } from '../response/respond.ts';
import { type PathRoute, pathTable } from '../routes/routes.ts';

export const isMcpPath = ({ cluster, path }: PathInfo): boolean => cluster === undefined && path === MCP_PATH;

export const mcpNotServed = (): ApiError =>
  new ApiError(404, 'NotFound', 'MCP is not served here: the server was started without --mcp');

const METADATA_PATH = '/.well-known/oauth-protected-resource';

export interface McpOptions {
  readonly version: string;
  readonly productName: string;
  /** Known once the server listens. */
  readonly baseUrl: () => string;
  /** Issuers of `--authentication-config`. */
  readonly authorizationServers: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** MC-78. The rates are those of one user and client. */
  readonly callsPerMinute: number;
  readonly passRequestsPerMinute: number;
  readonly maxResultBytes: number;
  readonly callTimeoutMs: number;
  readonly authenticate: (authorization: string | undefined, warn: (text: string) => void) => Promise<Caller>;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
}

export type McpEndpoint = ReturnType<typeof createMcpEndpoint>;

/** MC-42: the token lacks the scope of the tool. */
export class InsufficientScope extends ApiError {
  readonly scopes: readonly McpScope[];

  constructor(tool: string, scopes: readonly McpScope[]) {
    super(403, 'Forbidden', `${tool} needs a token with the scope ${scopes.join(' and ')}`);
    this.scopes = scopes;
  }
}

/** `POST /mcp`: MCP over HTTP, as an OAuth protected resource. */
export function createMcpEndpoint(options: McpOptions) {
  const { version, productName, baseUrl, authorizationServers, allowedOrigins, authenticate, now } = options;
  const calls = perMinute(options.callsPerMinute, now);
  const passRequests = perMinute(options.passRequestsPerMinute, now);
  const metadata: PathRoute = {
    public: true,
    handle: () => {
      const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=3600' };
      const document = {
        resource: mcpAudienceOf(baseUrl()),
        authorization_servers: authorizationServers,
        scopes_supported: Object.values(MCP_SCOPES),
        bearer_methods_supported: ['header'],
        resource_name: 'Clusterpass',
      };
      return rawAnswer(200, headers, JSON.stringify(document));
    },
  };
  /** RFC 6750 section 3, RFC 9728 section 5.1. */
  const challenge = (error: string, scopes: readonly McpScope[]): string => {
    const parts = [
      ...(error === '' ? [] : [`error="${error}"`]),
      `resource_metadata="${baseUrl()}${METADATA_PATH}${MCP_PATH}"`,
      `scope="${scopes.join(' ')}"`,
    ];
    return `Bearer ${parts.join(', ')}`;
  };
  return {
    protocol: createProtocol(version, TOOLS),
    productName,
    baseUrl,
    maxResultBytes: options.maxResultBytes,
    callTimeoutMs: options.callTimeoutMs,
    authenticate,
    isAllowedOrigin: (origin: string): boolean => allowedOrigins.includes(origin),
    /** Writes errors of the API, with the challenges of RFC 6750. */
    render:
      (hasCredential: boolean): Render =>
      (answer) => {
        if (answer.type !== 'status') return answer;
        const { error } = answer;
        if (error.status.code === 401) {
          return statusAnswer(error, challenge(hasCredential ? 'invalid_token' : '', [MCP_SCOPES.read]));
        }
        if (error instanceof InsufficientScope)
          return statusAnswer(error, challenge('insufficient_scope', error.scopes));
        return error.status.code === 405 ? statusAnswer(error) : answer;
      },
    /** Counts a call. The seconds to wait if there were too many; 0 otherwise. */
    secondsToWait(flow: string, tool: string): number {
      const buckets = tool === 'pass_request' ? [passRequests, calls] : [calls];
      const waitMs = Math.max(...buckets.map((bucket) => bucket.waitMs(flow)));
      if (waitMs === 0) for (const bucket of buckets) bucket.take(flow);
      return Math.ceil(waitMs / 1000);
    },
    /** The metadata of RFC 9728. */
    routes: pathTable({ [METADATA_PATH]: metadata, [`${METADATA_PATH}${MCP_PATH}`]: metadata }),
  };
}

const perMinute = (count: number, now: () => number): TokenBuckets =>
  new TokenBuckets({ perSecond: count / 60, burst: count, now });

function statusAnswer({ status }: ApiError, challenge?: string): RawAnswer {
  const headers = {
    'Content-Type': 'application/json',
    ...(challenge === undefined ? {} : { 'WWW-Authenticate': challenge }),
    ...(status.code === 405 ? { Allow: 'POST' } : {}),
  };
  return rawAnswer(status.code, headers, `${JSON.stringify(status)}\n`);
}
