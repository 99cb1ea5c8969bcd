import { firstWithin } from '../../lib/first-within.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
import { countsOf, type MetricsReport } from '../../observability/metrics/merge-metrics.ts';
import type { WorkerMethods } from './worker-methods.ts';

/** Shorter than the scrape timeout of Prometheus (ten seconds). */
const RESPONSE_TIMEOUT_MS = 4_000;

/**
 * For the primary: the metrics of all workers, and the counters of those that have exited. For a worker that does not
 * respond, its last report counts.
 */
export class WorkerMetrics {
  readonly #reports = new Map<Rpc<WorkerMethods>, MetricsReport>();
  #exited: Promise<MetricsReport> = Promise.resolve([]);

  add(worker: Rpc<WorkerMethods>): void {
    this.#reports.set(worker, []);
    worker.onClose(() => {
      const last = this.#reports.get(worker) ?? [];
      this.#reports.delete(worker);
      this.#exited = this.#exited.then((before) => countsOf([before, last]));
    });
  }

  readonly gather = async (): Promise<MetricsReport[]> => {
    const responded = await Promise.all([...this.#reports.keys()].map((worker) => this.#measure(worker)));
    return [...this.#reports.values(), await this.#exited, workersGauge(responded.filter(Boolean).length)];
  };

  /** Whether the worker responded. One that fails to report must not block the scrape of the others. */
  async #measure(worker: Rpc<WorkerMethods>): Promise<boolean> {
    const report = await firstWithin(
      RESPONSE_TIMEOUT_MS,
      worker.call('measure', undefined).catch(() => undefined),
    );
    if (report === undefined || !this.#reports.has(worker)) return false;
    this.#reports.set(worker, report);
    return true;
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
