import { randomUUID } from 'node:crypto';
import { ApiError } from '../../api/status.ts';
import type { Exchange } from '../exchange.ts';
import { isMcpPath } from '../mcp/mcp-endpoint.ts';
import type { FormRoute } from '../oauth/form.ts';
import { readCheckedHeaders } from '../request/header-checks.ts';
import type { StageParts } from './stage.ts';

/** Which pipeline a request goes through: a resource of the API, or a path that needs a permission, is `RESOURCE`. */
export type PipelineName = 'PUBLIC' | 'FORM' | 'MCP' | 'RESOURCE';

/** Checks and reads the headers and the request line of every request. Throws what a malformed one is answered with. */
export function classify(x: Exchange, parts: StageParts): PipelineName {
  x.auditId = auditIdOf(x);
  checkHeaders(x, parts);
  const { path, query, info } = parts.parseRequestLine(x.headers.method, x.req.url ?? '');
  x.path = path;
  x.query = query;
  x.requestInfo = info;
  if (info.type === 'resource') return 'RESOURCE';
  const { forms, paths, mcp } = parts;
  x.formRoute = forms(info);
  if (x.formRoute !== undefined) {
    x.render = x.formRoute.render;
    return 'FORM';
  }
  x.pathRoute = paths(info);
  if (x.pathRoute?.public === true) return 'PUBLIC';
  if (mcp === undefined || !isMcpPath(info)) return 'RESOURCE';
  x.mcp = mcp;
  return 'MCP';
}

/** C-01: a client's own id is kept, within reason, so that the client can find its request in our records. */
function auditIdOf({ req }: Exchange): string {
  const given = req.headers['audit-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given) ? given : randomUUID();
}

function checkHeaders(x: Exchange, parts: StageParts): void {
  try {
    if (x.arrival.refusal !== undefined) throw x.arrival.refusal;
    x.checkedHeaders = readCheckedHeaders(x.req);
  } catch (error) {
    const form = formAt(x.req.url, parts);
    if (form !== undefined) x.render = form.render;
    throw error;
  }
}

/** An OAuth endpoint answers with an error of OAuth also before the request line is read, e.g. to OPTIONS. */
function formAt(url: string | undefined, { parseRequestLine, forms }: StageParts): FormRoute | undefined {
  try {
    const { info } = parseRequestLine('POST', url ?? '');
    return info.type === 'path' ? forms(info) : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
