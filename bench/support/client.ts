import { type Agent, request } from 'node:https';
import type { FleetServer } from './processes.ts';

export interface Response {
  readonly code: number;
  readonly body: Buffer;
}

export interface Call {
  /** The administrator's by default. */
  readonly token?: string;
  readonly body?: object;
  /** Content-Type of the body. */
  readonly type?: string;
}

export type CallTarget = Pick<FleetServer, 'url' | 'port' | 'adminToken'> & {
  /** For keep-alive connections. By default, each request has a new connection. */
  readonly agent?: Agent;
};

/** Sends one request. For set-up and checks; the driver sends the requests that are measured. */
export function call(server: CallTarget, method: string, path: string, sent: Call = {}): Promise<Response> {
  const { token = server.adminToken, body, type = 'application/json' } = sent;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(text === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }),
    };
    const { port, agent = false } = server;
    const outgoing = request(
      { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false, agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

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
  { token = '', body, type = 'application/json' }: Call,
): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: bench',
    `Authorization: Bearer ${token}`,
  ];
  if (body !== undefined) lines.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`);
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

export function expectEqual(name: string, found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`${name}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}
