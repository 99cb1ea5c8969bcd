import { issuesToken } from '../../api/kinds/token-request.ts';
import { pathNotFound } from '../../api/status.ts';
import { type Exchange, HandlerRequest, targetOf } from '../exchange.ts';
import { prefersHtml } from '../request/accept-header.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import type { PathInfo } from '../request/request-info.ts';
import { servedRoute } from '../routes/resource-routes.ts';
import type { PathRoute } from '../routes/routes.ts';
import { callerOf, isForm, routeOf, type StageRun } from './stage.ts';

/** The stages that find the route of a request and call its handler. */

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

export const handle: StageRun = async (x, { beforeRelease }) => {
  if (x.accept === undefined) throw new Error('a handler needs a negotiated answer');
  const willAnswer = (code: number): void => void beforeRelease(x, sentCode(x, code));
  x.isWriting = x.headers.method !== 'GET' && x.headers.method !== 'HEAD';
  try {
    const answer = await routeOf(x).handle(new HandlerRequest(x, callerOf(x), x.accept, willAnswer));
    // A9. Decided by the path, not by the handler: one that forgot `willAnswer` would release a token without its
    // event.
    if (issuesToken(targetOf(x).subresource) && 'code' in answer) await beforeRelease(x, sentCode(x, answer.code));
    x.answer = answer;
  } finally {
    x.isWriting = false;
    x.onWritten?.();
  }
};

/** RFC 6749 section 5.1: an OAuth endpoint answers 200 where the API answers 201. */
const sentCode = (x: Exchange, code: number): number => (isForm(x) ? 200 : code);
