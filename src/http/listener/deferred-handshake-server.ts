import type { IncomingMessage } from 'node:http';
import { Server, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { LingeringResponse } from '../response/lingering-response.ts';

/** Calls `begin` when the handshake of a connection may begin, or closes the connection. */
type AdmitConnection = (socket: Socket, begin: () => void) => void;

/**
 * An HTTPS server whose handshakes begin when `admit` says so. Node begins a handshake at the event `connection`, which
 * programs may emit, too: it is emitted late. Until then the connection is paused, or what its client sends would be
 * kept in memory.
 */
export class DeferredHandshakeServer extends Server<typeof IncomingMessage, typeof LingeringResponse> {
  readonly #admit: AdmitConnection;
  declare pauseOnConnect: boolean;

  constructor(options: ServerOptions<typeof IncomingMessage, typeof LingeringResponse>, admit: AdmitConnection) {
    super({ ...options, pauseOnConnect: true });
    this.#admit = admit;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the arguments of any event
  override emit(event: string | symbol, ...args: any[]): boolean {
    if (event !== 'connection') return super.emit(event, ...args);
    const [socket] = args as [Socket];
    this.#admit(socket, () => {
      // tls.Server reads pauseOnConnect as well, and would pause the TLS socket.
      this.pauseOnConnect = false;
      super.emit('connection', socket);
      this.pauseOnConnect = true;
    });
    return true;
  }
}
