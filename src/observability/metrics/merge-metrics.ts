import { type MetricObjectWithValues, type MetricValue, Registry } from '@prometheus-io/client';

/** The metrics of one process, as they can be sent to another. */
export type MetricsReport = readonly Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>[];

type Rule = 'sum' | 'min' | 'max';

/**
 * How the values of several processes become one. Counters are summed, and so are gauges that count requests. Of the
 * other gauges it is the worst value: one process that is behind or stuck must be seen. Every gauge of ours is in this
 * table.
 */
export const RULES: Readonly<Record<string, Rule>> = {
  apiserver_longrunning_requests: 'sum',
  apiserver_current_inflight_requests: 'sum',
  apiserver_flowcontrol_current_executing_requests: 'sum',
  apiserver_flowcontrol_current_inqueue_requests: 'sum',
  apiserver_flowcontrol_nominal_limit_seats: 'sum',
  clusterpass_tls_handshakes_waiting: 'sum',
  // Two leaders must be seen as two.
  clusterpass_leader: 'sum',
  clusterpass_workers: 'sum',
  clusterpass_clock_skew_seconds: 'max',
  clusterpass_clock_skew_exceeded: 'max',
  clusterpass_cache_ready: 'min',
  clusterpass_cache_lag_seconds: 'max',
  apiserver_watch_cache_resource_version: 'min',
  watch_cache_capacity: 'min',
  apiserver_resource_objects: 'max',
  clusterpass_clusters: 'max',
  clusterpass_clusters_by_reason: 'max',
  clusterpass_clusters_by_version: 'max',
  clusterpass_ending_within_30_days: 'max',
  clusterpass_signing_key_age_seconds: 'max',
  clusterpass_signing_key_rotation_timestamp_seconds: 'min',
  clusterpass_audit_log_failing: 'max',
  clusterpass_audit_log_free_bytes: 'min',
  clusterpass_audit_log_volume_bytes: 'min',
  clusterpass_caller_file_failing: 'max',
  clusterpass_caller_lines_refused: 'max',
  clusterpass_cluster_credentials: 'max',
  clusterpass_connectors: 'max',
  clusterpass_waiting_approvals: 'max',
  clusterpass_manifest_problems: 'max',
  clusterpass_notifications_waiting: 'max',
  clusterpass_notify_problems: 'max',
  clusterpass_identity_provider_failing: 'max',
  clusterpass_tls_certificate_expiration_timestamp_seconds: 'min',
  process_start_time_seconds: 'min',
  process_open_fds: 'max',
  process_max_fds: 'min',
  nodejs_version_info: 'max',
};

const ruleFor = ({ name }: MetricsReport[number]): Rule =>
  RULES[name] ?? (name.startsWith('nodejs_eventloop_lag_') ? 'max' : 'sum');

/** The text for Prometheus of all processes that serve one address. */
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
  const withRules = reports.map((report) => report.map((metric) => ({ ...metric, aggregator: ruleFor(metric) })));
  return Registry.aggregate(withRules);
}
