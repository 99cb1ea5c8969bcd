import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { toJson } from '../../api/codec/encode.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { headersTooLarge, methodNotAllowed } from '../request/header-checks.ts';

const NEWEST = Symbol('newest response');
type Connection = Duplex & { [NEWEST]?: ServerResponse };

/**
 * Remembers the newest request of a connection: its answer must not be mixed up with that of an error. On
 * the socket itself, because a WeakMap would cost the garbage collector more than the request's own objects.
 */
export function trackNewest(req: IncomingMessage, res: ServerResponse): void {
  (req.socket as Connection)[NEWEST] = res;
}

type ParserError = Error & { code?: string; rawPacket?: Buffer };

/**
 * Answers what Node's parser refuses: there is no request object then, only a socket. Every such connection
 * is closed, because after a parse error nobody knows where the next request would start. `lingerMs` is how long a client has to take
 * the answer and to close its own side: at once, with bytes that nobody has read, the system would take the answer back as well.
 */
export function answerClientErrors(lingerMs: number): (error: ParserError, socket: Connection) => void {
  const end = (socket: Connection, lastWords = ''): void => {
    const late = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(late));
    socket.end(lastWords);
  };
  return (error, socket) => {
    const refusal = refusalFor(error);
    if (refusal === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    const newest = socket[NEWEST];
    if (newest === undefined || newest.writableFinished) {
      end(socket, rawResponse(refusal));
    } else if (newest.writableEnded) {
      // Refused already, by a check of ours that was faster than the parser.
      end(socket);
    } else if (newest.req.complete) {
      // The error is in a pipelined request; the one before it still gets its own answer.
      newest.once('finish', () => end(socket, rawResponse(refusal)));
    } else if (newest.headersSent) {
      socket.destroy();
    } else {
      // The body went wrong while it was being read. The request sees its connection close and stops.
      end(socket, rawResponse(refusal));
      newest.req.destroy();
    }
  };
}

function refusalFor({ code = '', rawPacket }: { code?: string; rawPacket?: Buffer }): ApiError | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError(408, 'RequestTimeout', 'the request was not complete in time');
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge('the header of the request is too large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError(413, 'RequestEntityTooLarge', 'the chunk extensions of the request are too large');
    case 'HPE_INVALID_METHOD':
      // A word that could be a method, or something that is not HTTP at all (a TLS handshake, say)?
      return /^[A-Z]+ /.test(rawPacket?.toString('latin1', 0, 64) ?? '') ? methodNotAllowed() : malformed();
    default:
      // Anything else that is not the parser's is trouble with the connection (resets, TLS): nobody listens.
      return code.startsWith('HPE_') ? malformed() : undefined;
  }
}

const malformed = (): ApiError => badRequest('the request is not well-formed HTTP/1.1');

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

function rawResponse({ status }: ApiError): string {
  const body = `${toJson(status)}\n`;
  return [
    `HTTP/1.1 ${status.code} ${REASONS[status.code] ?? ''}`,
    `Audit-Id: ${randomUUID()}`,
    'Cache-Control: no-cache, private',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
