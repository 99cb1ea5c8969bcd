import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { addressKey } from './address-limit.ts';

export interface HandshakeLimiterOptions {
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

/** The token bucket of an address. */
interface Bucket {
  readonly address: string;
  /** How many handshakes may begin, at the time `at`. */
  tokens: number;
  at: number;
  readonly queue: Set<QueuedConnection>;
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
  readonly #burst: number;
  /**
   * Two generations of buckets, each as long as it takes to fill a bucket. A bucket that was not used for a whole
   * generation is full, so it is dropped with the old one.
   */
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();
  #bornAt: number;
  /** Buckets with connections that wait. */
  readonly #queues = new Set<Bucket>();
  #isScheduled = false;
  #isClosed = false;
  #delayed = 0;
  #rejected = 0;

  constructor(options: HandshakeLimiterOptions) {
    this.#options = options;
    this.#later = options.later ?? laterUnref;
    this.#burst = options.perSecond * BURST_SECONDS;
    this.#bornAt = options.now();
  }

  get counts(): HandshakeCounts {
    return { delayed: this.#delayed, rejected: this.#rejected };
  }

  /** How many addresses have a bucket. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Begins the handshake of this connection, at once or after a wait; or closes it. */
  accept(socket: Socket, begin: () => void): void {
    if (socket.destroyed) return;
    const bucket = this.#bucketOf(addressKey(socket.remoteAddress));
    if (bucket.queue.size === 0 && bucket.tokens >= 1) {
      bucket.tokens -= 1;
      begin();
    } else if (this.#isClosed || bucket.queue.size >= this.#options.perSecond * MAX_WAIT_SECONDS) {
      this.#rejected += 1;
      this.#options.onRejected(bucket.address);
      socket.resetAndDestroy();
    } else {
      this.#delayed += 1;
      this.#enqueue(bucket, { socket, begin });
    }
  }

  /** Gives back the token of a connection from this address. To be called once for a connection. */
  refund(remoteAddress: string | undefined): void {
    const bucket = this.#bucketOf(addressKey(remoteAddress));
    bucket.tokens = Math.min(this.#burst, bucket.tokens + 1);
    this.#serve(bucket);
  }

  /** Closes the connections that wait. */
  close(): void {
    this.#isClosed = true;
    for (const { queue } of this.#queues) for (const { socket } of queue) socket.resetAndDestroy();
  }

  #bucketOf(address: string): Bucket {
    const { now, perSecond } = this.#options;
    const time = now();
    if (time - this.#bornAt >= BURST_SECONDS * 1000) {
      this.#old = this.#young;
      this.#young = new Map([...this.#queues].map((bucket) => [bucket.address, bucket]));
      this.#bornAt = time;
    }
    const known = this.#young.get(address) ?? this.#old.get(address);
    const bucket: Bucket = known ?? { address, tokens: this.#burst, at: time, queue: new Set() };
    this.#young.set(address, bucket);
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((time - bucket.at) * perSecond) / 1000);
    bucket.at = time;
    return bucket;
  }

  #enqueue(bucket: Bucket, connection: QueuedConnection): void {
    const { socket } = connection;
    bucket.queue.add(connection);
    this.#queues.add(bucket);
    // Nothing else listens yet, and an error event without a listener ends the process.
    socket.on('error', () => {});
    socket.once('close', () => {
      if (bucket.queue.delete(connection) && bucket.queue.size === 0) this.#queues.delete(bucket);
    });
    this.#schedule();
  }

  #serve(bucket: Bucket): void {
    for (const connection of bucket.queue) {
      if (bucket.tokens < 1) return;
      bucket.tokens -= 1;
      bucket.queue.delete(connection);
      connection.begin();
    }
    this.#queues.delete(bucket);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queues.size === 0) return;
    this.#isScheduled = true;
    const serveAll = (): void => {
      this.#isScheduled = false;
      for (const { address } of this.#queues) this.#serve(this.#bucketOf(address));
      this.#schedule();
    };
    this.#later(serveAll, Math.max(1, 1000 / this.#options.perSecond));
  }
}

/**
 * From now on the limiter begins the handshakes of a server. Node's TLS server begins one in its listener of the event
 * `connection`; the limiter calls that listener instead of the event. The server must have been made with
 * `pauseOnConnect`, or what a client sends while it waits would be kept in memory.
 */
export function limitHandshakes(server: Server & { pauseOnConnect?: boolean }, limiter: HandshakeLimiter): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) =>
    limiter.accept(socket, () => {
      // The listener reads it, too, and would pause the connection within TLS.
      server.pauseOnConnect = false;
      for (const begin of listeners) begin.call(server, socket);
      server.pauseOnConnect = true;
    }),
  );
}

function laterUnref(act: () => void, ms: number): void {
  setTimeout(act, ms).unref();
}
