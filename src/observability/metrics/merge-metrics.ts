import { type MetricObjectWithValues, type MetricValue, Registry } from '@prometheus-io/client';

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
