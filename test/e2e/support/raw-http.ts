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
