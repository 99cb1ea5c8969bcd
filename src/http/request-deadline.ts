import type { ServerResponse } from 'node:http';
import { Deadlines, type Timed } from '../lib/deadlines.ts';

/**
 * - `serving`: the stages work on the request. When its time is over it is answered with 504.
 * - `unbounded`: a watch. It ends by itself (V-17).
 * - `responding`: an answer is on its way. A client that does not read it loses its connection.
 * - `done`: the connection is finished with the request.
 */
type DeadlineState = 'serving' | 'unbounded' | 'responding' | 'done';

interface RequestDeadlinesOptions {
  readonly servingMs: number;
  /** How long the connection of an answer may be idle, once `servingMs` are over. */
  readonly unreadMs: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
}

/** Starts deadlines. `onTimeout` is called at most once, while the request is `serving`: it has to answer. */
export function createRequestDeadlines(options: RequestDeadlinesOptions) {
  const { servingMs: afterMs, now } = options;
  const list = new Deadlines<RequestDeadline>({ afterMs, now, expire: (deadline) => deadline.expire() });
  return (res: ServerResponse, onTimeout: () => void): RequestDeadline => {
    const deadline = new RequestDeadline(options, list, res, onTimeout);
    list.start(deadline);
    return deadline;
  };
}

/** The one deadline of a request, from its arrival until its connection is finished with it. */
export class RequestDeadline implements Timed<RequestDeadline> {
  /** Belongs to the list. */
  deadline?: Timed<RequestDeadline>['deadline'];
  readonly #options: RequestDeadlinesOptions;
  readonly #list: Deadlines<RequestDeadline>;
  readonly #res: ServerResponse;
  readonly #onTimeout: () => void;
  #clientTimeout: NodeJS.Timeout | undefined;
  /** On the monotonic clock. */
  #clientTimeoutAt = Number.POSITIVE_INFINITY;
  #state: DeadlineState = 'serving';

  constructor(
    options: RequestDeadlinesOptions,
    list: Deadlines<RequestDeadline>,
    res: ServerResponse,
    onTimeout: () => void,
  ) {
    this.#options = options;
    this.#list = list;
    this.#res = res;
    this.#onTimeout = onTimeout;
  }

  get state(): DeadlineState {
    return this.#state;
  }

  /** Whether an answer may still be begun. */
  get isOpen(): boolean {
    return this.#state === 'serving' || this.#state === 'unbounded';
  }

  /** C-07: a client may ask for less time. More, or none at all, changes nothing. The first of several counts. */
  shorten(ms: number): void {
    const at = this.#options.now() + ms;
    if (ms <= 0 || ms >= this.#options.servingMs || at >= this.#clientTimeoutAt) return;
    clearTimeout(this.#clientTimeout);
    this.#clientTimeoutAt = at;
    this.#clientTimeout = setTimeout(this.#onTimeout, ms);
  }

  /** The request is a watch. */
  setUnbounded(): void {
    this.#state = 'unbounded';
    this.#list.stop(this);
  }

  /** An answer begins. False when another one has begun, or the client is gone. */
  respond({ isWatch }: { readonly isWatch: boolean }): boolean {
    if (!this.isOpen) return false;
    clearTimeout(this.#clientTimeout);
    if (isWatch) {
      this.setUnbounded();
      // A watch is bounded again when it has ended: what is left of it may never be read.
      this.#res.once('prefinish', () => this.#boundReading());
    } else this.#boundReading();
    return true;
  }

  end(): void {
    this.#state = 'done';
    clearTimeout(this.#clientTimeout);
    this.#list.stop(this);
  }

  /** For the list. */
  expire(): void {
    if (this.#state === 'serving') this.#onTimeout();
    // Nearly every answer leaves at once. From here on Node closes the connection of this one when it is idle.
    else if (this.#res.socket !== null) this.#res.setTimeout(this.#options.unreadMs);
    // A pipelined answer has no socket before the answers ahead of it are sent.
    else if (!this.#res.req.socket.destroyed) this.#list.start(this);
  }

  #boundReading(): void {
    if (this.#state === 'done') return;
    this.#state = 'responding';
    if (this.deadline === undefined) this.#list.start(this);
  }
}
