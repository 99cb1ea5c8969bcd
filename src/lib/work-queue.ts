/**
 * How much of the work one tick of the event loop has: whatever does not enter the queue waits for no more of it. Node
 * accepts one connection a tick, so a new one, e.g. of a health check, waits for a tick for each connection before it.
 */
const TICK_MS = 2;
/** How long one job computes before it asks for its next turn. */
const SLICE_MS = 0.5;

/** The jobs of one caller, or of one task of the server. */
interface Flow {
  readonly key: string;
  /** Milliseconds of work that it has had. A flow that returns begins with the virtual time of the queue. */
  virtualTime: number;
  /** Those that wait: first what has begun, so that it ends before more jobs take memory, then the oldest. */
  readonly turns: (() => void)[];
}

/**
 * All work of this process that may take more than two milliseconds, in turns: the encoding of lists, walks over many
 * objects, the decoding of large bodies, sweeps. It is the only place where work yields. A tick of the event loop has
 * two milliseconds of it, however many requests ask for more. What is always short (a token, a health check, one
 * object) does not enter the queue.
 *
 * It is fair by flow: the next turn goes to the waiting flow with the least virtual time (start-time fair queueing). So
 * each waiting flow gets its share, to within one turn of each other flow, although a turn is measured only after it;
 * deficit round robin would have to know its cost before. A flow whose turn was long waits the longer for its next one,
 * also when it had nothing to do in between: many short jobs count like one long one. While nothing waits, virtual time
 * passes as the clock does.
 */
export class WorkQueue {
  readonly now: () => number;
  readonly #afterTick: (act: () => void) => void;
  /** Those that wait, or are ahead of the queue's virtual time. */
  readonly #flows = new Map<string, Flow>();
  readonly #waiting = new Set<Flow>();
  /** That of the flow of the last turn, when it began. */
  #virtualTime = 0;
  #usedInTick = 0;
  /** The flow that has its turn. */
  #running: Flow | undefined;
  /** The job that had the last turn. */
  #begun: (() => void) | undefined;
  #settledAt = 0;
  #endIsAwaited = false;
  #tickIsAwaited = false;

  /** `now`: milliseconds on a monotonic clock. `afterTick` calls back when this tick of the event loop is over. */
  constructor({
    now = performance.now.bind(performance),
    afterTick = setImmediate,
  }: { now?: () => number; afterTick?: (act: () => void) => void } = {}) {
    this.now = now;
    this.#afterTick = afterTick;
  }

  /** How many flows are in memory. */
  get size(): number {
    return this.#flows.size;
  }

  /** The turns of one job. `flow` is that of its caller, or the name of a task of the server. */
  job(flow: string, request?: AbortableRequest): Work {
    return new Work(this, flow, request);
  }

  /**
   * True when the turn begins at once: no other has its turn, none waits, and this tick has time left. Else `begin`,
   * which stands for the job, is called later; sooner if the job has had turns before.
   */
  enter(key: string, begin: () => void, hadTurn: boolean): boolean {
    this.#settle();
    const flow = this.#flows.get(key) ?? { key, virtualTime: 0, turns: [] };
    this.#flows.set(key, flow);
    flow.virtualTime = Math.max(flow.virtualTime, this.#virtualTime);
    // Jobs that are told to go on in one callback ask for their turns before the first of them has done anything.
    const isAlone = this.#waiting.size === 0 && (!this.#endIsAwaited || this.#begun === begin);
    const isFree = isAlone && this.#usedInTick < TICK_MS;
    if (isFree) this.#run(flow, begin);
    else {
      if (this.#begun === begin) this.#running = undefined;
      if (hadTurn) flow.turns.unshift(begin);
      else flow.turns.push(begin);
      this.#waiting.add(flow);
      this.#awaitTick();
    }
    return isFree;
  }

  /** Whether the job of `begin` has its turn: it has not waited for anything else since. */
  hasTurn(begin: () => void): boolean {
    return this.#begun === begin;
  }

  #run(flow: Flow, begin: () => void): void {
    this.#begun = begin;
    this.#virtualTime = flow.virtualTime;
    this.#running = flow;
    this.#awaitTick();
    if (this.#endIsAwaited) return;
    this.#endIsAwaited = true;
    // Node runs all microtasks before it goes on with the queue of nextTick: then the job has asked for its next turn,
    // has ended, or waits for something else.
    queueMicrotask(this.#awaitEnd);
  }

  readonly #awaitEnd = (): void => process.nextTick(this.#end);

  readonly #end = (): void => {
    this.#endIsAwaited = false;
    this.#settle();
    this.#begun = undefined;
    this.#running = undefined;
    this.#resume();
  };

  /** Charges the flow that has its turn with the time that has passed. */
  #settle(): void {
    const now = this.now();
    const passed = now - this.#settledAt;
    this.#settledAt = now;
    if (this.#running !== undefined) {
      this.#running.virtualTime += passed;
      this.#usedInTick += passed;
    } else if (this.#waiting.size === 0) this.#virtualTime += passed;
  }

  /** A few flows at most wait: each has requests with a seat. */
  #resume(): void {
    if (this.#usedInTick >= TICK_MS) return;
    let next: Flow | undefined;
    for (const flow of this.#waiting) if (next === undefined || flow.virtualTime < next.virtualTime) next = flow;
    const begin = next?.turns.shift();
    if (next === undefined || begin === undefined) return;
    if (next.turns.length === 0) this.#waiting.delete(next);
    this.#run(next, begin);
    begin();
  }

  #awaitTick(): void {
    if (this.#tickIsAwaited) return;
    this.#tickIsAwaited = true;
    this.#afterTick(this.#nextTick);
  }

  readonly #nextTick = (): void => {
    this.#tickIsAwaited = false;
    this.#usedInTick = 0;
    this.#settle();
    this.#resume();
    for (const [key, flow] of this.#flows) {
      if (flow.turns.length === 0 && flow.virtualTime <= this.#virtualTime && flow !== this.#running)
        this.#flows.delete(key);
    }
  };
}

/** Something whose work is in vain when the signal is aborted. Not the signal itself: reading it creates it. */
export interface AbortableRequest {
  readonly signal: AbortSignal;
}

/**
 * The turns of one request, or of one task of the server. A long loop checks `isUsedUp` now and then, and awaits
 * `turn()` before it goes on; what may be long in one piece awaits it first.
 */
export class Work {
  readonly #queue: WorkQueue;
  readonly #flow: string;
  readonly #request: AbortableRequest | undefined;
  #sliceEnd: number;
  #hadTurn = false;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(queue: WorkQueue, flow: string, request: AbortableRequest | undefined) {
    this.#queue = queue;
    this.#flow = flow;
    // Not a function that returns its signal: with one, V8 kept every request until the next full collection.
    this.#request = request;
    this.#sliceEnd = queue.now() + SLICE_MS;
  }

  /** Whether it is time for another turn. A job that is done in half a millisecond needs none. */
  get isUsedUp(): boolean {
    const wasInterrupted = this.#hadTurn && !this.#queue.hasTurn(this.#begin);
    return wasInterrupted || this.#queue.now() >= this.#sliceEnd;
  }

  /**
   * Undefined when the turn begins at once, as it does on an idle server. Rejects with an AbortError when the client
   * has left meanwhile. Loops that run side by side share the wait.
   */
  turn(): Promise<void> | undefined {
    if (this.#waiting !== undefined) return this.#waiting.promise;
    const isAtOnce = this.#queue.enter(this.#flow, this.#begin, this.#hadTurn);
    this.#hadTurn = true;
    if (isAtOnce) {
      this.#sliceEnd = this.#queue.now() + SLICE_MS;
      return undefined;
    }
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  readonly #begin = (): void => {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#sliceEnd = this.#queue.now() + SLICE_MS;
    if (this.#request?.signal.aborted === true) waiting?.reject(this.#request.signal.reason);
    else waiting?.resolve();
  };
}
