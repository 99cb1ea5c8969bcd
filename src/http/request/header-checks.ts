import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest } from '../../api/status.ts';
import type { Method } from './request-info.ts';

/** What the header block says before anyone believes it. */
export interface CheckedHeaders {
  readonly method: Method;
  /** The first `Accept` line; Node would join several (N-06). */
  readonly accept: string | undefined;
  /** The first `Impersonate-*` header, if there is one. */
  readonly impersonation: { readonly header: string; readonly value: string } | undefined;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
export const MAX_HEADERS = 100;

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });

export const headersTooLarge = (message: string): ApiError => new ApiError(431, 'RequestHeaderFieldsTooLarge', message);

/** By its length and how it begins: whether the name of a header can be one that is looked for. */
const mayMatter = ({ length, 0: first }: string): boolean =>
  length === 4 || length === 6 || length === 12 || length === 13 || (length > 13 && (first === 'i' || first === 'I'));

/** Looks at the raw header lines, because Node's parsed view has already dropped and joined some of them. */
export function readCheckedHeaders(req: IncomingMessage): CheckedHeaders {
  const lines = req.rawHeaders;
  if (lines.length > 2 * MAX_HEADERS) throw headersTooLarge(`the request has more than ${MAX_HEADERS} headers`);
  const method = req.method;
  if (!isMethod(method)) throw methodNotAllowed();

  let accept: string | undefined;
  let impersonation: CheckedHeaders['impersonation'];
  const seen: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const written = lines[at] ?? '';
    if (!mayMatter(written)) continue;
    const name = written.toLowerCase();
    const value = lines[at + 1] ?? '';
    // A second one of these would mean different things to different programs (first wins, last wins, joined).
    if (name === 'authorization' || name === 'host' || name === 'content-type') {
      if (seen.includes(name)) throw badRequest(`the request has more than one ${name} header`);
      seen.push(name);
    } else if (name === 'accept') accept ??= value;
    else if (name.startsWith('impersonate-')) impersonation ??= { header: name, value };
  }
  if (req.httpVersionMajor !== 1) throw badRequest('only HTTP/1.1 is spoken here');
  if (req.httpVersionMinor > 0 && !seen.includes('host')) throw badRequest('the request has no Host header');
  // Node's parser refuses any other coding too, but only after the request has been handed out.
  const coding = req.headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw badRequest('the only transfer coding accepted is chunked');
  }
  // RFC 9112 6.1: HTTP/1.0 knows no transfer coding, so whoever sends one may frame the message otherwise.
  if (coding !== undefined && req.httpVersionMinor === 0) throw badRequest('HTTP/1.0 has no transfer coding');
  return { method, accept, impersonation };
}

const isMethod = (method: string | undefined): method is Method => METHODS.has(method ?? '');
