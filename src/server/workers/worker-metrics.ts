import type { Worker } from 'node:cluster';
import { countsOf, type MetricsReport } from '../../observability/metrics/merge-metrics.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { WorkerPoll } from './worker-poll.ts';

/** Shorter than the scrape timeout of Prometheus (ten seconds). */
const RESPONSE_TIMEOUT_MS = 4_000;

/**
 * The primary's side: a scraped worker receives the metrics of all workers, and the counters of those that have exited.
 * For a worker that does not respond, its last report counts.
 */
export class WorkerMetrics {
  readonly #send: (worker: Worker, message: ToWorker) => void;
  readonly #reports = new Map<Worker, MetricsReport>();
  readonly #poll = new WorkerPoll();
  #exited: Promise<MetricsReport> = Promise.resolve([]);

  constructor(send: (worker: Worker, message: ToWorker) => void) {
    this.#send = send;
  }

  add(worker: Worker): void {
    this.#reports.set(worker, []);
    worker.on('message', (message: FromWorker) => {
      if ('measured' in message) {
        this.#reports.set(worker, message.report);
        this.#poll.answered(message.measured, worker);
      } else if ('scrape' in message) {
        void this.#gather().then((reports) => this.#send(worker, { scraped: message.scrape, reports }));
      }
    });
    worker.on('exit', () => {
      const last = this.#reports.get(worker) ?? [];
      this.#reports.delete(worker);
      this.#exited = this.#exited.then((before) => countsOf([before, last]));
      this.#poll.exited(worker);
    });
  }

  async #gather(): Promise<MetricsReport[]> {
    const polled = [...this.#reports.keys()].filter((worker) => worker.isConnected());
    const missing = await this.#poll.run(
      polled,
      (worker, measure) => this.#send(worker, { measure }),
      RESPONSE_TIMEOUT_MS,
    );
    const workers = polled.filter((worker) => !missing.has(worker) && this.#reports.has(worker)).length;
    return [...this.#reports.values(), await this.#exited, workersGauge(workers)];
  }
}

const workersGauge = (value: number): MetricsReport => [
  {
    name: 'clusterpass_workers',
    help: 'Worker processes that responded to this scrape.',
    type: 'gauge',
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  },
];

/** A worker's side: reports its own metrics, and requests those of all. */
export function joinWorkers(
  worker: Worker,
  send: (message: FromWorker) => void,
): (own: () => Promise<MetricsReport>) => () => Promise<readonly MetricsReport[]> {
  return (own) => {
    const waiting = new Map<number, (reports: readonly MetricsReport[]) => void>();
    let ids = 0;
    worker.on('message', (message: ToWorker) => {
      if ('measure' in message) {
        const { measure } = message;
        // A worker that fails to report must not block the scrape of the others.
        void own().then(
          (report) => send({ measured: measure, report }),
          () => send({ measured: measure, report: [] }),
        );
      } else if ('scraped' in message) {
        waiting.get(message.scraped)?.(message.reports);
        waiting.delete(message.scraped);
      }
    });
    return () =>
      new Promise((resolve) => {
        const id = ++ids;
        waiting.set(id, resolve);
        send({ scrape: id });
      });
  };
}
