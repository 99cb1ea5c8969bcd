import { parseGoDuration, toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { issuesToken } from '../../api/kinds/token-request.ts';
import { badRequest, pathNotFound } from '../../api/status.ts';
import type { Exchange } from '../exchange.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import { negotiateAccept } from '../request/negotiate.ts';
import { servedRoute } from '../routes/resource-routes.ts';
import type { Stage } from './stage.ts';

/** The stages that find the route of a request and call its handler. */

/** Finds the route of a resource. A path that is no resource is served at once: all of it is checked. */
export const findRoute: Stage = (x, { resources }) => {
  if (x.info.type === 'path') return servePath(x);
  x.resourceRoute = servedRoute(resources, x.info.target, x.headers.method);
  return undefined;
};

export async function servePath(x: Exchange): Promise<void> {
  const { pathRoute: route } = x;
  if (route === undefined) throw pathNotFound();
  const { cluster, path } = x.pathInfo;
  const { method, accept } = x.headers;
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
  x.answer = await route.handle({
    caller: x.knownCaller,
    method,
    cluster,
    path,
    asked: x.path,
    query: x.query,
    accept,
    acceptEncoding: x.req.headers['accept-encoding']?.toString(),
    ifNoneMatch: x.req.headers['if-none-match'],
    work: x.work,
  });
}

export const handle: Stage = async (x, { beforeRelease }) => {
  const sentCode = (code: number): number => x.successCode ?? code;
  x.willAnswer = (code) => beforeRelease(x, sentCode(code));
  x.isWriting = x.headers.method !== 'GET' && x.headers.method !== 'HEAD';
  try {
    const answer = await x.route.handle(x);
    // A9: a handler that forgot `willAnswer` must not release a token without its event.
    if (issuesToken(x.target.subresource) && x.auditedCode === undefined) throw new Error('a token without an event');
    x.answer = answer;
  } finally {
    x.isWriting = false;
    x.onWritten?.();
  }
};

/** The stages that act on what classification has read: how long the request may take, and the form of its answer. */

/** C-07: a bad `timeout` is reported before authentication. A watch ends by itself (V-17). */
export const applyTimeout: Stage = (x) => {
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

export const negotiate: Stage = (x) => {
  const { style, offers } = x.route;
  x.negotiated = negotiateAccept(x.headers.accept, { style, offers, verb: x.target.verb });
};
