import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from '@prometheus-io/client';
import { labels, readAtScrape } from './series.ts';

/** Labels of kube-apiserver, so that dashboards made for it work here. Each has few values. */
const LONGRUNNING_LABELS = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const REQUEST_LABELS = [...LONGRUNNING_LABELS, 'dry_run'] as const;

export type RequestLabels = Readonly<Record<(typeof REQUEST_LABELS)[number], string>>;

/** kube-apiserver's, for `apiserver_request_duration_seconds`. */
const REQUEST_SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

/** Given the metrics of this process, returns how to ask for those of all processes that serve the same address. */
export type JoinMetrics = (own: () => Promise<MetricsReport>) => () => Promise<readonly MetricsReport[]>;

/**
 * The metrics of the program, besides the library's own (`process_*`, `nodejs_*`, the event loop's delay among them).
 */
export function createMetrics(join?: JoinMetrics) {
  const registry = new Registry();
  const reportsOfAll = join?.(() => registry.getMetricsAsJSON());
  // The default, ten times a second, costs half a per cent of a busy server.
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: 1_000 });
  const registers = [registry];
  const cacheEvents = new Counter({
    name: 'apiserver_watch_cache_events_received_total',
    help: 'Events that the watch caches have received, by resource.',
    labelNames: ['group', 'resource'],
    registers,
  });
  const tokenRequests = new Counter({
    name: 'clusterpass_token_requests_total',
    help: 'Requests for tokens by cluster and result; clusters beyond the first thousand, and unknown ones, are "other".',
    labelNames: ['cluster', 'result'],
    registers,
  });
  const certificates = new Map<string, () => number | undefined>();
  const read = readAtScrape(registry);
  // Without a certificate in use there is no sample: a 0 would be one that has expired.
  const expiries = labels(['option'], () =>
    [...certificates].flatMap(([option, expiry]) => {
      const at = expiry();
      return at === undefined ? [] : [[{ option }, at / 1000] as const];
    }),
  );
  read.gauge(
    'clusterpass_tls_certificate_expiration_timestamp_seconds',
    'When the certificate in use expires, in seconds since the epoch, by the option that names its file.',
    expiries,
    'min',
  );
  return {
    ...read,
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
    tokenRequests,
    /** How many tokens this process has issued, without dry runs, and how many it has not. */
    tokenTotals: async (): Promise<Record<'issued' | 'refused', number>> => {
      const { values }: { values: readonly MetricValue<string>[] } = await tokenRequests.get();
      const sum = (...results: string[]): number =>
        values.reduce((total, { labels, value }) => total + (results.includes(String(labels.result)) ? value : 0), 0);
      return { issued: sum('issued'), refused: sum('rejected', 'failed') };
    },
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
      help: 'Comparisons of the watch caches with the store, by resource: success, failure when they differed, error when the store failed.',
      labelNames: ['group', 'resource', 'status'],
      registers,
    }),
    countCacheEvent: ({ group, resource }: { readonly group: string; readonly resource: string }): void =>
      cacheEvents.inc({ group, resource }),
    /** The expiry is in milliseconds, and undefined while no certificate is in use. */
    observeCertificate: (option: string, expiry: () => number | undefined): void =>
      void certificates.set(option, expiry),
    registry,
    contentType: registry.contentType,
    /** The text for Prometheus: of this process, or of all that serve the same address. */
    text: async (): Promise<string> =>
      reportsOfAll === undefined ? registry.metrics() : mergeMetrics(await reportsOfAll()),
  };
}

/** The metrics of one process, as they can be sent to another. */
export type MetricsReport = readonly Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>[];

/** The aggregators of the library's own gauges, where its choice would hide one process that is behind or stuck. */
const OF_LIBRARY: Readonly<Record<string, 'min' | 'max'>> = {
  process_start_time_seconds: 'min',
  process_open_fds: 'max',
  process_max_fds: 'min',
  nodejs_version_info: 'max',
};

const aggregatorOf = ({ name, aggregator }: MetricsReport[number]): MetricsReport[number]['aggregator'] =>
  OF_LIBRARY[name] ?? (name.startsWith('nodejs_eventloop_lag_') ? 'max' : aggregator);

/**
 * The text for Prometheus of all processes that serve one address. Counters are summed, and so are gauges that count
 * requests. Of the other gauges it is the worst value: one process that is behind or stuck must be seen.
 */
export const mergeMetrics = (reports: readonly MetricsReport[]): Promise<string> => merge(reports).metrics();

/**
 * The metrics of a process that are kept after it has exited. Without them a sum of counters would fall, which
 * Prometheus takes for a reset: it would count the rest twice.
 */
export async function countsOf(reports: readonly MetricsReport[]): Promise<MetricsReport> {
  const counts = reports.map((report) => report.filter(({ type }) => COUNTED.includes(String(type))));
  return merge(counts).getMetricsAsJSON();
}

const COUNTED = ['counter', 'histogram'];

function merge(reports: readonly MetricsReport[]): Registry {
  const withRules = reports.map((report) => report.map((metric) => ({ ...metric, aggregator: aggregatorOf(metric) })));
  return Registry.aggregate(withRules);
}
