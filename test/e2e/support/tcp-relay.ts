import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly url: string;
  /** The number of connections so far. */
  readonly opened: number;
  close(): Promise<void>;
}

/**
 * Another port of the same server, as behind a proxy. A server refuses to register its own address as a cluster, so
 * tests that use a server as the API of a cluster register this address.
 */
export async function openRelay(url: string): Promise<Relay> {
  const { hostname, port, protocol } = new URL(url);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  let opened = 0;
  const server = createServer((near) => {
    opened += 1;
    const far = keep(connect(Number(port), hostname));
    keep(near).pipe(far).pipe(near);
  });
  server.listen(0, hostname);
  await once(server, 'listening');
  return {
    url: `${protocol}//${hostname}:${(server.address() as AddressInfo).port}`,
    get opened() {
      return opened;
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
