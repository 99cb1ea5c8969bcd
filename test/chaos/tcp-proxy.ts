import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy between a replica and an etcd member. In a partition it drops all bytes without closing connections. */
export class TcpProxy {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #partitioned = false;
  #delayMs = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.endpoint = `127.0.0.1:${port}`;
  }

  static async to(endpoint: string): Promise<TcpProxy> {
    const [host = '', port] = endpoint.split(':');
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new TcpProxy(server, (server.address() as { port: number }).port);
    server.on('connection', (near) => {
      const far = connect({ host, port: Number(port) });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        proxy.#sockets.add(from);
        from.on('data', (bytes) => {
          // Bytes are lost, so the connection is closed afterwards: see heal().
          if (proxy.#partitioned) return;
          // Timers with one delay fire in order.
          if (proxy.#delayMs === 0 || from === near) to.write(bytes);
          else setTimeout(() => to.write(bytes), proxy.#delayMs);
        });
        from.on('error', () => to.destroy());
        from.on('close', () => {
          proxy.#sockets.delete(from);
          to.destroy();
        });
      }
    });
    return proxy;
  }

  /** Delays every response of the member. Must not be reduced on open connections: bytes would be reordered. */
  slow(ms: number): void {
    this.#delayMs = ms;
  }

  partition(): void {
    this.#partitioned = true;
  }

  /** Closes the connections, which have lost bytes. */
  heal(): void {
    this.#partitioned = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
