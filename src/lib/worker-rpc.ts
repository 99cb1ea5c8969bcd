/** Calls between threads, and between processes. */
import { type MessagePort, parentPort, Worker, type WorkerOptions, workerData } from 'node:worker_threads';
import { endOfTick } from './event-loop.ts';

/** The connection to the other side. Messages arrive whole, once and in order, until it closes. */
export interface Port {
  /** After the port has closed, messages are dropped. */
  post(messages: readonly unknown[], transfer: ArrayBuffer[]): void;
  onMessages(listener: (messages: readonly unknown[]) => void): void;
  /** May call back more than once. */
  onClose(listener: (cause: unknown) => void): void;
}

/** What one side offers to the other. There is a signal if the caller gave one. */
export type Methods = Readonly<Record<string, (input: never, signal?: AbortSignal) => unknown>>;

type Input<M extends Methods, N extends keyof M> = Parameters<M[N]>[0];
type Returned<T> = T extends Transferred<infer V> ? V : T;
type Output<M extends Methods, N extends keyof M> = Returned<Awaited<ReturnType<M[N]>>>;

/** The output of a method whose buffers are moved, not copied. */
export class Transferred<T> {
  readonly value: T;
  readonly buffers: readonly ArrayBuffer[];

  constructor(value: T, buffers: readonly ArrayBuffer[]) {
    this.value = value;
    this.buffers = buffers;
  }
}

/** Tuples: the names of fields would cross with every message. An answer has the negative id of its call. */
type Call = readonly [id: number, method: string, input: unknown, isAbortable: boolean];
type Answer = readonly [id: number, output: unknown, error?: unknown];
type Abort = readonly [kind: 0, id: number];
type Message = Call | Answer | Abort;

export interface RpcOptions {
  /** The error of a call without an answer, or, if `sent` is undefined, of one after the port has closed. */
  readonly lost: (cause: unknown, sent: string | undefined) => Error;
  /** When collected messages are posted, as one array. Default: at the end of the tick. */
  readonly schedule?: (flush: () => void) => void;
  /** How errors cross. Default: as their messages. */
  readonly errors?: { readonly pack: (error: unknown) => unknown; readonly unpack: (packed: never) => Error };
}

interface Pending {
  readonly method: string;
  readonly settled: Promise<unknown>;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const MESSAGES_OF_ERRORS = {
  pack: (error: unknown): unknown => (error instanceof Error ? error.message : String(error)),
  unpack: (message: string): Error => new Error(message),
};

/** One side of a connection. It calls the methods of the other side, and answers calls of its own methods. */
export class Rpc<Remote extends Methods> {
  readonly #port: Port;
  readonly #options: Required<RpcOptions>;
  readonly #pending = new Map<number, Pending>();
  readonly #running = new Map<number, AbortController>();
  #methods: Methods = {};
  #messages: Message[] = [];
  #transfer: ArrayBuffer[] = [];
  #lastId = 0;
  #closed: { readonly cause: unknown } | undefined;

  constructor(port: Port, options: RpcOptions) {
    this.#port = port;
    this.#options = { schedule: endOfTick.handOver, errors: MESSAGES_OF_ERRORS, ...options };
    port.onMessages((messages) => {
      for (const message of messages as readonly Message[]) this.#receive(message);
    });
    port.onClose((cause) => this.#close(cause));
  }

  serve(methods: Methods): void {
    this.#methods = methods;
  }

  /** The error of every further call; undefined while the port is open. */
  get lost(): Error | undefined {
    return this.#closed && this.#options.lost(this.#closed.cause, undefined);
  }

  /** An aborted call rejects at once, without waiting for the other side. */
  call<N extends keyof Remote & string>(
    method: N,
    input: Input<Remote, N>,
    { signal, transfer = [] }: { readonly signal?: AbortSignal; readonly transfer?: readonly ArrayBuffer[] } = {},
  ): Promise<Output<Remote, N>> {
    const refusal = this.lost ?? (signal?.aborted === true ? signal.reason : undefined);
    if (refusal !== undefined) return Promise.reject(refusal);
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { method, resolve, reject, settled: promise });
    this.#post([id, method, input, signal !== undefined], transfer);
    if (signal === undefined) return promise as Promise<Output<Remote, N>>;
    const abort = (): void => {
      this.#pending.delete(id);
      this.#post([0, id]);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort);
    return promise.finally(() => signal.removeEventListener('abort', abort)) as Promise<Output<Remote, N>>;
  }

  /** A call whose answer does not matter. */
  tell<N extends keyof Remote & string>(method: N, input: Input<Remote, N>): void {
    this.call(method, input).catch(() => undefined);
  }

  /** Resolves when the calls until now have their answers. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#pending.values()].map(({ settled }) => settled));
  }

  onClose(listener: () => void): void {
    this.#port.onClose(listener);
  }

  /** Posts what was collected, without waiting for the end of the tick. */
  readonly flush = (): void => {
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    const transfer = this.#transfer;
    this.#messages = [];
    this.#transfer = [];
    this.#port.post(messages, transfer);
  };

  #post(message: Message, transfer: readonly ArrayBuffer[] = []): void {
    this.#transfer.push(...transfer);
    if (this.#messages.push(message) === 1) this.#options.schedule(this.flush);
  }

  #receive(message: Message): void {
    const [id] = message;
    if (id > 0) this.#respond(message as Call);
    else if (id === 0) this.#running.get((message as Abort)[1])?.abort();
    else {
      const pending = this.#pending.get(-id);
      this.#pending.delete(-id);
      if (message.length === 3) pending?.reject(this.#options.errors.unpack(message[2] as never));
      else pending?.resolve(message[1]);
    }
  }

  /** An output that is there at once is posted before the next call of the same array begins. */
  #respond([id, method, input, isAbortable]: Call): void {
    const controller = isAbortable ? new AbortController() : undefined;
    if (controller !== undefined) this.#running.set(id, controller);
    const answer = (output: unknown): void => {
      this.#running.delete(id);
      if (output instanceof Transferred) this.#post([-id, output.value], output.buffers);
      else this.#post([-id, output]);
    };
    const fail = (error: unknown): void => {
      this.#running.delete(id);
      this.#post([-id, undefined, this.#options.errors.pack(error)]);
    };
    try {
      const serve = this.#methods[method];
      if (serve === undefined) throw new Error(`there is no method ${method}`);
      const output = serve(input as never, controller?.signal);
      if (output instanceof Promise) output.then(answer, fail);
      else answer(output);
    } catch (error) {
      fail(error);
    }
  }

  #close(cause: unknown): void {
    if (this.#closed !== undefined) return;
    this.#closed = { cause };
    for (const { method, reject } of this.#pending.values()) reject(this.#options.lost(cause, method));
    this.#pending.clear();
    for (const controller of this.#running.values()) controller.abort();
  }
}

/** A thread that this one started. `ref` and `unref`: whether it keeps the process alive. */
export type Thread = Port & Pick<Worker, 'ref' | 'unref' | 'terminate'>;

export function startThread(entry: URL, options: WorkerOptions): Thread {
  const worker = new Worker(entry, options);
  return {
    ...portOf(worker),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
    terminate: () => worker.terminate(),
  };
}

/** For the entry of a thread: serves methods to the thread that started it, with what it was started with. */
export function serveStarter<Data, Remote extends Methods = Methods>(
  open: (data: Data, starter: Rpc<Remote>) => Methods,
  options: Omit<RpcOptions, 'lost'>,
): void {
  if (parentPort === null) throw new Error('this file is the entry of a thread');
  const starter = new Rpc<Remote>(portOf(parentPort), { ...options, lost: () => new Error('the process ends') });
  starter.serve(open(workerData as Data, starter));
}

const portOf = (channel: Worker | MessagePort): Port => ({
  post: (messages, transfer) => channel.postMessage(messages, transfer),
  onMessages: (listener) => void channel.on('message', listener),
  onClose: (listener) => void channel.on('error', listener).on('exit', listener),
});
