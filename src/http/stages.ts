import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Authorizer } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import { parseGoDuration, toGoInt64 } from '../api/codec/go-text/go-parse.ts';
import { issuesToken } from '../api/kinds/token-request.ts';
import { type ApiError, badRequest, pathNotFound, unavailable } from '../api/status.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { Secret } from '../observability/secret.ts';
import type { Freshness } from '../storage/freshness.ts';
import { type Exchange, HandlerRequest, targetOf } from './exchange.ts';
import type { FlowControl } from './flow-control/flow-control.ts';
import { addressKey } from './listener/address-limit.ts';
import type { McpEndpoint } from './mcp/mcp-endpoint.ts';
import type { FormRoutes } from './oauth/form-route.ts';
import { prefersHtml } from './request/accept-header.ts';
import type { BodyReader } from './request/body.ts';
import { methodNotAllowed, readCheckedHeaders } from './request/header-checks.ts';
import { negotiateAccept, PLAIN_JSON } from './request/negotiate.ts';
import type { Method, PathInfo, RequestLineParser } from './request/request-info.ts';
import { servedRoute } from './routes/resource-routes.ts';
import type { PathRoute, PathRoutes, ResourceRoute, ResourceRoutes } from './routes/routes.ts';

/** What the stages ask of the rest of the program. */
export interface StageParts {
  readonly parseRequestLine: RequestLineParser;
  /** Whether credentials and permissions may be decided from memory. */
  readonly freshness: Pick<Freshness, 'proveCurrent' | 'whenCurrent'>;
  readonly authenticate: (authorization: string | undefined, warn: (text: string) => void) => MaybePromise<Caller>;
  /** The same for a token in a form. */
  readonly authenticateToken: (token: Secret) => MaybePromise<Caller>;
  /** Called with the connection of every caller who authenticates. */
  readonly onAuthenticated: (socket: Socket) => void;
  readonly authorizer: Authorizer;
  readonly resources: ResourceRoutes;
  readonly paths: PathRoutes;
  /** Public routes for browsers, at paths where other clients need credentials. */
  readonly browserPaths?: PathRoutes;
  readonly forms: FormRoutes;
  /** Undefined: MCP is not served. */
  readonly mcp?: McpEndpoint | undefined;
  readonly flowControl: FlowControl;
  readonly bodies: BodyReader;
  /**
   * Resolves when the audit event of an answer with a credential is durable; rejects when it cannot be. Commits one
   * event for a code, however often it is called.
   */
  readonly beforeRelease: (exchange: Exchange, code: number) => Promise<void>;
  /** The answer to an error. Logs an unexpected one. */
  readonly toApiError: (error: unknown, exchange: Exchange) => ApiError;
  /** Records the end of a subrequest. */
  readonly observeSubrequest: (exchange: Exchange, code: number) => void;
}

/**
 * Does one thing, throws an ApiError, or sets `answer`, which ends the pipeline. A stage that does not apply to a
 * request returns at once. A stage returns a promise only when it has to wait.
 */
export type StageRun = (exchange: Exchange, parts: StageParts) => MaybePromise<void>;

/** C-01: a client's own id is kept, within reason, so that the client can find its request in our records. */
export const assignAuditId: StageRun = (x) => {
  const given = x.req.headers['audit-id'];
  x.auditId = typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given) ? given : randomUUID();
};

export const checkHeaders: StageRun = (x) => {
  if (x.arrival.refusal !== undefined) throw x.arrival.refusal;
  x.checkedHeaders = readCheckedHeaders(x.req);
};

export const readRequestInfo: StageRun = (x, { parseRequestLine }) => {
  const { path, query, info } = parseRequestLine(x.headers.method, x.req.url ?? '');
  x.path = path;
  x.query = query;
  x.requestInfo = info;
};

/** C-07: a bad `timeout` is reported before authentication. A watch ends by itself (V-17). */
export const applyTimeout: StageRun = (x) => {
  if (x.info.type === 'resource' && x.info.target.verb === 'watch') {
    x.deadline.setUnbounded();
    return;
  }
  const wanted = timeoutOf(x);
  if (wanted !== undefined) x.deadline.shorten(wanted);
};

function timeoutOf(x: Exchange): number | undefined {
  const text = x.query.get('timeout');
  if (text === null || text === '') return listTimeout(x);
  const wanted = parseGoDuration(text);
  if (!wanted.ok) throw badRequest(`invalid timeout specified in the request URL - ${wanted.message}`);
  return wanted.milliseconds;
}

/** `timeoutSeconds` of a list. Its handler reports a bad one. */
function listTimeout({ info, query }: Exchange): number | undefined {
  if (info.type !== 'resource' || info.target.verb !== 'list') return undefined;
  const seconds = toGoInt64(query.get('timeoutSeconds') ?? '');
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

export const findPublicRoute: StageRun = (x, { paths, browserPaths, forms }) => {
  if (x.info.type !== 'path') return;
  x.formRoute = forms.find(x.info);
  if (x.formRoute !== undefined) {
    x.render = x.formRoute.render;
    return;
  }
  const route = paths.find(x.info);
  if (route?.public === true) x.pathRoute = route;
  else if (browserPaths !== undefined && isBrowser(x)) x.pathRoute = browserPaths.find(x.info);
};

/** A person has entered an address: a client of the API sends a credential, or asks for something else than a page. */
const isBrowser = ({ headers: { method, accept }, req }: Exchange): boolean =>
  (method === 'GET' || method === 'HEAD') && req.headers.authorization === undefined && prefersHtml(accept);

/** How long a request waits for a fresh state. Together with a call to the store, it is answered within 4 s. */
const CURRENT_MS = 1_500;

/** B30: a replica that may be behind the store decides nothing from memory: a token may have been revoked. */
export const requireFreshState: StageRun = (x, { freshness }) =>
  x.pathRoute === undefined || presentsCredential(x) ? whenCurrent(freshness) : undefined;

function whenCurrent(freshness: StageParts['freshness']): Promise<void> | undefined {
  if (freshness.proveCurrent()) return undefined;
  return freshness.whenCurrent(CURRENT_MS).then((current) => {
    if (!current) throw unavailable('this server is behind its store and cannot check credentials, please try again');
  });
}

export const presentsCredential = ({ pathRoute, req }: Exchange): boolean =>
  pathRoute?.refusesBadCredentials === true && req.headers.authorization !== undefined;

export const findRoute: StageRun = (x, { resources, paths }) => {
  if (x.info.type === 'resource') {
    x.route = servedRoute(resources, x.info.target, x.headers.method);
    return;
  }
  if (x.mcp !== undefined) return;
  x.pathRoute = paths.find(x.info);
  if (x.pathRoute === undefined) throw pathNotFound();
};

/** Serves a path that is no resource. The pipeline has it twice: for public paths and for all others. */
export const handlePath: StageRun = (x) =>
  x.info.type === 'path' && x.pathRoute !== undefined ? servePath(x, x.info, x.pathRoute) : undefined;

async function servePath(x: Exchange, { cluster, path }: PathInfo, route: PathRoute): Promise<void> {
  const { method, accept } = x.headers;
  if (!route.methods.includes(method === 'HEAD' ? 'GET' : method)) throw methodNotAllowed();
  x.answer = await route.handle({
    caller: x.caller,
    method,
    cluster,
    path,
    asked: x.path,
    query: x.query,
    accept,
    acceptEncoding: x.req.headers['accept-encoding']?.toString(),
    ifNoneMatch: x.req.headers['if-none-match'],
    signal: x.signal,
  });
}

export const negotiate: StageRun = (x) => {
  if (isForm(x) || x.mcp !== undefined) {
    x.accept = PLAIN_JSON;
    return;
  }
  const { style, offers } = routeOf(x);
  x.accept = negotiateAccept(x.headers.accept, { style, offers, verb: targetOf(x).verb });
};

const WITH_BODY: ReadonlySet<Method> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Whether the request came as a form, whose body was read before. */
const isForm = ({ formRoute }: Exchange): boolean => formRoute !== undefined;

/** Whether the stages for bodies apply to the request. */
export const expectsBody = (x: Exchange): boolean => WITH_BODY.has(x.headers.method) && !isForm(x);

/** A client can take half a minute to send a body. */
export const requireFreshStateAgain: StageRun = (x, { freshness }) =>
  x.waitedForBody ? whenCurrent(freshness) : undefined;

export const handle: StageRun = async (x, { beforeRelease }) => {
  if (x.accept === undefined) throw new Error('a handler needs a negotiated answer');
  const willAnswer = (code: number): void => void beforeRelease(x, sentCode(x, code));
  const answer = await routeOf(x).handle(new HandlerRequest(x, callerOf(x), x.accept, willAnswer));
  // A9. Decided by the path, not by the handler: one that forgot `willAnswer` would release a token without its event.
  if (issuesToken(targetOf(x).subresource) && 'code' in answer) await beforeRelease(x, sentCode(x, answer.code));
  x.answer = answer;
};

/** RFC 6749 section 5.1: an OAuth endpoint answers 200 where the API answers 201. */
const sentCode = (x: Exchange, code: number): number => (isForm(x) ? 200 : code);

export const addressOf = ({ req }: Exchange): string => addressKey(req.socket.remoteAddress);

export function callerOf({ caller }: Exchange): Caller {
  if (caller === undefined) throw new Error('not authenticated');
  return caller;
}

export function routeOf({ route }: Exchange): ResourceRoute {
  if (route === undefined) throw new Error('not routed');
  return route;
}
