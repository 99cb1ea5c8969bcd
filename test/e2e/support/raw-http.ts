import { connect } from 'node:net';
import type { Server } from './server.ts';

/** Sends bytes as they are, because clients normalize paths and headers. Returns all bytes of the response. */
export function sendRaw(server: Server, request: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', reject);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.write(request);
  });
}

/** A request with exactly this path, as the administrator unless a token is given. */
export async function rawCall(
  server: Server,
  method: string,
  path: string,
  { token = server.adminToken, body = '' }: { token?: string; body?: string } = {},
): Promise<{ code: number; text: string }> {
  const answer = await sendRaw(
    server,
    [
      `${method} ${path} HTTP/1.1`,
      'Host: clusterpass',
      'Connection: close',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  return { code: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), text: answer.slice(answer.indexOf('\r\n\r\n') + 4) };
}
