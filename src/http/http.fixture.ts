import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Authorizer } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import type { FlowControlLimits } from '../api/flow-control-limits.ts';
import type { ApiRequest, ApiResponse, Target, Verb } from '../api/request.ts';
import { unauthorized } from '../api/status.ts';
import { MemoryAccount } from '../lib/memory-account.ts';
import { WorkQueue } from '../lib/work-queue.ts';
import { createLogger } from '../observability/logger.ts';
import { createFlowControl } from './flow-control/flow-control.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.ts';
import { createMcpEndpoint, type McpEndpoint, type McpOptions } from './mcp/mcp-endpoint.ts';
import type { RequestRecord } from './records/request-record.ts';
import { createRequestLineParser } from './request/request-info.ts';
import type { ResourceRoute } from './routes/routes.ts';

/** A real server on a real port, with callers, permissions and handlers that tests can see through. */

export interface Fixture {
  readonly server: HttpServer;
  readonly port: number;
  readonly records: RequestRecord[];
  readonly lines: string[];
  /** What the handlers were asked, in order. */
  readonly handled: ApiRequest[];
  /** The bodies of these: a request keeps none once it is answered. */
  readonly bodies: ApiRequest['body'][];
  send(call: Call): Promise<Reply>;
  /** Writes bytes to a fresh connection and returns everything that came back until it closed. */
  raw(bytes: string): Promise<string>;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  /** Bearer token; `admin` by default, `''` for none. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
}

export interface Reply {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON. */
  readonly json: () => Record<string, unknown>;
}

export const TOKEN_PATH = '/orchestrator/a/api/v1/namespaces/ns/serviceaccounts/sa/token';
export const CLUSTERS_PATH = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

export const CREATE: Call = {
  method: 'POST',
  path: CLUSTERS_PATH,
  body: '{}',
  headers: { 'content-type': 'application/json' },
};

export const ampleMemory = (): MemoryAccount =>
  new MemoryAccount({ perFlow: 64 * 1024 * 1024, total: 256 * 1024 * 1024 });

/** Limits that a test only meets when it wants to. */
export const AMPLE: FlowControlLimits = {
  tokenSeats: 100,
  readSeats: 100,
  writeSeats: 100,
  seatPercentPerFlow: 100,
  queueLengthPerFlow: 100,
  watchSeats: 100,
  watchSeatsPerFlow: 100,
  watchSeatsWithoutPermission: 100,
};

const EVERY_VERB: readonly Verb[] = ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection'];

/** Until the end of the test. */
export async function startFixture(...options: Parameters<typeof openFixture>): Promise<Fixture> {
  const fixture = await openFixture(...options);
  onTestFinished(() => fixture.server.close());
  return fixture;
}

export async function openFixture(
  handler: (request: ApiRequest) => ApiResponse | Promise<ApiResponse> = () => ({
    type: 'value',
    code: 200,
    value: {},
  }),
  overrides: Partial<HttpServerOptions> = {},
): Promise<Fixture> {
  const records: RequestRecord[] = [];
  const lines: string[] = [];
  const handled: ApiRequest[] = [];
  const bodies: ApiRequest['body'][] = [];
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    handled.push(request);
    bodies.push(request.body);
    const answer = await handler(request);
    // As what issues tokens does.
    if (request.target.subresource === 'token' && 'code' in answer) await request.willAnswer(answer.code);
    return answer;
  };
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    observeSubrequest: (record) => void records.push(record),
    parseRequestLine: createRequestLineParser({ productName: 'orchestrator' }),
    freshness: { proveCurrent: () => true, whenCurrent: async () => true },
    authenticate: async (authorization) => {
      const token = /^Bearer (admin|other|nobody)$/.exec(authorization ?? '')?.[1];
      if (token === undefined) throw unauthorized();
      return callerNamed(token);
    },
    authenticateToken: async () => {
      throw unauthorized();
    },
    authorizer: allButNobody,
    seesNothing: (caller) => caller.as(undefined).name === 'nobody',
    forms: () => undefined,
    issueToken: () => Promise.reject(new Error('no tokens are asked for here')),
    resources: (target) => routeFor(target, handle),
    paths: () => undefined,
    flowControl: createFlowControl(AMPLE),
    work: new WorkQueue(),
    memory: ampleMemory(),
    logger: createLogger({ level: 'debug', write: (line) => lines.push(line) }),
    observe: (record) => records.push(record),
    observeArrival: () => {},
    observeStart: () => {},
    beforeRelease: async () => {},
    isStarting: () => false,
    version: '0.1.0',
    checks: {},
    ...overrides,
  });
  const { port } = await server.listen();
  return {
    server,
    port,
    records,
    lines,
    handled,
    bodies,
    send: (call) => send(port, call),
    raw: (bytes) => raw(port, bytes),
  };
}

function callerNamed(name: string): Caller {
  const user = { name, uid: '', groups: ['system:authenticated'], extra: {} };
  return {
    as: () => user,
    home: undefined,
    key: name,
    flow: name,
    expiresAt: undefined,
    dependsOn: [],
    isLive: () => true,
  };
}

const allowMost = (caller: Caller) => ({ allowed: caller.as(undefined).name !== 'nobody', reason: '' });
const allButNobody: Authorizer = { decide: allowMost, decidePath: allowMost };

/** Clusters at the fleet (custom style, with `status`), service accounts with tokens in a cluster (built-in). */
function routeFor(target: Target, handle: ResourceRoute['handle']): ResourceRoute | undefined {
  const { cluster, group, version, resource, subresource, namespace } = target;
  const base = { handle, patchTypes: ['application/json-patch+json', 'application/merge-patch+json'] };
  if (
    cluster === undefined &&
    group === 'clusterregistry.k8s.io' &&
    version === 'v1alpha1' &&
    resource === 'clusters'
  ) {
    if (namespace !== '') return undefined;
    const verbs = subresource === '' ? EVERY_VERB : subresource === 'status' ? (['get', 'update'] as const) : [];
    return {
      ...base,
      style: 'custom',
      verbs: new Set(verbs),
      offers: new Set(['table', 'partial-object-metadata', 'partial-object-metadata-list']),
    };
  }
  if (cluster !== undefined && group === '' && version === 'v1' && resource === 'serviceaccounts') {
    const verbs = subresource === '' ? EVERY_VERB : subresource === 'token' ? (['create'] as const) : [];
    return { ...base, style: 'builtin', verbs: new Set(verbs), offers: new Set() };
  }
  return undefined;
}

export function send(
  port: number,
  { method = 'GET', path, token = 'admin', headers = {}, body }: Call,
): Promise<Reply> {
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
  // Node's client sends the body of a DELETE without saying how long it is.
  const chunked = 'transfer-encoding' in headers || body === undefined;
  const length = chunked ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const req = request(
      { host: '127.0.0.1', port, method, path, headers: { ...authorization, ...length, ...headers }, agent: false },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString();
          const { statusCode: code = 0, rawHeaders } = res;
          resolve({ code, headers: res.headers, rawHeaders, bytes, text, json: () => JSON.parse(text) });
        });
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}

export function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}

/** An MCP endpoint, for tests of what happens before its tools. */
export const mcpEndpoint = (authenticate: McpOptions['authenticate']): McpEndpoint =>
  createMcpEndpoint({
    version: '0',
    productName: 'orchestrator',
    baseUrl: () => 'https://cp.example.com',
    authorizationServers: [],
    allowedOrigins: [],
    callsPerMinute: 1,
    passRequestsPerMinute: 1,
    maxResultBytes: 1_000,
    callTimeoutMs: 3_600_000,
    authenticate,
    now: () => 0,
  });

/** Not by `once`, which rejects when the connection is reset. */
export const closeOf = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => resolve());
  });
