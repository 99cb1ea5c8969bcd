import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest } from '../../api/status.ts';
import type { Method } from './request-info.ts';

export interface HeaderLine {
  readonly name: string;
  readonly value: string;
}

/** What the pipeline reads from the header block, checked. */
export interface CheckedHeaders {
  readonly method: Method;
  /** The first `Accept` line; Node would join several (N-06). */
  readonly accept: string | undefined;
  /** The `Impersonate-*` lines in order, names in lower case; undefined when there is none. */
  readonly impersonation: readonly HeaderLine[] | undefined;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
export const MAX_HEADERS = 100;

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });

export const headersTooLarge = (message: string): ApiError => new ApiError(431, 'RequestHeaderFieldsTooLarge', message);

/** Reads the raw header lines: Node's parsed headers have dropped and joined some of them. */
export function readCheckedHeaders(req: IncomingMessage): CheckedHeaders {
  const lines = req.rawHeaders;
  if (lines.length > 2 * MAX_HEADERS) throw headersTooLarge(`the request has more than ${MAX_HEADERS} headers`);
  const method = req.method;
  if (!isMethod(method)) throw methodNotAllowed();

  let accept: string | undefined;
  let impersonation: HeaderLine[] | undefined;
  const seen: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = (lines[at] ?? '').toLowerCase();
    const value = lines[at + 1] ?? '';
    // Programs disagree on what a second one of these means: the first wins, the last wins, or both are joined.
    if (name === 'authorization' || name === 'host' || name === 'content-type') {
      if (seen.includes(name)) throw badRequest(`the request has more than one ${name} header`);
      seen.push(name);
    } else if (name === 'accept') {
      accept ??= value;
    } else if (name.startsWith('impersonate-')) {
      impersonation ??= [];
      impersonation.push({ name, value });
    }
  }
  if (req.httpVersionMajor !== 1) throw badRequest('only HTTP/1.1 is spoken here');
  if (req.httpVersionMinor > 0 && !seen.includes('host')) throw badRequest('the request has no Host header');
  // Node's parser refuses any other coding too, but only after it has handed out the request.
  const coding = req.headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw badRequest('the only transfer coding accepted is chunked');
  }
  // RFC 9112 section 6.1: HTTP/1.0 has no transfer coding, so its framing could be read in two ways.
  if (coding !== undefined && req.httpVersionMinor === 0) throw badRequest('HTTP/1.0 has no transfer coding');
  return { method, accept, impersonation };
}

const isMethod = (method: string | undefined): method is Method => METHODS.has(method ?? '');
