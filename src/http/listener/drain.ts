import type { Server } from 'node:http';
import { setImmediate as setImmediatePromise } from 'node:timers/promises';
import { firstWithin } from '../../lib/promises.ts';
import type { WatchStream } from '../response/watch-response.ts';

/** A write whose client has left takes no longer: each of its calls of the store ends. */
const WRITES_MS = 10_000;

interface DrainOptions {
  readonly server: Pick<Server, 'close' | 'closeAllConnections' | 'closeIdleConnections'>;
  /** Between failing readiness and refusing connections, so that load balancers notice in time. */
  readonly delayMs: number;
  /** Requests in flight are aborted this long after the server stops accepting connections. */
  readonly timeoutMs: number;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Called when the server stops accepting connections. */
  readonly onClose: () => void;
}

/** The end of a server: of its watches, its requests in flight and its connections, in this order. */
export class Drain {
  readonly #options: DrainOptions;
  readonly #watches = new Set<WatchStream>();
  /** Requests that are not recorded yet: a write goes on when its client has left. */
  #requests = 0;
  readonly #ended = Promise.withResolvers<void>();
  #isDraining = false;
  /** Draining, and its delay is over. Before that a client may send a request on a connection that seems idle. */
  #isClosing = false;
  #drained: Promise<void> | undefined;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  trackWatch(stream: WatchStream): void {
    this.#watches.add(stream);
    stream.onClose(() => this.#watches.delete(stream));
    // It started after the others were ended.
    if (this.#isClosing) setImmediate(() => stream.shutdown());
  }

  requestBegan(): void {
    this.#requests += 1;
  }

  /** A connection that was busy when the drain began is idle now. */
  requestEnded(): void {
    this.#requests -= 1;
    if (this.#requests === 0 && this.#isClosing) this.#ended.resolve();
    if (this.#isClosing) setImmediate(() => this.#options.server.closeIdleConnections());
  }

  /** Further calls wait for the first one. */
  drain(beforeWatchesEnd: () => void): Promise<void> {
    this.#drained ??= this.#drainOnce(beforeWatchesEnd);
    return this.#drained;
  }

  async #drainOnce(beforeWatchesEnd: () => void): Promise<void> {
    const { server, delayMs, timeoutMs, sleep } = this.#options;
    this.#isDraining = true;
    if (delayMs > 0) await sleep(delayMs);
    await readArrived();
    // Closes the connections that are idle, too.
    const closed = this.#stopAccepting();
    beforeWatchesEnd();
    for (const stream of [...this.#watches]) stream.shutdown();
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    await closed;
    if (this.#requests > 0) await firstWithin(WRITES_MS, this.#ended.promise);
    clearTimeout(timer);
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    const closed = this.#stopAccepting();
    this.#options.server.closeAllConnections();
    await closed;
  }

  #stopAccepting(): Promise<void> {
    const { server, onClose } = this.#options;
    this.#isDraining = true;
    this.#isClosing = true;
    onClose();
    return new Promise((resolve) => {
      server.close(() => resolve());
    });
  }
}

/**
 * Resolves when requests that have arrived by now are read: a connection whose request is not read looks idle. Sockets
 * are polled between two immediates.
 */
async function readArrived(): Promise<void> {
  await setImmediatePromise();
  await setImmediatePromise();
}
