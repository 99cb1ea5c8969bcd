import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  type Authorizer,
  type Decision,
  isFilteredList,
  isForOwners,
  type ResourceQuestion,
} from '../api/authorization.ts';
import type { Caller, User } from '../api/caller.ts';
import { parseGoDuration, toGoInt64 } from '../api/codec/go-text/go-parse.ts';
import { whyAllowed } from '../api/decision-reason.ts';
import { ApiError, badRequest, pathNotFound, unauthorized } from '../api/status.ts';
import { forbiddenFor } from '../authz/forbidden.ts';
import { type Exchange, HandlerRequest, targetOf } from './exchange.ts';
import { type FlowControl, isLargeBody, type PriorityLevelName, priorityLevelOf } from './flow-control/flow-control.ts';
import { addressKey } from './listener/address-limit.ts';
import { announcedLength, readBody, refuseContentEncoding } from './request/body.ts';
import { methodNotAllowed, readCheckedHeaders } from './request/header-checks.ts';
import { MEDIA_TYPES, READABLE_NAMES } from './request/media-types.ts';
import { negotiateAccept, negotiateContentType } from './request/negotiate.ts';
import type { Method, PathTarget, TargetParser } from './request/request-info.ts';
import type { PathRoute, PathRoutes, ResourceRoutes } from './routes/routes.ts';
import { servedRoute } from './routes/served-route.ts';

/** What the stages ask of the rest of the program. */
export interface StageParts {
  readonly parseTarget: TargetParser;
  readonly authenticate: (
    authorization: string | undefined,
    warn: (text: string) => void,
    connection: object,
  ) => Caller | Promise<Caller>;
  /** Hears on which connections callers are known. */
  readonly onAuthenticated: (socket: Socket) => void;
  readonly authorizer: Authorizer;
  readonly resources: ResourceRoutes;
  readonly paths: PathRoutes;
  /** Resolves when it is durable that this request is answered with a credential, and throws when it can not be. Once for a code. */
  readonly beforeRelease: (exchange: Exchange, code: number) => Promise<void>;
  readonly flowControl: FlowControl;
  /** It may take as long as it likes. */
  readonly liftDeadline: (exchange: Exchange) => void;
  /** It runs out of time, which is answered with 504, earlier than others. */
  readonly shortenDeadline: (exchange: Exchange, wishMs: number) => void;
}

/** Does one thing, throws an ApiError, or sets `answer` and so ends the walk. Waits only where it must. */
export type StageRun = (exchange: Exchange, parts: StageParts) => void | Promise<void>;

/** C-01: a client's own id is kept, so that it can find its request in our records; within reason. */
export const assignAuditId: StageRun = (x) => {
  const given = x.req.headers['audit-id'];
  x.auditId = typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given) ? given : randomUUID();
};

export const checkHeaders: StageRun = (x) => {
  if (x.arrival.refusal !== undefined) throw x.arrival.refusal;
  x.wire = readCheckedHeaders(x.req);
};

export const parseTarget: StageRun = (x, { parseTarget }) => {
  const { path, query, names, notes } = parseTarget(x.wire.method, x.req.url ?? '');
  x.path = path;
  x.query = query;
  x.names = names;
  x.notes = notes;
};

/** C-07: a bad `timeout` is reported before anyone asks who is calling. Watches have their own end (V-17). */
export const checkTimeout: StageRun = (x, { liftDeadline, shortenDeadline }) => {
  if (x.names.type === 'resource' && x.names.target.verb === 'watch') return liftDeadline(x);
  const wish = timeoutOf(x);
  if (wish !== undefined) shortenDeadline(x, wish);
};

function timeoutOf(x: Exchange): number | undefined {
  const text = x.query.get('timeout');
  if (text === null || text === '') return listTimeout(x);
  const wish = parseGoDuration(text);
  if (!wish.ok) throw badRequest(`invalid timeout specified in the request URL - ${wish.message}`);
  return wish.milliseconds;
}

/** A list has a parameter of its own for it. What is wrong with that one, its handler says. */
function listTimeout({ names, query }: Exchange): number | undefined {
  if (names.type !== 'resource' || names.target.verb !== 'list') return undefined;
  const seconds = toGoInt64(query.get('timeoutSeconds') ?? '');
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

export const servePublicPath: StageRun = (x, parts) => {
  const { names } = x;
  if (names.type !== 'path') return undefined;
  const route = parts.paths.find(names);
  if (route?.public !== true) return undefined;
  const turn = takeSeat(x, parts, 'seat', priorityLevelOf(names, true), addressKey(x.req.socket.remoteAddress));
  return turn === undefined
    ? servePublic(x, parts, names, route)
    : turn.then(() => servePublic(x, parts, names, route));
};

function servePublic(x: Exchange, parts: StageParts, names: PathTarget, route: PathRoute): void | Promise<void> {
  if (x.answer !== undefined) return undefined;
  if (route.refusesBadCredentials !== true || x.req.headers.authorization === undefined) {
    return servePath(x, names, route);
  }
  return Promise.resolve(authenticate(x, parts)).then(() =>
    x.answer === undefined ? servePath(x, names, route) : undefined,
  );
}

const WITH_BODY: ReadonlySet<Method> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Trying tokens out costs us signatures to check: whoever fails again and again is answered slowly. */
export const authenticate: StageRun = (x, { authenticate, onAuthenticated, flowControl }) => {
  const found = authenticate(x.req.headers.authorization, x.warn, x.req.socket);
  if (!(found instanceof Promise)) {
    x.caller = found;
    onAuthenticated(x.req.socket);
    // A body that came along with its header is there once the parser has gone on, and this lets it.
    return WITH_BODY.has(x.wire.method) ? Promise.resolve() : undefined;
  }
  return found.then(
    (caller) => {
      x.caller = caller;
      onAuthenticated(x.req.socket);
    },
    (error) => {
      if (!(error instanceof ApiError) || error.status.code !== 401) throw error;
      return refuse(x, flowControl.paceUnknown(addressKey(x.req.socket.remoteAddress)), error);
    },
  );
};

/** Whoever has enough under way waits for its turn, or is refused: before anything of its request is read or decided. */
export const admit: StageRun = (x, parts) =>
  takeSeat(x, parts, 'seat', priorityLevelOf(x.names, false), callerOf(x).key);

function takeSeat(
  x: Exchange,
  { flowControl }: StageParts,
  which: 'seat' | 'bodySeat',
  level: PriorityLevelName,
  who: string,
): Promise<void> | undefined {
  const place = flowControl.enter(level, who);
  if (place === undefined) return refuse(x, flowControl.pace(`${level} ${who}`), flowControl.refusal(level));
  x[which] = place;
  return place.admitted;
}

function refuse(x: Exchange, inTime: boolean | Promise<boolean>, error: ApiError): Promise<void> | undefined {
  if (typeof inTime !== 'boolean') return inTime.then((isInTime) => refuse(x, isInTime, error));
  if (!inTime) x.req.socket.destroy();
  x.answer = { type: 'status', error };
  return undefined;
}

/** Decision 12: before anything is looked up, so that a refusal says nothing about what exists. */
export const authorize: StageRun = (x, { authorizer }) => {
  const caller = callerOf(x);
  refuseImpersonation(x, caller);
  if (x.names.type === 'path') {
    const question = { verb: x.names.verb, path: x.names.path };
    const decision = authorizer.decidePath(caller, question);
    note(x, decision, caller.as(undefined));
    if (!decision.allowed) throw forbiddenFor(caller.as(x.names.cluster), question, decision);
    return;
  }
  const { target, question } = x.names;
  if (isFilteredList(target) || isForOwners(target)) {
    x.decision = { allowed: true, why: 'decided object by object' };
    return;
  }
  const decision = authorizer.decide(caller, question);
  note(x, decision, caller.as(question.cluster));
  if (!decision.allowed) throw forbiddenFor(caller.as(question.cluster), question, decision);
};

function note(x: Exchange, decision: Decision, user: User): void {
  x.decision = { allowed: decision.allowed, why: decision.allowed ? whyAllowed(decision, user) : decision.reason };
}

/** We do not impersonate. To ignore the wish would run the request with more rights than were asked for. */
function refuseImpersonation(x: Exchange, caller: Caller): void {
  const { impersonation } = x.wire;
  if (impersonation === undefined) return;
  const question: ResourceQuestion = {
    verb: 'impersonate',
    group: '',
    resource: impersonation.header === 'impersonate-group' ? 'groups' : 'users',
    subresource: '',
    namespace: '',
    name: impersonation.value,
    cluster: undefined,
  };
  const decision = { allowed: false, reason: 'impersonation is not supported' };
  note(x, decision, caller.as(undefined));
  throw forbiddenFor(caller.as(undefined), question, decision);
}

export const findRoute: StageRun = (x, { resources, paths }) => {
  if (x.names.type === 'path') {
    const route = paths.find(x.names);
    if (route === undefined) throw pathNotFound();
    return servePath(x, x.names, route);
  }
  x.notes.route ??= servedRoute(resources, x.names.target, x.wire.method);
  x.route = x.notes.route;
  return undefined;
};

export const negotiate: StageRun = (x) => {
  const { style, offers } = x.route;
  x.accept = negotiateAccept(x.wire.accept, { style, offers, verb: targetOf(x).verb });
};

export const checkContentType: StageRun = (x) => {
  const { method } = x.wire;
  if (!WITH_BODY.has(method)) return;
  refuseContentEncoding(x.req);
  // The body of a DELETE is optional: without one its type does not matter.
  if (method === 'DELETE' && isBodiless(x)) return;
  const contentType = x.req.headers['content-type'];
  const { style, patchTypes } = x.route;
  x.mediaType =
    method === 'PATCH'
      ? negotiateContentType(contentType, patchTypes)
      : negotiateContentType(contentType, READABLE_NAMES[style], MEDIA_TYPES[0]?.name);
};

/** Whoever sends slowly, or had to wait, is asked again at the end: what was allowed half a minute ago may not be any more. */
export const receiveBody: StageRun = (x, parts) => {
  if (!WITH_BODY.has(x.wire.method)) return undefined;
  const length = announcedLength(x.req);
  // What is kept of a large one is bounded too: it waits unread until there is a place for it.
  const turn = isLargeBody(length) ? takeSeat(x, parts, 'bodySeat', 'bodies', callerOf(x).key) : undefined;
  const announce = x.arrival.expectsContinue ? () => x.res.writeContinue() : undefined;
  const offerStop = (stop: () => void): void => {
    x.stopReading = stop;
  };
  const read = () => (x.answer === undefined ? readBody(x.req, length, announce, offerStop) : undefined);
  const bytes = turn === undefined ? read() : turn.then(read);
  if (!(bytes instanceof Promise)) return keepBody(x, bytes);
  return bytes.then((received) => {
    keepBody(x, received);
    if (x.answer !== undefined) return undefined;
    if (!callerOf(x).isLive()) throw unauthorized();
    return authorize(x, parts);
  });
};

function keepBody(x: Exchange, bytes: Uint8Array | undefined): void {
  if (bytes === undefined || x.mediaType === '' || (bytes.length === 0 && x.wire.method === 'DELETE')) return;
  x.body = { bytes, mediaType: x.mediaType };
}

export const handle: StageRun = async (x, { beforeRelease }) => {
  if (x.accept === undefined) throw new Error('a handler needs a negotiated answer');
  const willAnswer = (code: number): void => void beforeRelease(x, code);
  const answer = await x.route.handle(new HandlerRequest(x, callerOf(x), x.accept, willAnswer));
  // A9. By the path, not by what the handler says of its answer: one that forgot to would release it unrecorded.
  if (targetOf(x).subresource === 'token' && 'code' in answer) await beforeRelease(x, answer.code);
  x.answer = answer;
};

async function servePath(x: Exchange, { cluster, path }: PathTarget, route: PathRoute): Promise<void> {
  const { method, accept } = x.wire;
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

function callerOf({ caller }: Exchange): Caller {
  if (caller === undefined) throw new Error('not authenticated');
  return caller;
}

const isBodiless = ({ req }: Exchange): boolean =>
  req.headers['transfer-encoding'] === undefined && (req.headers['content-length'] ?? '0') === '0';
