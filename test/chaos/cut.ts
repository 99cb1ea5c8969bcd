import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A cable between a replica and a member of etcd, which can be pulled: nothing arrives any more, and nobody is told.
 */
export class Cable {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #pulled = false;
  #delayMs = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.endpoint = `127.0.0.1:${port}`;
  }

  static async to(endpoint: string): Promise<Cable> {
    const [host = '', port] = endpoint.split(':');
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const cable = new Cable(server, (server.address() as { port: number }).port);
    server.on('connection', (near) => {
      const far = connect({ host, port: Number(port) });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        cable.#sockets.add(from);
        from.on('data', (bytes) => {
          // What was under way when the cable was pulled is lost, and with it the connection: see mend().
          if (cable.#pulled) return;
          // Timers of one length end in the order in which they began.
          if (cable.#delayMs === 0 || from === near) to.write(bytes);
          else setTimeout(() => to.write(bytes), cable.#delayMs);
        });
        from.on('error', () => to.destroy());
        from.on('close', () => {
          cable.#sockets.delete(from);
          to.destroy();
        });
      }
    });
    return cable;
  }

  /** From now on every answer of the member is so much later. Not to be made shorter on connections that are in use. */
  slow(ms: number): void {
    this.#delayMs = ms;
  }

  pull(): void {
    this.#pulled = true;
  }

  /** Connections that lost bytes are of no use: both ends are told, as TCP would after a while. */
  mend(): void {
    this.#pulled = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
