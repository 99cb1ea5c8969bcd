/** What src/server/workers/start-workers.ts and src/server/workers/worker-process.ts say to each other. */
import type { MetricsReport } from '../../observability/metrics/merge-metrics.ts';

/** What a worker tells the process that started it. */
export type FromWorker =
  | { readonly store: unknown }
  /** It serves. */
  | { readonly ready: string }
  /** It could not start; the sentence is for the operator. */
  | { readonly failed: string }
  /** It is asked for metrics, which are those of all. */
  | { readonly scrape: number }
  | { readonly measured: number; readonly report: MetricsReport };

export type ToWorker =
  | { readonly store: unknown }
  | { readonly stop: true }
  | { readonly measure: number }
  | { readonly scraped: number; readonly reports: readonly MetricsReport[] };
