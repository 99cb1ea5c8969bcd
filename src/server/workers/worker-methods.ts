/** What the primary process (start-workers.ts) and a worker (worker-process.ts) serve to each other. */
import type { Worker } from 'node:cluster';
import { type Methods, type Port, Rpc } from '../../lib/worker-rpc.ts';
import type { MetricsReport } from '../../observability/metrics/metrics.ts';
import type { OwnerMethods } from '../../storage/proxy/store-owner.ts';
import { storeCalls } from '../../storage/serialize-error.ts';

/** With an SQLite store also OwnerMethods. */
export type PrimaryMethods = OwnerMethods & {
  /** The worker serves at this base URL. */
  readonly ready: (baseUrl: string) => void;
  /** The worker failed to start; the text is for the operator. */
  readonly failed: (text: string) => void;
  /** For a worker that is scraped: the metrics of all workers. */
  readonly scrape: () => Promise<readonly MetricsReport[]>;
  /** The worker decides from memory from now on. */
  readonly decides: () => void;
  /** The worker has written to the store. Resolves when the others act on it. */
  readonly wrote: () => Promise<void>;
};

export type WorkerMethods = {
  readonly stop: () => void;
  readonly measure: () => Promise<MetricsReport>;
  /** Resolves when the worker acts on all that is in the store now. */
  readonly catchUp: () => Promise<void>;
};

/** @param worker in a worker itself, in the primary one of its workers */
export const rpcWith = <Remote extends Methods>(worker: Worker): Rpc<Remote> =>
  new Rpc(portOf(worker), storeCalls('the process at the other end has ended'));

const portOf = (worker: Worker): Port => ({
  // A message to a process that has ended is dropped. Without a channel, node:cluster is about to end a worker.
  post(messages) {
    if (worker.isConnected()) worker.send(messages as object[], () => undefined);
  },
  onMessages: (listener) => void worker.on('message', listener),
  onClose: (listener) => void worker.on('disconnect', listener),
});
