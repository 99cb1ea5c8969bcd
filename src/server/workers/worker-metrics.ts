import type { Worker } from 'node:cluster';
import { countsOf, type MetricsReport } from '../../observability/metrics/merge-metrics.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** Longer than a worker waits for a store that does not answer; Prometheus waits ten seconds. */
const ANSWER_MS = 4_000;

/**
 * The side of the process that starts workers: whoever of them is scraped is told what all of them measured, and what those
 * counted that are gone. Of one that does not answer it is what it said last.
 */
export class WorkerMetrics {
  readonly #send: (worker: Worker, message: ToWorker) => void;
  readonly #reports = new Map<Worker, MetricsReport>();
  /** By question: those whose answer is missing, and what to do when there is none left. */
  readonly #questions = new Map<number, { readonly missing: Set<Worker>; readonly done: () => void }>();
  #gone: Promise<MetricsReport> = Promise.resolve([]);
  #ids = 0;

  constructor(send: (worker: Worker, message: ToWorker) => void) {
    this.#send = send;
  }

  add(worker: Worker): void {
    this.#reports.set(worker, []);
    worker.on('message', (message: FromWorker) => {
      if ('measured' in message) {
        this.#reports.set(worker, message.report);
        this.#answered(message.measured, worker);
      } else if ('scrape' in message) {
        void this.#gather().then((reports) => this.#send(worker, { scraped: message.scrape, reports }));
      }
    });
    worker.on('exit', () => {
      const last = this.#reports.get(worker) ?? [];
      this.#reports.delete(worker);
      this.#gone = this.#gone.then((before) => countsOf([before, last]));
      for (const id of this.#questions.keys()) this.#answered(id, worker);
    });
  }

  async #gather(): Promise<MetricsReport[]> {
    const id = ++this.#ids;
    const asked = [...this.#reports.keys()].filter((worker) => worker.isConnected());
    const missing = new Set(asked);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#questions.set(id, { missing, done: resolve });
    const timer = setTimeout(resolve, ANSWER_MS);
    for (const worker of asked) this.#send(worker, { measure: id });
    await promise;
    clearTimeout(timer);
    this.#questions.delete(id);
    const workers = asked.filter((worker) => !missing.has(worker) && this.#reports.has(worker)).length;
    return [...this.#reports.values(), await this.#gone, workersGauge(workers)];
  }

  #answered(id: number, worker: Worker): void {
    const question = this.#questions.get(id);
    if (question?.missing.delete(worker) === true && question.missing.size === 0) question.done();
  }
}

const workersGauge = (value: number): MetricsReport => [
  {
    name: 'clusterpass_workers',
    help: 'Processes that serve this address and answered when this was asked.',
    type: 'gauge',
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  },
];

/** The side of a worker: answers with what it measured, and asks for what all did. */
export function joinWorkers(
  worker: Worker,
  tell: (message: FromWorker) => void,
): (own: () => Promise<MetricsReport>) => () => Promise<readonly MetricsReport[]> {
  return (own) => {
    const waiting = new Map<number, (reports: readonly MetricsReport[]) => void>();
    let ids = 0;
    worker.on('message', (message: ToWorker) => {
      if ('measure' in message) {
        const { measure } = message;
        // One that can not be measured must not hold up the others.
        void own().then(
          (report) => tell({ measured: measure, report }),
          () => tell({ measured: measure, report: [] }),
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
        tell({ scrape: id });
      });
  };
}
