import type { Caller } from '../../api/caller.ts';
import type { ApiError } from '../../api/status.ts';
import { Deadlines, type Timed } from '../../lib/deadlines.ts';
import { LinkedList, type LinkedListNode } from '../../lib/linked-list.ts';

export interface PriorityLevelLimits {
  /** The concurrency limit: how many requests execute at once. */
  readonly seats: number;
  /** Of those, how many one flow may have. */
  readonly seatsPerFlow: number;
  /** How many more requests of one flow may wait in its queues; 0 for a level without queues. */
  readonly queueLengthPerFlow: number;
  /** How many requests are dispatched in one tick of the event loop; without it, as many as there are seats. */
  readonly dispatchesPerTick?: number;
}

export interface Seat {
  /**
   * Resolves when the request is dispatched, rejects when it waited too long; undefined when it did not have to wait.
   */
  readonly queued: Promise<void> | undefined;
  /** Gives the seat back, or leaves the queue. May be called again. */
  release(): void;
}

export interface PriorityLevelOptions extends PriorityLevelLimits {
  /** A request that has waited this long is rejected. */
  readonly maxQueueWaitMs: number;
  /** What it is rejected with. One object for all: to create an error costs more than the rest of a rejection. */
  readonly rejection: ApiError;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** Calls back when this tick of the event loop is over. */
  readonly afterTick?: (act: () => void) => void;
}

/** For metrics. The reasons of rejections are those of kube-apiserver. */
export interface PriorityLevelUsage {
  readonly executing: number;
  readonly inQueue: number;
  readonly dispatched: number;
  readonly rejected: Readonly<Record<RejectionReason, number>>;
}

/** The queue is full; there is no seat and no queue; the request waited too long. */
type RejectionReason = 'queue-full' | 'concurrency-limit' | 'time-out';

/** The requests of callers that share seats. It exists while it has requests that execute or wait. */
interface Flow {
  readonly key: string;
  executing: number;
  inQueue: number;
  /** Made when the first request has to wait. */
  queues: Map<string, Queue> | undefined;
}

/** The waiting requests of one caller. The queues of a flow are in the order in which they are served. */
type Queue = LinkedList<QueuedRequest>;

interface QueuedRequest extends Timed<QueuedRequest> {
  readonly flow: Flow;
  readonly caller: string;
  /** In the queue of its caller. */
  node?: LinkedListNode<QueuedRequest> | undefined;
  readonly dispatch: () => void;
  readonly reject: (reason: Error) => void;
}

/**
 * A bounded number of requests at once, shared out fairly, after API Priority and Fairness. No flow may take every
 * seat, so a newcomer executes at once even beside a flow that asks without end. Flows are served round-robin: a flow
 * with a thousand requests waits for its own thousand, and delays no other flow. So are the callers within a flow: each
 * has a queue.
 *
 * A seat is free again when the tick of the event loop is over in which it was released. Many requests are done within
 * one tick. Were their seats free at once, a caller with a thousand connections would never have two requests at once:
 * all would be read and answered in one long tick, and everyone else would wait for its end. So a tick has no more work
 * than the level has seats. Where the work of one request is long, `dispatchesPerTick` bounds it further: a request
 * with a seat then waits for the next tick, and does not count for the length of its queue.
 */
export class PriorityLevel {
  readonly #options: PriorityLevelOptions;
  readonly #flows = new Map<string, Flow>();
  /** Flows with a queue, the next to be served first. */
  readonly #roundRobin = new Set<Flow>();
  readonly #queueWait: Deadlines<QueuedRequest>;
  readonly #afterTick: (act: () => void) => void;
  readonly #rejected: Record<RejectionReason, number> = { 'queue-full': 0, 'concurrency-limit': 0, 'time-out': 0 };
  #executing = 0;
  #dispatched = 0;
  /** Flows of the seats that were released in this tick. */
  #released: Flow[] = [];
  #dispatchedInTick = 0;
  #tickIsAwaited = false;

  constructor(options: PriorityLevelOptions) {
    this.#options = options;
    this.#afterTick = options.afterTick ?? setImmediate;
    this.#queueWait = new Deadlines({
      afterMs: options.maxQueueWaitMs,
      now: options.now,
      expire: (request) => {
        this.#dequeue(request);
        this.#rejected['time-out'] += 1;
        request.reject(options.rejection);
      },
    });
  }

  /** How many flows are in memory: those with requests that execute or wait. */
  get size(): number {
    return this.#roundRobin.union(new Set(this.#flows.values())).size;
  }

  get rejection(): ApiError {
    return this.#options.rejection;
  }

  get usage(): PriorityLevelUsage {
    let inQueue = 0;
    for (const flow of this.#roundRobin) inQueue += flow.inQueue;
    return {
      executing: this.#executing - this.#released.length,
      inQueue,
      dispatched: this.#dispatched,
      rejected: this.#rejected,
    };
  }

  /** Undefined when the request is rejected. Not an exception: under overload that is the most frequent outcome. */
  takeSeat(key: string, caller?: Pick<Caller, 'key'>): Seat | undefined {
    const { queueLengthPerFlow } = this.#options;
    const flow = this.#flows.get(key) ?? { key, executing: 0, inQueue: 0, queues: undefined };
    const free = this.#freeSeatsFor(flow);
    // No request of its flow is overtaken: the end of a tick, which frees seats, dispatches those that wait.
    if (free > 0 && this.#mayDispatch()) {
      this.#flows.set(key, flow);
      return this.#dispatchNow(flow);
    }
    // One request of a caller may wait in any case: otherwise a caller could keep others out of the flow.
    const mayWait =
      flow.inQueue < queueLengthPerFlow + free || (queueLengthPerFlow > 0 && !flow.queues?.has(caller?.key ?? key));
    if (!mayWait) {
      this.#rejected[queueLengthPerFlow === 0 ? 'concurrency-limit' : 'queue-full'] += 1;
      return undefined;
    }
    this.#flows.set(key, flow);
    return this.#enqueue(flow, caller?.key ?? key);
  }

  #dispatchNow(flow: Flow): Seat {
    this.#occupy(flow);
    let isReleased = false;
    return {
      queued: undefined,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#release(flow);
      },
    };
  }

  #enqueue(flow: Flow, caller: string): Seat {
    let state: 'queued' | 'executing' | 'released' = 'queued';
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request: QueuedRequest = {
      flow,
      caller,
      dispatch: () => {
        state = 'executing';
        resolve();
      },
      reject: (reason) => {
        state = 'released';
        reject(reason);
      },
    };
    flow.queues ??= new Map();
    const queue = flow.queues.get(caller) ?? new LinkedList();
    flow.queues.set(caller, queue);
    request.node = queue.add(request);
    flow.inQueue += 1;
    this.#roundRobin.add(flow);
    this.#queueWait.start(request);
    return {
      queued: promise,
      release: () => {
        if (state === 'queued') this.#dequeue(request);
        else if (state === 'executing') this.#release(flow);
        state = 'released';
      },
    };
  }

  #freeSeatsFor(flow: Flow): number {
    const { seats, seatsPerFlow } = this.#options;
    return Math.max(0, Math.min(seats - this.#executing, seatsPerFlow - flow.executing));
  }

  #mayDispatch(): boolean {
    return this.#dispatchedInTick < (this.#options.dispatchesPerTick ?? Number.POSITIVE_INFINITY);
  }

  #occupy(flow: Flow): void {
    this.#executing += 1;
    this.#dispatched += 1;
    flow.executing += 1;
    if (this.#options.dispatchesPerTick === undefined) return;
    this.#dispatchedInTick += 1;
    this.#awaitTick();
  }

  #release(flow: Flow): void {
    this.#released.push(flow);
    this.#awaitTick();
  }

  #awaitTick(): void {
    if (this.#tickIsAwaited) return;
    this.#tickIsAwaited = true;
    this.#afterTick(this.#nextTick);
  }

  readonly #nextTick = (): void => {
    const released = this.#released;
    this.#released = [];
    this.#tickIsAwaited = false;
    this.#dispatchedInTick = 0;
    for (const flow of released) {
      this.#executing -= 1;
      flow.executing -= 1;
      this.#forgetIfIdle(flow);
    }
    while (this.#dispatchNext());
  };

  /** False when no request waits, no seat is free, or this tick has its share. */
  #dispatchNext(): boolean {
    if (!this.#mayDispatch()) return false;
    // Few flows are passed over: only so many can have all of their seats at once.
    for (const flow of this.#roundRobin) {
      if (this.#executing >= this.#options.seats) return false;
      if (this.#freeSeatsFor(flow) === 0) continue;
      const next = flow.queues?.entries().next().value;
      const oldest = next?.[1].first;
      if (next === undefined || oldest === undefined) continue;
      // In this order: a flow with neither a seat nor a queue is forgotten.
      this.#occupy(flow);
      this.#dequeue(oldest);
      // A caller, and a flow, with more requests goes to the end of the round.
      if (flow.queues?.delete(next[0])) flow.queues.set(...next);
      if (this.#roundRobin.delete(flow)) this.#roundRobin.add(flow);
      oldest.dispatch();
      return true;
    }
    return false;
  }

  #dequeue(request: QueuedRequest): void {
    const { flow, caller, node } = request;
    this.#queueWait.stop(request);
    const queue = flow.queues?.get(caller);
    if (node === undefined || queue === undefined) return;
    queue.remove(node);
    request.node = undefined;
    flow.inQueue -= 1;
    if (queue.size === 0) flow.queues?.delete(caller);
    if (flow.inQueue === 0) this.#roundRobin.delete(flow);
    this.#forgetIfIdle(flow);
  }

  #forgetIfIdle({ key, executing, inQueue }: Flow): void {
    if (executing === 0 && inQueue === 0) this.#flows.delete(key);
  }
}
