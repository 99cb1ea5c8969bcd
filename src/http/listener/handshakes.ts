import type { IncomingMessage } from 'node:http';
import { Server, type ServerOptions } from 'node:https';
import { isIPv4, isIPv6, type Socket } from 'node:net';
import { Deadlines, type Timed } from '../../lib/deadlines.ts';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import type { LingeringResponse } from '../response/lingering-response.ts';

interface HandshakeQueueOptions {
  /** How long a client has for its ClientHello. */
  readonly helloTimeoutMs: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back in the next tick of the event loop; for tests. */
  readonly inNextTick?: (act: () => void) => void;
}

/** A connection whose handshake has not begun. */
interface PendingHandshake extends Timed<PendingHandshake> {
  readonly socket: Socket;
  readonly begin: () => void;
  /** The ClientHello, or the part of it that has arrived. */
  received: Buffer;
  readonly onData: (chunk: Buffer) => void;
  readonly onLeft: () => void;
}

/**
 * Begins one TLS handshake in a tick of the event loop, in the order in which the ClientHellos arrived. A ClientHello
 * costs more than most requests, and libuv handles up to 1,024 readable sockets in one tick: when all clients of a
 * server come back at once, requests on open connections would wait for all of these handshakes.
 *
 * A connection is in the queue only when its ClientHello has arrived, so silent and slow clients delay no other.
 */
export class HandshakeQueue {
  readonly #inNextTick: NonNullable<HandshakeQueueOptions['inNextTick']>;
  readonly #deadlines: Deadlines<PendingHandshake>;
  /** Connections without a whole ClientHello. */
  readonly #silent = new Set<PendingHandshake>();
  readonly #queue = new Set<PendingHandshake>();
  #isScheduled = false;
  #isClosed = false;

  constructor({ helloTimeoutMs, now, inNextTick = setImmediate }: HandshakeQueueOptions) {
    this.#inNextTick = inNextTick;
    this.#deadlines = new Deadlines({ afterMs: helloTimeoutMs, now, expire: ({ onLeft }) => onLeft() });
  }

  /** Connections whose ClientHello has arrived. */
  get size(): number {
    return this.#queue.size;
  }

  /** Connections without a whole ClientHello. */
  get silent(): number {
    return this.#silent.size;
  }

  /** Reads the ClientHello of a paused connection, and calls `begin` when its handshake begins. */
  accept(socket: Socket, begin: () => void): void {
    if (socket.destroyed) return;
    if (this.#isClosed) {
      socket.resetAndDestroy();
      return;
    }
    const pending: PendingHandshake = {
      socket,
      begin,
      received: Buffer.alloc(0),
      onData: (chunk) => this.#receive(pending, chunk),
      onLeft: () => {
        this.#remove(pending);
        socket.destroy();
      },
    };
    this.#silent.add(pending);
    this.#deadlines.start(pending);
    // A client that has closed its side cannot finish a handshake.
    for (const event of LEFT) socket.on(event, pending.onLeft);
    socket.on('data', pending.onData).resume();
  }

  /** Closes the connections whose handshake has not begun. */
  close(): void {
    this.#isClosed = true;
    for (const { socket } of [...this.#silent, ...this.#queue]) socket.resetAndDestroy();
  }

  #receive(pending: PendingHandshake, chunk: Buffer): void {
    pending.received = pending.received.length === 0 ? chunk : Buffer.concat([pending.received, chunk]);
    const surplus = pending.received.length - recordBytes(pending.received);
    if (surplus < 0) return;
    // Clients send nothing more before the answer. What one sends all the same is not read, or it would be in memory.
    if (surplus > 0) pending.socket.pause();
    if (!this.#silent.delete(pending)) return;
    this.#deadlines.stop(pending);
    this.#queue.add(pending);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queue.size === 0) return;
    this.#isScheduled = true;
    this.#inNextTick(() => {
      this.#isScheduled = false;
      this.#beginFirst();
      this.#schedule();
    });
  }

  #beginFirst(): void {
    for (const pending of this.#queue) {
      const { socket, received, onData, onLeft, begin } = pending;
      this.#remove(pending);
      // It has been reset, and its `close` event is still to come.
      if (socket.destroyed) continue;
      // Listeners would keep the bytes of the ClientHello for as long as the connection lives.
      for (const event of LEFT) socket.off(event, onLeft);
      socket.off('data', onData).pause();
      // TLS begins with what a socket has buffered.
      socket.unshift(received);
      begin();
      return;
    }
  }

  #remove(pending: PendingHandshake): void {
    this.#deadlines.stop(pending);
    this.#silent.delete(pending);
    this.#queue.delete(pending);
  }
}

const LEFT = ['end', 'error', 'close'] as const;

/** Type and version of a TLS record, and its length (RFC 8446 section 5.1). */
const HEADER_BYTES = 5;
const HANDSHAKE_TYPE = 22;
const MAX_CONTENT_BYTES = 16_384;

/** Length of the TLS record that begins with these bytes. 0 for what TLS rejects: it is not waited for. */
function recordBytes(bytes: Buffer): number {
  if (bytes[0] !== HANDSHAKE_TYPE) return 0;
  if (bytes.length < HEADER_BYTES) return HEADER_BYTES;
  const content = bytes.readUInt16BE(HEADER_BYTES - 2);
  return content > MAX_CONTENT_BYTES ? 0 : HEADER_BYTES + content;
}

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

/**
 * The address that a connection counts for. Of an IPv6 address the first 64 bits: a network gives that much to one
 * customer, who can use any address within it.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return '';
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) groups.push('0');
    groups.push(...after);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

interface AddressLimits {
  readonly connections: number;
  /** Handshakes a second, without those of connections on which a caller authenticates; undefined for no limit. */
  readonly handshakes: number | undefined;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly onRefused: (address: string, limit: 'connections' | 'handshakes') => void;
}

/** Of the rate of handshakes: a page, a deployment or a set of jobs opens its connections at once. */
const BURST_SECONDS = 10;

/**
 * Bounds the open connections of each address, and the handshakes: one costs more than most requests, and any client
 * can ask for one. A connection on which a caller authenticates gives its token back: callers with valid credentials
 * delay no other, however many share an address.
 */
export class AddressLimiter {
  readonly #limits: AddressLimits;
  readonly #open = new InFlightCounts();
  readonly #handshakes?: TokenBuckets;
  #rejected = 0;

  constructor(limits: AddressLimits) {
    const { handshakes: perSecond, now } = limits;
    this.#limits = limits;
    if (perSecond !== undefined) {
      this.#handshakes = new TokenBuckets({ perSecond, burst: perSecond * BURST_SECONDS, now });
    }
  }

  /** Connections that were closed before their handshake. */
  get rejected(): number {
    return this.#rejected;
  }

  /** How many addresses have open connections, or a bucket. */
  get size(): number {
    return this.#open.size + (this.#handshakes?.size ?? 0);
  }

  /** False when the connection was closed. */
  accept(socket: Socket): boolean {
    if (socket.destroyed) return false;
    const address = addressKey(socket.remoteAddress);
    if (this.#open.of(address) >= this.#limits.connections) return this.#refuse(socket, address, 'connections');
    if (this.#handshakes?.tryTake(address) === false) {
      this.#rejected += 1;
      return this.#refuse(socket, address, 'handshakes');
    }
    socket.once('close', this.#open.add(address));
    return true;
  }

  /** Gives back the token of a connection from this address. To be called once for a connection. */
  refund(remoteAddress: string | undefined): void {
    this.#handshakes?.refund(addressKey(remoteAddress));
  }

  #refuse(socket: Socket, address: string, limit: 'connections' | 'handshakes'): false {
    this.#limits.onRefused(address, limit);
    // A reset: a socket that waits until its end is acknowledged still counts as one.
    socket.resetAndDestroy();
    return false;
  }
}
