import type { IncomingMessage } from 'node:http';
import { Server, type ServerOptions } from 'node:https';
import { isIPv4, isIPv6, type Socket } from 'node:net';
import { Deadlines, type Timed } from '../../lib/deadlines.ts';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import type { LingeringResponse } from '../response/lingering-response.ts';

interface HandshakeLimiterOptions {
  /** Handshakes a second that begin for one address, without those of connections on which a caller authenticates. */
  readonly perSecond: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back once, later; for tests. */
  readonly later?: (act: () => void, ms: number) => void;
  readonly onRejected: (address: string) => void;
}

interface QueuedConnection {
  readonly socket: Socket;
  readonly begin: () => void;
}

/**
 * The size of a bucket, in seconds of its rate: a page, a deployment or a set of jobs opens its connections at once.
 */
const BURST_SECONDS = 2;
/** No connection waits longer, and clients wait longer than this. */
const MAX_WAIT_SECONDS = 10;

/**
 * A rate limiter (token bucket for each address) for TLS handshakes. A handshake costs more than most requests, and any
 * client can ask for one. Further connections wait, unread, in the order in which they came. A connection on which a
 * caller authenticates gives its token back: callers with valid credentials delay no other, however many share an
 * address.
 */
export class HandshakeLimiter {
  readonly #options: HandshakeLimiterOptions;
  readonly #later: NonNullable<HandshakeLimiterOptions['later']>;
  readonly #buckets: TokenBuckets;
  /** Connections that wait, by address. */
  readonly #queues = new Map<string, Set<QueuedConnection>>();
  #isScheduled = false;
  #isClosed = false;
  #delayed = 0;
  #rejected = 0;

  constructor(options: HandshakeLimiterOptions) {
    const { perSecond, now } = options;
    this.#options = options;
    this.#later = options.later ?? laterUnref;
    this.#buckets = new TokenBuckets({ perSecond, burst: perSecond * BURST_SECONDS, now });
  }

  get counts() {
    return { delayed: this.#delayed, rejected: this.#rejected };
  }

  /** How many addresses have a bucket. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Begins the handshake of this connection, at once or after a wait; or closes it. */
  accept(socket: Socket, begin: () => void): void {
    if (socket.destroyed) return;
    const address = addressKey(socket.remoteAddress);
    const waiting = this.#queues.get(address)?.size ?? 0;
    if (waiting === 0 && this.#buckets.tryTake(address)) begin();
    else if (this.#isClosed || waiting >= this.#options.perSecond * MAX_WAIT_SECONDS) {
      this.#rejected += 1;
      this.#options.onRejected(address);
      socket.resetAndDestroy();
    } else {
      this.#delayed += 1;
      this.#enqueue(address, { socket, begin });
    }
  }

  /** Gives back the token of a connection from this address. To be called once for a connection. */
  refund(remoteAddress: string | undefined): void {
    const address = addressKey(remoteAddress);
    this.#buckets.refund(address);
    this.#serve(address);
  }

  /** Closes the connections that wait. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#queues.values()) for (const { socket } of queue) socket.resetAndDestroy();
  }

  #enqueue(address: string, connection: QueuedConnection): void {
    const { socket } = connection;
    const queue = this.#queues.get(address) ?? new Set();
    this.#queues.set(address, queue.add(connection));
    // Nothing else listens yet, and an error event without a listener ends the process.
    socket.on('error', () => {});
    socket.once('close', () => {
      if (queue.delete(connection) && queue.size === 0) this.#queues.delete(address);
    });
    this.#schedule();
  }

  #serve(address: string): void {
    const queue = this.#queues.get(address);
    if (queue === undefined) return;
    for (const connection of queue) {
      if (!this.#buckets.tryTake(address)) return;
      queue.delete(connection);
      connection.begin();
    }
    this.#queues.delete(address);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queues.size === 0) return;
    this.#isScheduled = true;
    const serveAll = (): void => {
      this.#isScheduled = false;
      for (const address of this.#queues.keys()) this.#serve(address);
      this.#schedule();
    };
    this.#later(serveAll, Math.max(1, 1000 / this.#options.perSecond));
  }
}

function laterUnref(act: () => void, ms: number): void {
  setTimeout(act, ms).unref();
}

interface HandshakeQueueOptions {
  /** How long a client has for its ClientHello. */
  readonly helloTimeoutMs: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back in the next tick of the event loop; for tests. */
  readonly inNextTick?: (act: () => void) => void;
}

/** A connection whose handshake has not begun. */
interface PendingHandshake extends Timed<PendingHandshake>, QueuedConnection {
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

/** Bounds the open connections of each address. */
export class AddressLimit {
  readonly #limit: number;
  readonly #open = new InFlightCounts();
  readonly #onRefused: (address: string) => void;

  constructor(limit: number, onRefused: (address: string) => void) {
    this.#limit = limit;
    this.#onRefused = onRefused;
  }

  /** How many addresses have open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** False when the connection was closed. */
  accept(socket: Socket): boolean {
    const key = addressKey(socket.remoteAddress);
    if (this.#open.of(key) >= this.#limit) {
      this.#onRefused(key);
      // A reset: a socket that waits until its end is acknowledged still counts as one.
      socket.resetAndDestroy();
      return false;
    }
    socket.once('close', this.#open.add(key));
    return true;
  }
}
