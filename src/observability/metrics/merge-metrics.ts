import { type MetricObjectWithValues, type MetricValue, Registry } from '@prometheus-io/client';

/** The metrics of one process, as they can be sent to another. */
export type MetricsReport = readonly Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>[];

type Rule = 'sum' | 'min' | 'max';

/**
 * How values of several processes become one. What is counted is summed, and so is what stands or waits. Of the rest it is
 * the worst that somebody has to know: one process that is behind or stuck must show. Every gauge of ours has a row.
 */
export const RULES: Readonly<Record<string, Rule>> = {
  apiserver_longrunning_requests: 'sum',
  apiserver_current_inflight_requests: 'sum',
  apiserver_flowcontrol_current_executing_requests: 'sum',
  apiserver_flowcontrol_current_inqueue_requests: 'sum',
  apiserver_flowcontrol_nominal_limit_seats: 'sum',
  // Two that lead are two too many, also in one place.
  clusterpass_leader: 'sum',
  clusterpass_workers: 'sum',
  clusterpass_clock_skew_seconds: 'max',
  clusterpass_cache_ready: 'min',
  clusterpass_cache_lag_seconds: 'max',
  apiserver_watch_cache_resource_version: 'min',
  watch_cache_capacity: 'min',
  apiserver_resource_objects: 'max',
  clusterpass_signing_key_age_seconds: 'max',
  clusterpass_audit_log_failing: 'max',
  process_start_time_seconds: 'min',
  process_open_fds: 'max',
  process_max_fds: 'min',
  nodejs_version_info: 'max',
};

const ruleFor = ({ name }: MetricsReport[number]): Rule =>
  RULES[name] ?? (name.startsWith('nodejs_eventloop_lag_') ? 'max' : 'sum');

/** One text for Prometheus out of the metrics of all processes that serve an address. */
export const mergeMetrics = (reports: readonly MetricsReport[]): Promise<string> => merge(reports).metrics();

/** What of a process outlives it: a count that fell would be taken for one that began anew, and be counted twice. */
export async function countsOf(reports: readonly MetricsReport[]): Promise<MetricsReport> {
  const counts = reports.map((report) => report.filter(({ type }) => COUNTED.includes(String(type))));
  return merge(counts).getMetricsAsJSON();
}

const COUNTED = ['counter', 'histogram'];

function merge(reports: readonly MetricsReport[]): Registry {
  const ruled = reports.map((report) => report.map((metric) => ({ ...metric, aggregator: ruleFor(metric) })));
  return Registry.aggregate(ruled);
}
