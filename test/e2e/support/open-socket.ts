import { once } from 'node:events';
import { connect } from 'node:net';
import type { Server } from './server.ts';

export interface OpenSocket {
  write(text: string): void;
  /** Resolves when this text has arrived; rejects when the other side closes before. */
  until(text: string): Promise<void>;
  /** Everything that arrives until the other side closes. */
  rest(): Promise<string>;
}

/** A connection whose bytes a test writes itself. Rejects when the connection is refused. */
export async function openSocket(server: Server): Promise<OpenSocket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  // After a reset, the text that a test waits for is missing.
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  return {
    write: (text) => void socket.write(text),
    until: async (text) => {
      while (!received.includes(text)) {
        if (socket.closed) throw new Error(`closed after ${JSON.stringify(received)}`);
        await Promise.race([once(socket, 'data'), closed]);
      }
    },
    rest: async () => {
      await closed;
      return received;
    },
  };
}
