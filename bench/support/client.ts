import { request } from 'node:https';
import type { Desk } from './processes.ts';

export interface Answer {
  readonly code: number;
  readonly body: Buffer;
}

export interface Call {
  readonly token?: string;
  readonly body?: object;
  readonly type?: string;
}

/** One request over a connection of its own: for what is prepared and checked, not for what is measured. */
export function call(
  desk: Pick<Desk, 'port' | 'adminToken'>,
  method: string,
  path: string,
  sent: Call = {},
): Promise<Answer> {
  const { token = desk.adminToken, body, type = 'application/json' } = sent;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(text === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }),
    };
    const asked = request(
      { host: '127.0.0.1', port: desk.port, method, path, headers, rejectUnauthorized: false, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve({ code: answer.statusCode ?? 0, body: Buffer.concat(chunks) }));
        answer.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(text);
  });
}

/** The answer as JSON; throws unless it is a success. */
export async function must<T>(answer: Promise<Answer>): Promise<T> {
  const { code, body } = await answer;
  if (code >= 300) throw new Error(`answered with ${code}: ${body.toString().slice(0, 500)}`);
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

export function expectEqual(what: string, found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}
