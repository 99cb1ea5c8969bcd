import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SecondDoor {
  readonly url: string;
  /** How many connections went through it. */
  readonly opened: number;
  close(): Promise<void>;
}

/**
 * Another port that leads to the same server, as a proxy would. A desk refuses to register its own address, so this is
 * where a cluster is whose API the desk stands in for.
 */
export async function openSecondDoor(url: string): Promise<SecondDoor> {
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
