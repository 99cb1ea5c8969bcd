import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { FleetServer } from './processes.ts';

export interface Response {
  readonly code: number;
  readonly body: Buffer;
}

/** A request, as far as it is not a GET without a body. */
export interface Call {
  /** The administrator's by default. */
  readonly token?: string;
  /** An object is sent as JSON. */
  readonly body?: object | string;
  /** Content-Type of the body. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request. For set-up and checks; the driver sends the requests that are measured. */
export function call(server: FleetServer, method: string, path: string, sent: Call = {}): Promise<Response> {
  const { token = server.adminToken, body, type = 'application/json' } = sent;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type, ...sent.headers };
  const to = { host: '127.0.0.1', port: server.port, method, path, headers, rejectUnauthorized: false, agent: false };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  request(to, (response) => {
    buffer(response).then((bytes) => resolve({ code: response.statusCode ?? 0, body: bytes }), reject);
  })
    .on('error', reject)
    .end(body === undefined ? undefined : textOf(body));
  return promise;
}

const textOf = (body: object | string): string => (typeof body === 'string' ? body : JSON.stringify(body));

/** The body as JSON. Throws unless the status is a success. */
export async function expectSuccess<T>(response: Promise<Response>): Promise<T> {
  const { code, body } = await response;
  if (code >= 300) throw new Error(`status ${code}: ${body.toString().slice(0, 500)}`);
  return JSON.parse(body.toString()) as T;
}

/** The bytes of a request, as the driver sends them. */
export function requestText(
  method: string,
  path: string,
  { token, body, type = 'application/json', headers = {} }: Call,
): string {
  const text = body === undefined ? '' : textOf(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: bench',
    `Authorization: Bearer ${token}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  if (body !== undefined) lines.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`);
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

export function expectEqual(name: string, found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`${name}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}
