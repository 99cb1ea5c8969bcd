import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { toJson } from '../../api/codec/encode.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { STATUS_CODES } from '../../lib/node-http.ts';
import { headersTooLarge, methodNotAllowed } from '../request/header-checks.ts';
import type { LingeringResponse } from '../response/lingering-response.ts';

interface ClientErrorOptions {
  /** The answer to the newest request of a connection: an error of the parser must not be mixed up with it. */
  readonly newestOn: (socket: Duplex) => LingeringResponse | undefined;
  readonly lingerMs: number;
  readonly strictTransportSecurity: string | undefined;
}

type ParserError = Error & { code?: string; rawPacket?: Buffer };

/**
 * Answers what Node's parser rejects: there is only a socket then, and no request. Every such connection is closed,
 * because after a parse error it is unknown where the next request starts. `lingerMs` is how long a client has to read
 * the answer and to close its side. Were the socket destroyed at once, with bytes that were not read, the system would
 * discard the answer as well.
 */
export function answerClientErrors({
  newestOn,
  lingerMs,
  strictTransportSecurity,
}: ClientErrorOptions): (error: ParserError, socket: Duplex) => void {
  const rawResponse = (refusal: ApiError): string => rawStatus(refusal, strictTransportSecurity);
  const end = (socket: Duplex, answer = ''): void => {
    const late = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(late));
    socket.end(answer);
  };
  return (error, socket) => {
    const refusal = refusalFor(error);
    if (refusal === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    const newest = newestOn(socket);
    if (newest === undefined || newest.writableFinished) {
      end(socket, rawResponse(refusal));
    } else if (newest.writableEnded || newest.isLingering) {
      // The pipeline has refused the request already, before the parser did.
      end(socket);
    } else if (newest.req.complete) {
      // The error is in a pipelined request; the one before it still gets its own answer.
      newest.once('finish', () => end(socket, rawResponse(refusal)));
    } else if (newest.headersSent) {
      socket.destroy();
    } else {
      // The body is malformed. The request sees its connection close and stops.
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
      // It could be a method, or not HTTP at all, e.g. a TLS handshake.
      return /^[A-Z]+ /.test(rawPacket?.toString('latin1', 0, 64) ?? '') ? methodNotAllowed() : malformed();
    default:
      // Every other error is one of the connection (a reset, TLS): there is no client to answer.
      return code.startsWith('HPE_') ? malformed() : undefined;
  }
}

const malformed = (): ApiError => badRequest('the request is not well-formed HTTP/1.1');

function rawStatus({ status }: ApiError, strictTransportSecurity: string | undefined): string {
  const body = `${toJson(status)}\n`;
  return [
    `HTTP/1.1 ${status.code} ${STATUS_CODES[status.code]}`,
    `Audit-Id: ${randomUUID()}`,
    'Cache-Control: no-cache, private',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...(strictTransportSecurity === undefined ? [] : [`Strict-Transport-Security: ${strictTransportSecurity}`]),
    '',
    body,
  ].join('\r\n');
}
