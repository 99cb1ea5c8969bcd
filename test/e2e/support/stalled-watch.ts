import { connect, type Socket } from 'node:net';
import type { Server } from './server.ts';

/** A client that opens a watch and then does not read. */
export function stalledWatch(server: Server, path: string, token = server.adminToken): Socket {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
  return socket;
}

/** The bytes that the client can still read, their end, and whether the server ended the stream properly. */
export function drain(socket: Socket): Promise<{ bytes: number; ended: boolean; tail: string }> {
  return new Promise((resolve) => {
    let bytes = 0;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-500);
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve({ bytes, ended: tail.endsWith('\r\n0\r\n\r\n'), tail }));
    socket.resume();
  });
}

const KIB = 1024;
export const NOTE_BYTES = 250 * KIB;
/**
 * More than the kernel takes for a client that does not read: both of its buffers together may be 36 MiB
 * (tcp_wmem and tcp_rmem), and the server adds the one that it allows.
 */
export const WRITES = 200;
