import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { addressKey } from './address-limit.ts';

export interface HandshakeLimiterOptions {
  /** Handshakes begun in a second for one address, of connections on which nobody has authenticated. */
  readonly perSecond: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back once, later; tests hold it in their hands. */
  readonly later?: (act: () => void, ms: number) => void;
  readonly onRefused: (address: string) => void;
}

export interface HandshakeCounts {
  /** Connections that had to wait for their handshake. */
  readonly held: number;
  /** Connections that were closed instead, because too many waited already. */
  readonly refused: number;
}

interface Waiting {
  readonly socket: Socket;
  readonly begin: () => void;
}

interface Address {
  readonly key: string;
  /** How many handshakes may begin at once. */
  credit: number;
  /** When that was so. */
  at: number;
  readonly waiting: Set<Waiting>;
}

/** At once, in seconds' worth: a page, a deployment or a row of jobs opens its connections together. */
const BURST_SECONDS = 2;
/** Nobody waits longer, and clients wait longer than this. */
const MAX_WAIT_SECONDS = 10;

const PROVEN = Symbol('proven');
type Connection = Socket & { [PROVEN]?: true };

/**
 * A handshake costs more than most requests, and is asked for by people of whom nothing is known. For each address so many
 * begin in a second; further connections wait, unread, in the order in which they came. A connection on which somebody
 * authenticates gives back what it took: callers with good tokens hold up nobody, however many share an address.
 */
export class HandshakeLimiter {
  readonly #options: HandshakeLimiterOptions;
  readonly #later: NonNullable<HandshakeLimiterOptions['later']>;
  readonly #burst: number;
  /** Whoever has not been here for as long as a generation lasts has full credit again, and is forgotten. */
  #young = new Map<string, Address>();
  #old = new Map<string, Address>();
  #bornAt: number;
  /** Those with connections that wait. */
  readonly #queues = new Set<Address>();
  #scheduled = false;
  #closed = false;
  #held = 0;
  #refused = 0;

  constructor(options: HandshakeLimiterOptions) {
    this.#options = options;
    this.#later = options.later ?? laterUnref;
    this.#burst = options.perSecond * BURST_SECONDS;
    this.#bornAt = options.now();
  }

  get counts(): HandshakeCounts {
    return { held: this.#held, refused: this.#refused };
  }

  /** How many addresses are known. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Begins the handshake of this connection, now or when it is its turn; or closes it. */
  arrive(socket: Socket, begin: () => void): void {
    if (socket.destroyed) return;
    const address = this.#find(addressKey(socket.remoteAddress));
    if (address.waiting.size === 0 && address.credit >= 1) {
      address.credit -= 1;
      begin();
    } else if (this.#closed || address.waiting.size >= this.#options.perSecond * MAX_WAIT_SECONDS) {
      this.#refused += 1;
      this.#options.onRefused(address.key);
      socket.resetAndDestroy();
    } else {
      this.#held += 1;
      this.#hold(address, { socket, begin });
    }
  }

  /** Somebody has authenticated on this connection. */
  prove(socket: Connection): void {
    if (socket[PROVEN] === true) return;
    socket[PROVEN] = true;
    const address = this.#find(addressKey(socket.remoteAddress));
    address.credit = Math.min(this.#burst, address.credit + 1);
    this.#release(address);
  }

  /** Closes what waits: nobody will begin with it any more. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#queues) for (const { socket } of waiting) socket.resetAndDestroy();
  }

  #find(key: string): Address {
    const { now, perSecond } = this.#options;
    const time = now();
    if (time - this.#bornAt >= BURST_SECONDS * 1000) {
      this.#old = this.#young;
      this.#young = new Map([...this.#queues].map((address) => [address.key, address]));
      this.#bornAt = time;
    }
    const known = this.#young.get(key) ?? this.#old.get(key);
    const address: Address = known ?? { key, credit: this.#burst, at: time, waiting: new Set() };
    this.#young.set(key, address);
    address.credit = Math.min(this.#burst, address.credit + ((time - address.at) * perSecond) / 1000);
    address.at = time;
    return address;
  }

  #hold(address: Address, entry: Waiting): void {
    const { socket } = entry;
    address.waiting.add(entry);
    this.#queues.add(address);
    // Nobody else listens yet, and an error that nobody hears ends the process.
    socket.on('error', () => {});
    socket.once('close', () => {
      if (address.waiting.delete(entry) && address.waiting.size === 0) this.#queues.delete(address);
    });
    this.#schedule();
  }

  #release(address: Address): void {
    for (const entry of address.waiting) {
      if (address.credit < 1) return;
      address.credit -= 1;
      address.waiting.delete(entry);
      entry.begin();
    }
    this.#queues.delete(address);
  }

  #schedule(): void {
    if (this.#scheduled || this.#queues.size === 0) return;
    this.#scheduled = true;
    const tick = (): void => {
      this.#scheduled = false;
      for (const { key } of this.#queues) this.#release(this.#find(key));
      this.#schedule();
    };
    this.#later(tick, Math.max(1, 1000 / this.#options.perSecond));
  }
}

/**
 * From now on it is said here when the handshake of a connection begins. Node lets anybody hand sockets to a server for TLS
 * by its event `connection`: what listens to it is what begins with them. The server must have been made with
 * `pauseOnConnect`, or what they send while they wait would be kept in memory.
 */
export function limitHandshakes(server: Server & { pauseOnConnect?: boolean }, pace: HandshakeLimiter): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) =>
    pace.arrive(socket, () => {
      // It is meant for what arrives; who begins with it would pause the connection within TLS, too.
      server.pauseOnConnect = false;
      for (const begin of listeners) begin.call(server, socket);
      server.pauseOnConnect = true;
    }),
  );
}

function laterUnref(act: () => void, ms: number): void {
  setTimeout(act, ms).unref();
}
