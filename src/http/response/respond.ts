import type { ServerResponse } from 'node:http';
import { encodeValue, toJson } from '../../api/codec/encode.ts';
import { yamlOf } from '../../api/codec/to-yaml.ts';
import type { Accepted, ApiResponse, ListResponse, ValueResponse } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { Work } from '../../lib/work-queue.ts';
import { type ChunkPool, endWith, type Making, writeChunks, writeGzipped, writeReady } from './body-writer.ts';
import { indentJson } from './indent-json.ts';
import { CompactList, type ListForm, listChunks } from './list-body.ts';
import { WatchStream } from './watch-response.ts';

/** Everything a request can be answered with. */
export type Answer = ApiResponse | RawAnswer | StatusAnswer;

/** The JSON of an answer of the API; undefined for an error. */
export function jsonOf(answer: Answer): unknown {
  if (answer.type === 'value') return answer.value;
  if (answer.type !== 'json') return undefined;
  return JSON.parse(typeof answer.json === 'string' ? answer.json : Buffer.from(answer.json).toString());
}

/** Bytes with their own headers: documents, health, pages. Not negotiated. */
export interface RawAnswer {
  readonly type: 'raw';
  readonly code: number;
  /** `Content-Type` at least; a `Cache-Control` here replaces the usual one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

export const rawAnswer = (code: number, headers: RawAnswer['headers'], body: RawAnswer['body'] = ''): RawAnswer => ({
  ...{ type: 'raw', code, headers, body },
});

export const textAnswer = (code: number, body: string, headers: RawAnswer['headers'] = {}): RawAnswer =>
  rawAnswer(code, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }, body);

/** An error. Always JSON, whatever was negotiated: every client can read that. */
interface StatusAnswer {
  readonly type: 'status';
  readonly error: ApiError;
}

/** How a response is written, as far as the request decides it. */
export interface Envelope {
  readonly res: ServerResponse;
  readonly auditId: string;
  /** Values of `Warning` headers; sent with errors, too (W-05). */
  readonly warnings: readonly string[];
  readonly mediaType: Accepted['mediaType'];
  readonly pretty: boolean;
  readonly gzip: boolean;
  readonly headOnly: boolean;
  /** Ask the client not to use the connection again. */
  readonly close: boolean;
  /** The value of `Strict-Transport-Security`; undefined for none. */
  readonly strictTransportSecurity: string | undefined;
  /** Gets errors that happen after the answer has started. */
  readonly onFailure: (error: unknown) => void;
  /** Keeps the stream of a watch, to end it when the server stops. */
  readonly trackWatch: (stream: WatchStream) => void;
  readonly buffers: ChunkPool;
  /** The turns in which the body is made. */
  readonly work: () => Work;
  /**
   * Gives back the seat of the request, which covers its work: the list or object, and then the making of its bytes.
   * Bytes that exist wait for the client without a seat. Those of a list that is indented, compressed or written as
   * YAML are made on demand, a chunk ahead of the client, so its seat ends with the last of them, or as soon as the
   * client keeps it waiting for a second.
   */
  readonly onMade: () => void;
}

/** N-09: bodies up to this size are not worth compressing. */
const GZIP_ABOVE = 131_072;

/** Writes one answer. Resolves when everything is handed to the socket; for a watch, when it has started. */
export function respond(envelope: Envelope, answer: Answer): Promise<void> | undefined {
  switch (answer.type) {
    case 'value':
      return write(envelope, answer.code, encoded(answer));
    case 'json':
      return write(envelope, answer.code, answer.json);
    case 'status':
      return writeStatus(envelope, answer.error);
    case 'raw':
      return writeRaw(envelope, answer);
    case 'list':
      return writeList(envelope, answer);
    case 'watch': {
      envelope.res.writeHead(200, headersFor(envelope, 'application/json'));
      const stream = new WatchStream(envelope.res, envelope.onFailure, envelope.buffers);
      envelope.trackWatch(stream);
      answer.start(stream);
      return undefined;
    }
  }
}

const encoded = ({ value, schema }: ValueResponse): string =>
  schema === undefined ? toJson(value) : encodeValue(value, schema.shape, schema.style);

function headersFor(
  { auditId, warnings, close, strictTransportSecurity }: Envelope,
  contentType: string,
  cacheControl?: string,
): string[] {
  const headers = [
    'Audit-Id',
    auditId,
    'Cache-Control',
    cacheControl ?? 'no-cache, private',
    'Content-Type',
    contentType,
  ];
  for (const warning of warnings) headers.push('Warning', warning);
  if (close) headers.push('Connection', 'close');
  if (strictTransportSecurity !== undefined) headers.push('Strict-Transport-Security', strictTransportSecurity);
  return headers;
}

/** To indent a longer object, or to make YAML of it, takes more than a millisecond. */
const SHAPED_AT_ONCE = 65_536;

/** One object; `json` is its compact form. */
function write(
  envelope: Envelope,
  code: number,
  json: Uint8Array | string,
  extraHeaders: readonly string[] = [],
): Promise<void> | undefined {
  const isShaped = envelope.pretty || envelope.mediaType === 'application/yaml';
  const turn = isShaped && json.length > SHAPED_AT_ONCE ? envelope.work().turn() : undefined;
  if (turn === undefined) return writeNow(envelope, code, json, extraHeaders);
  return turn.then(() => writeNow(envelope, code, json, extraHeaders));
}

function writeNow(
  envelope: Envelope,
  code: number,
  json: Uint8Array | string,
  extraHeaders: readonly string[],
): Promise<void> | undefined {
  const { res, mediaType, pretty, gzip, headOnly, onMade } = envelope;
  const yaml = mediaType === 'application/yaml';
  const body = yaml ? yamlOf(json) : pretty ? indentJson(json) : json;
  onMade();
  const ending = yaml || pretty ? '' : '\n';
  const headers = headersFor(envelope, mediaType);
  headers.push(...extraHeaders);
  const length = Buffer.byteLength(body) + ending.length;
  if (gzip && length > GZIP_ABOVE) {
    headers.push('Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding');
    res.writeHead(code, headers);
    if (!headOnly) return writeGzipped(res, [bytesOf(body), Buffer.from(ending)], making(envelope));
    res.end();
    return undefined;
  }
  headers.push('Content-Length', String(length));
  res.writeHead(code, headers);
  if (headOnly) res.end();
  else endWith(res, body, ending);
  return undefined;
}

const bytesOf = (text: Uint8Array | string): Uint8Array => (typeof text === 'string' ? Buffer.from(text) : text);

function writeStatus(envelope: Envelope, error: ApiError): Promise<void> | undefined {
  const { status } = error;
  const extra: string[] = [];
  // Decision 8: tells browsers and tools which credential is missing.
  if (status.code === 401) extra.push('WWW-Authenticate', 'Bearer');
  if (status.code === 403) extra.push('X-Content-Type-Options', 'nosniff');
  const retryAfter = status.details?.retryAfterSeconds ?? 0;
  if (retryAfter > 0) extra.push('Retry-After', String(retryAfter));
  if (error.allow !== undefined) extra.push('Allow', error.allow);
  // N-05: kube-apiserver indents it, too.
  const pretty = envelope.pretty || status.code === 406;
  return write({ ...envelope, mediaType: 'application/json', pretty }, status.code, toJson(status), extra);
}

/** A longer document is written in pieces, so that its encryption does not block the event loop. */
const PIECE_BYTES = 1024 * 1024;

function writeRaw(envelope: Envelope, { code, headers: own, body }: RawAnswer): Promise<void> | undefined {
  const bytes = bytesOf(body);
  const { 'Content-Type': contentType = 'application/octet-stream', 'Cache-Control': cacheControl, ...rest } = own;
  const headers = headersFor(envelope, contentType, cacheControl);
  for (const [name, value] of Object.entries(rest)) headers.push(name, value);
  // RFC 9110 section 15.4.5: a 304 has no body, and no length of one.
  const bodiless = code === 304 || code === 204;
  if (!bodiless) headers.push('Content-Length', String(bytes.length));
  envelope.onMade();
  envelope.res.writeHead(code, headers);
  if (bodiless || envelope.headOnly) envelope.res.end();
  else if (bytes.length > PIECE_BYTES) return writeChunks(envelope.res, piecesOf(bytes), making(envelope));
  else endWith(envelope.res, bytes);
  return undefined;
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

function writeList(envelope: Envelope, list: ListResponse): Promise<void> | undefined {
  const { res, mediaType, pretty, gzip, headOnly } = envelope;
  const form: ListForm = mediaType === 'application/yaml' ? 'yaml' : pretty ? 'pretty' : 'compact';
  const compact = new CompactList(list);
  const headers = headersFor(envelope, mediaType);
  const compress = gzip && compact.length > GZIP_ABOVE;
  if (compress) headers.push('Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding');
  // With a length a client can tell a complete list from a broken connection, and show progress.
  else if (form === 'compact') headers.push('Content-Length', String(compact.length));
  res.writeHead(200, headers);
  if (headOnly) {
    res.end();
    return undefined;
  }
  if (compress) return writeGzipped(res, listChunks(list, form), making(envelope));
  if (form !== 'compact') return writeChunks(res, listChunks(list, form), making(envelope));
  envelope.onMade();
  return writeReady(res, compact, envelope.buffers);
}

const making = ({ work, onMade }: Envelope): Making => ({ work: work(), onMade });
