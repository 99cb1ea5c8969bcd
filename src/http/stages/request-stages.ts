import { randomUUID } from 'node:crypto';
import { parseGoDuration, toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { type Exchange, targetOf } from '../exchange.ts';
import type { FormRoute } from '../oauth/form-route.ts';
import { readCheckedHeaders } from '../request/header-checks.ts';
import { negotiateAccept, PLAIN_JSON } from '../request/negotiate.ts';
import { isForm, routeOf, type StageParts, type StageRun } from './stage.ts';

/** The stages that read the request line and the headers. */

/** C-01: a client's own id is kept, within reason, so that the client can find its request in our records. */
export const assignAuditId: StageRun = (x) => {
  const given = x.req.headers['audit-id'];
  x.auditId = typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given) ? given : randomUUID();
};

export const checkHeaders: StageRun = (x, parts) => {
  try {
    if (x.arrival.refusal !== undefined) throw x.arrival.refusal;
    x.checkedHeaders = readCheckedHeaders(x.req);
  } catch (error) {
    const form = formAt(x.req.url, parts);
    if (form !== undefined) x.render = form.render;
    throw error;
  }
};

/** An OAuth endpoint answers with an error of OAuth also before the request line is read, e.g. to OPTIONS. */
function formAt(url: string | undefined, { parseRequestLine, forms }: StageParts): FormRoute | undefined {
  try {
    const { info } = parseRequestLine('POST', url ?? '');
    return info.type === 'path' ? forms.find(info) : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

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

export const negotiate: StageRun = (x) => {
  if (isForm(x) || x.mcp !== undefined) {
    x.accept = PLAIN_JSON;
    return;
  }
  const { style, offers } = routeOf(x);
  x.accept = negotiateAccept(x.headers.accept, { style, offers, verb: targetOf(x).verb });
};
