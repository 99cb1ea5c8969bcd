import type { Duplex } from 'node:stream';
import type { LingeringResponse } from '../response/lingering-response.ts';

/** What the listener knows of a connection. */
interface ClientConnection {
  /** The answer to its newest request: an error of the parser must not be mixed up with it. */
  newest: LingeringResponse;
  /** A caller has authenticated on it. */
  isAuthenticated: boolean;
}

/** Connections on which a request has arrived. An entry is deleted when its socket closes. */
export class ClientConnections {
  readonly #bySocket = new Map<Duplex, ClientConnection>();

  get size(): number {
    return this.#bySocket.size;
  }

  find(socket: Duplex): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  arrived(socket: Duplex, res: LingeringResponse): void {
    const known = this.#bySocket.get(socket);
    if (known !== undefined) {
      known.newest = res;
      return;
    }
    this.#bySocket.set(socket, { newest: res, isAuthenticated: false });
    socket.once('close', () => this.#bySocket.delete(socket));
  }

  /** True the first time a caller authenticates on this connection. */
  authenticated(socket: Duplex): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.isAuthenticated) return false;
    connection.isAuthenticated = true;
    return true;
  }
}
