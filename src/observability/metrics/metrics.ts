import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { type MetricsReport, mergeMetrics } from './merge-metrics.ts';

/** Labels of kube-apiserver, so that dashboards made for it work here. Each has few values. */
const LONGRUNNING_LABELS = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const REQUEST_LABELS = [...LONGRUNNING_LABELS, 'dry_run'] as const;

export type RequestLabels = Readonly<Record<(typeof REQUEST_LABELS)[number], string>>;

/** kube-apiserver's, for `apiserver_request_duration_seconds`. */
const REQUEST_SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** As much as a metric needs to know of a kind. */
interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Given what this process measures, gives what asks all processes that serve the same address. */
export type JoinMetrics = (own: () => Promise<MetricsReport>) => () => Promise<readonly MetricsReport[]>;

/** Every metric there is, besides those of the process itself (`process_*`, `nodejs_*`, the event loop's delay among them). */
export function createMetrics(join?: JoinMetrics) {
  const registry = new Registry();
  const ofAll = join?.(() => registry.getMetricsAsJSON());
  // Ten times a second, the default, the quantiles of it cost half a per cent of a busy server.
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: 1_000 });
  const registers = [registry];
  const inFlight: Record<'readOnly' | 'mutating', number> = { readOnly: 0, mutating: 0 };
  new Gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests that are being worked on, watches excepted.',
    labelNames: ['request_kind'],
    registers,
    collect() {
      for (const [request_kind, count] of Object.entries(inFlight)) this.set({ request_kind }, count);
    },
  });
  const cacheEvents = new Map<ResourceName, number>();
  new Counter({
    name: 'apiserver_watch_cache_events_received_total',
    help: 'Changes that the caches have taken in, by resource.',
    labelNames: ['group', 'resource'],
    registers,
    collect() {
      for (const [{ group, resource }, count] of cacheEvents) this.inc({ group, resource }, count);
      cacheEvents.clear();
    },
  });
  return {
    requests: new Counter({
      name: 'apiserver_request_total',
      help: 'Requests, by verb, dry run, resource, scope and code of the answer; 499 when the client left before it.',
      labelNames: [...REQUEST_LABELS, 'code'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'How long requests took, watches excepted.',
      labelNames: REQUEST_LABELS,
      buckets: REQUEST_SECONDS,
      registers,
    }),
    longRunning: new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Open watches.',
      labelNames: LONGRUNNING_LABELS,
      registers,
    }),
    /** Counted here, and told when somebody asks: it changes twice with every request. */
    inFlight,
    tokenRequests: new Counter({
      name: 'clusterpass_token_requests_total',
      help: 'Requests for tokens by cluster and result; clusters beyond the first thousand, and unknown ones, are "other".',
      labelNames: ['cluster', 'result'],
      registers,
    }),
    storeSeconds: new Histogram({
      name: 'clusterpass_store_request_duration_seconds',
      help: 'How long the store took to answer, by operation.',
      labelNames: ['operation'],
      buckets: STORE_SECONDS,
      registers,
    }),
    storeErrors: new Counter({
      name: 'clusterpass_store_errors_total',
      help: 'Requests to the store that failed, by operation.',
      labelNames: ['operation'],
      registers,
    }),
    cacheChecks: new Counter({
      name: 'apiserver_storage_consistency_checks_total',
      help: 'Comparisons of the caches with the store, by resource: success, failure when they differed, error when the store could not tell.',
      labelNames: ['group', 'resource', 'status'],
      registers,
    }),
    /** Counted here too: it grows with every write. */
    countCacheEvent: (kind: ResourceName): void => void cacheEvents.set(kind, (cacheEvents.get(kind) ?? 0) + 1),
    registry,
    contentType: registry.contentType,
    /** The text for Prometheus: of this process, or of all that serve with it. */
    text: async (): Promise<string> => (ofAll === undefined ? registry.metrics() : mergeMetrics(await ofAll())),
  };
}
