import type { Worker } from 'node:cluster';
import { firstWithin } from '../../lib/first-within.ts';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Store } from '../../storage/contract.ts';
import { type Freshness, MAX_AGE_MS } from '../../storage/freshness.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { WorkerPoll } from './worker-poll.ts';

/** A write shares the poll of the write before it for this long, then starts a poll itself. */
const OVERLAP_MS = 100;
/** For a worker that starts: it reads the whole fleet from a store that is busy with other workers. */
const START_MS = 30_000;

/** The primary's side: asks the other workers to catch up with the store when one of them has written. */
export class WorkerCatchUp {
  readonly #send: (worker: Worker, message: ToWorker) => void;
  readonly #maxMs: number;
  readonly #poll = new WorkerPoll();
  /** The workers that may decide from memory. */
  readonly #deciding = new Set<Worker>();

  constructor(send: (worker: Worker, message: ToWorker) => void, maxMs: number = MAX_AGE_MS) {
    this.#send = send;
    this.#maxMs = maxMs;
  }

  add(worker: Worker): void {
    worker.on('message', (message: FromWorker) => {
      if ('decides' in message) this.#deciding.add(worker);
      else if ('caughtUp' in message) this.#poll.answered(message.caughtUp, worker);
      else if ('wrote' in message) {
        const others = [...this.#deciding].filter((other) => other !== worker && other.isConnected());
        void this.#poll
          .run(others, (other, catchUp) => this.#send(other, { catchUp }), this.#maxMs)
          .then(() => this.#send(worker, { seen: message.wrote }));
      }
    });
    worker.on('exit', () => {
      this.#deciding.delete(worker);
      this.#poll.exited(worker);
    });
  }
}

/** How a worker and the other workers of its address keep up with each other's writes (docs/adr/0024). */
export interface Siblings {
  /** A store whose writes return when the other workers act on them. */
  withCatchUp(store: Store): Store;
  /** Called before this worker decides anything: from now on, the writes of others wait for it. */
  decideFrom(freshness: Pick<Freshness, 'catchUp'>): Promise<void>;
}

/** A worker's side. */
export function joinSiblings(
  worker: Pick<Worker, 'on'>,
  send: (message: FromWorker) => void,
  maxMs: number = MAX_AGE_MS,
): Siblings {
  const waiting = new Map<number, () => void>();
  let ids = 0;
  let freshness: Pick<Freshness, 'catchUp'> | undefined;
  worker.on('message', (message: ToWorker) => {
    if ('seen' in message) {
      waiting.get(message.seen)?.();
      waiting.delete(message.seen);
    } else if ('catchUp' in message) {
      const answer = (reached: boolean | undefined): void => {
        if (reached !== false) send({ caughtUp: message.catchUp });
      };
      // Without the store this worker goes on with what it knows (B12), so waiting longer changes nothing.
      void freshness?.catchUp(maxMs).then(answer, () => answer(undefined));
    }
  });
  const ask = async (): Promise<void> => {
    const id = ++ids;
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(id, resolve);
    send({ wrote: id });
    // A worker that does not answer for so long decides nothing from memory before it has caught up.
    await firstWithin(maxMs, promise);
    waiting.delete(id);
  };
  const seen = new SharedCall(ask, { overlapMs: OVERLAP_MS });
  return {
    withCatchUp: (store) => ({
      get: (key, revision) => store.get(key, revision),
      list: (request) => store.list(request),
      async write(write) {
        const result = await store.write(write);
        if (result.ok) await seen.call();
        return result;
      },
      watch: (prefix, after, signal) => store.watch(prefix, after, signal),
      revision: () => store.revision(),
      knownRevision: () => store.knownRevision?.(),
      compactedRevision: () => store.compactedRevision(),
      compact: (revision) => store.compact(revision),
      close: () => store.close(),
    }),
    async decideFrom(own) {
      freshness = own;
      send({ decides: true });
      // Messages keep their order: after this answer the primary knows that this worker decides. Writes before that
      // did not wait for it, so it reads them now.
      await ask();
      await own.catchUp(START_MS);
    },
  };
}
