import type { Socket } from 'node:net';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import { addressKey } from './address-limit.ts';

interface HandshakeLimiterOptions {
  /** Handshakes a second that begin for one address, without those of connections on which a caller authenticates. */
  readonly perSecond: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back once, later; for tests. */
  readonly later?: (act: () => void, ms: number) => void;
  readonly onRejected: (address: string) => void;
}

export interface HandshakeCounts {
  /** Connections that had to wait for their handshake. */
  readonly delayed: number;
  /** Connections that were closed, because too many waited already. */
  readonly rejected: number;
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

  get counts(): HandshakeCounts {
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
