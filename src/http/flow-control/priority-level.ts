import { Deadlines, type Timed } from '../../lib/deadlines.ts';
import { LinkedList, type LinkedListNode } from '../../lib/linked-list.ts';

export interface PriorityLevelLimits {
  /** Requests under way at once, of everyone together. */
  readonly atOnce: number;
  /** Of those, how many one caller may have. */
  readonly perCaller: number;
  /** How many more of one caller may wait for their turn; 0 for a level in which nobody waits. */
  readonly waitingPerCaller: number;
  /** How many may start in one turn of the event loop; the others start in the next ones. Without it, as many as there are places. */
  readonly perTurn?: number;
}

/** A place in a level. */
export interface Seat {
  /** Resolves when it is this request's turn, rejects when it waited too long; undefined when it may go on at once. */
  readonly admitted: Promise<void> | undefined;
  /** Gives the place back, or stops waiting for one. May be called again. */
  leave(): void;
}

export interface PriorityLevelOptions extends PriorityLevelLimits {
  /** Whoever has waited this long is refused. */
  readonly maxWaitMs: number;
  /** For those who waited too long. One for all: to make an error costs more than all else that a refusal takes. */
  readonly refusal: Error;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back when this turn of the event loop is over. */
  readonly afterTurn?: (act: () => void) => void;
}

/** What a level has done, and does. The reasons of refusals are those of kube-apiserver's metrics. */
export interface PriorityLevelUsage {
  readonly atOnce: number;
  readonly active: number;
  readonly waiting: number;
  readonly admitted: number;
  readonly refused: Readonly<Record<RefusalReason, number>>;
}

/** No room to wait, no room and nobody may wait, waited too long. */
export type RefusalReason = 'queue-full' | 'concurrency-limit' | 'time-out';

/** One caller in a level, there as long as it has something under way or waiting. */
interface Flow {
  readonly name: string;
  active: number;
  readonly waiting: LinkedList<Waiting>;
}

interface Waiting extends Timed<Waiting> {
  readonly flow: Flow;
  /** Among those of its flow. */
  place?: LinkedListNode<Waiting> | undefined;
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

/**
 * A bounded number of requests at once, shared out fairly. Nobody may take all of it, so a newcomer is let in at once
 * even beside a caller who asks without end. When there is a queue, each caller has one of its own and they take turns:
 * who sends a thousand requests waits for its own thousand, and not the others for it.
 *
 * A place that was given back is free when the turn of the event loop is over. Much of what is asked for is done within
 * one turn, so a caller with a thousand connections would never have two requests at once: all of them would be read and
 * answered in one long turn, and everybody else wait for its end. Like this a turn has no more work than the level has
 * places. Where the work of a request is long, fewer start in a turn: who has a place already waits for the next one then,
 * and does not count among those who wait for a place.
 */
export class PriorityLevel {
  readonly #options: PriorityLevelOptions;
  readonly #flows = new Map<string, Flow>();
  /** Those with somebody waiting, the next to be served first. */
  readonly #turns = new Set<Flow>();
  readonly #patience: Deadlines<Waiting>;
  readonly #afterTurn: (act: () => void) => void;
  readonly #refused: Record<RefusalReason, number> = { 'queue-full': 0, 'concurrency-limit': 0, 'time-out': 0 };
  #active = 0;
  #admitted = 0;
  /** Whose requests have ended in this turn. */
  #ended: Flow[] = [];
  #startedInTurn = 0;
  #turnIsAwaited = false;

  constructor(options: PriorityLevelOptions) {
    this.#options = options;
    this.#afterTurn = options.afterTurn ?? setImmediate;
    this.#patience = new Deadlines({
      afterMs: options.maxWaitMs,
      now: options.now,
      expire: (waiting) => {
        this.#forget(waiting);
        this.#refused['time-out'] += 1;
        waiting.refuse(options.refusal);
      },
    });
  }

  get usage(): PriorityLevelUsage {
    let waiting = 0;
    for (const flow of this.#turns) waiting += flow.waiting.size;
    return {
      atOnce: this.#options.atOnce,
      active: this.#active - this.#ended.length,
      waiting,
      admitted: this.#admitted,
      refused: this.#refused,
    };
  }

  /** Undefined when there is no place: refusals are what a busy server does most, and to throw one takes longer than all of this. */
  enter(name: string): Seat | undefined {
    const { waitingPerCaller } = this.#options;
    const flow = this.#flows.get(name) ?? { name, active: 0, waiting: new LinkedList() };
    const room = this.#roomFor(flow);
    // While others of the same caller wait, none may pass them.
    if (room > 0 && flow.waiting.size === 0 && this.#mayStart()) {
      this.#flows.set(name, flow);
      return this.#place(flow);
    }
    if (flow.waiting.size >= waitingPerCaller + room) {
      this.#refused[waitingPerCaller === 0 ? 'concurrency-limit' : 'queue-full'] += 1;
      return undefined;
    }
    this.#flows.set(name, flow);
    return this.#queue(flow);
  }

  #place(flow: Flow): Seat {
    this.#start(flow);
    let left = false;
    return {
      admitted: undefined,
      leave: () => {
        if (left) return;
        left = true;
        this.#end(flow);
      },
    };
  }

  #queue(flow: Flow): Seat {
    let state: 'waiting' | 'active' | 'left' = 'waiting';
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      flow,
      admit: () => {
        state = 'active';
        resolve();
      },
      refuse: (reason) => {
        state = 'left';
        reject(reason);
      },
    };
    waiting.place = flow.waiting.add(waiting);
    this.#turns.add(flow);
    this.#patience.start(waiting);
    // Nobody who leaves would call it when it waits for a turn only.
    if (!this.#mayStart()) this.#awaitTurn();
    return {
      admitted: promise,
      leave: () => {
        if (state === 'waiting') this.#forget(waiting);
        else if (state === 'active') this.#end(flow);
        state = 'left';
      },
    };
  }

  /** How many more of this caller there are places for. */
  #roomFor(flow: Flow): number {
    const { atOnce, perCaller } = this.#options;
    return Math.max(0, Math.min(atOnce - this.#active, perCaller - flow.active));
  }

  #mayStart(): boolean {
    return this.#startedInTurn < (this.#options.perTurn ?? Number.POSITIVE_INFINITY);
  }

  #start(flow: Flow): void {
    this.#active += 1;
    this.#admitted += 1;
    flow.active += 1;
    if (this.#options.perTurn === undefined) return;
    this.#startedInTurn += 1;
    this.#awaitTurn();
  }

  #end(flow: Flow): void {
    this.#ended.push(flow);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    if (this.#turnIsAwaited) return;
    this.#turnIsAwaited = true;
    this.#afterTurn(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    const ended = this.#ended;
    this.#ended = [];
    this.#turnIsAwaited = false;
    this.#startedInTurn = 0;
    for (const flow of ended) {
      this.#active -= 1;
      flow.active -= 1;
      this.#tidy(flow);
    }
    // Who was served is at the end of the row, and may have its turn again.
    while (this.#serveNext());
  };

  /** False when there is nobody, or no place, or enough for this turn. */
  #serveNext(): boolean {
    if (!this.#mayStart()) return false;
    // At most a few are passed over: only so many can have their full share at once.
    for (const flow of this.#turns) {
      if (this.#active >= this.#options.atOnce) return false;
      if (this.#roomFor(flow) === 0) continue;
      const oldest = flow.waiting.first;
      if (oldest === undefined) continue;
      this.#forget(oldest);
      this.#start(flow);
      // Back to the end, if there are more.
      if (this.#turns.delete(flow)) this.#turns.add(flow);
      oldest.admit();
      return true;
    }
    return false;
  }

  #forget(waiting: Waiting): void {
    const { flow, place } = waiting;
    this.#patience.stop(waiting);
    if (place !== undefined) flow.waiting.remove(place);
    waiting.place = undefined;
    if (flow.waiting.size === 0) this.#turns.delete(flow);
    this.#tidy(flow);
  }

  #tidy({ name, active, waiting }: Flow): void {
    if (active === 0 && waiting.size === 0) this.#flows.delete(name);
  }
}
