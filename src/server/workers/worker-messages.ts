/** Messages between the primary process (start-workers.ts) and a worker (worker-process.ts). */
import type { MetricsReport } from '../../observability/metrics/merge-metrics.ts';

/** From a worker to the primary. */
export type FromWorker =
  | { readonly store: unknown }
  /** It serves at this base URL. */
  | { readonly ready: string }
  /** It failed to start; the text is for the operator. */
  | { readonly failed: string }
  /** It is scraped, and needs the metrics of all workers. */
  | { readonly scrape: number }
  | { readonly measured: number; readonly report: MetricsReport }
  /** It decides from memory from now on. */
  | { readonly decides: true }
  /** It has written to the store, and needs the others to act on it. */
  | { readonly wrote: number }
  | { readonly caughtUp: number };

/** From the primary to a worker. */
export type ToWorker =
  | { readonly store: unknown }
  | { readonly stop: true }
  | { readonly measure: number }
  | { readonly scraped: number; readonly reports: readonly MetricsReport[] }
  | { readonly catchUp: number }
  /** The other workers act on the write. */
  | { readonly seen: number };
