import { issuesToken } from '../../api/kinds/token-request.ts';
import type { Target } from '../../api/request.ts';
import type { Metrics, RequestLabels } from '../../observability/metrics/metrics.ts';
import { by } from '../../observability/metrics/series.ts';
import type { RequestRecord } from './request-record.ts';

/** More clusters than one graph can show. It bounds the memory of the series, too. */
const MAX_CLUSTERS = 1_000;
const CLIENT_LEFT = 499;

/** The verbs of kube-apiserver's metrics: methods, except where one method has several meanings. */
const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    create: 'POST',
    update: 'PUT',
    patch: 'PATCH',
    get: 'GET',
    list: 'LIST',
    watch: 'WATCH',
    delete: 'DELETE',
    deletecollection: 'DELETECOLLECTION',
    head: 'HEAD',
    post: 'POST',
    put: 'PUT',
  }),
);
/** Paths with a separate label. All others share one label, or callers could create any number of labels. */
const PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz', '/metrics', '/version', '/api', '/apis']);

/**
 * Counts requests. Every label is from a fixed set (CVE-2020-8552): a resource counts by name once a route was found,
 * and a cluster once it is registered.
 */
export function createRequestMetrics(metrics: Metrics, isCluster: (name: string) => boolean) {
  // Owned by these metrics. Bound: MAX_CLUSTERS. Entries stay until the process restarts, as the series do.
  const clusters = new Set<string>();
  const clusterLabel = (name = ''): string => {
    if (clusters.has(name)) return name;
    if (clusters.size >= MAX_CLUSTERS || !isCluster(name)) return 'other';
    clusters.add(name);
    return name;
  };
  const inFlight = { readOnly: 0, mutating: 0 };
  // Read at each scrape: the numbers change twice with every request.
  const current = by('request_kind', () => inFlight);
  metrics.gauge('apiserver_current_inflight_requests', 'Requests in flight, watches excepted.', current, 'sum');
  const countToken = (record: RequestRecord): void =>
    metrics.tokenRequests.inc({ cluster: clusterLabel(record.cluster), result: resultOf(record) });
  return {
    arrived(method: string | undefined): void {
      inFlight[kindOf(method)] += 1;
    },
    /** The headers of a watch are out. */
    started(record: RequestRecord): void {
      inFlight.readOnly -= 1;
      metrics.longRunning.inc(watchLabels(labelsOf(record)));
    },
    ended(record: RequestRecord): void {
      const labels = labelsOf(record);
      metrics.requests.inc({ ...labels, code: String(record.code || CLIENT_LEFT) });
      if (record.started) {
        metrics.longRunning.dec(watchLabels(labels));
        return;
      }
      inFlight[kindOf(record.method)] -= 1;
      metrics.requestSeconds.observe(labels, record.milliseconds / 1000);
      if (issuesToken(labels.subresource)) countToken(record);
    },
    /** A token of a TokenRequestList, or a request of a tool. It counts as a token, not as a request. */
    subrequestEnded(record: RequestRecord): void {
      if (issuesToken(record.target?.subresource ?? '')) countToken(record);
    },
  };
}

const kindOf = (method: string | undefined): 'readOnly' | 'mutating' =>
  method === 'GET' || method === 'HEAD' ? 'readOnly' : 'mutating';

function labelsOf(record: RequestRecord): RequestLabels {
  const target = record.isRouted ? record.target : undefined;
  return {
    verb: VERBS.get(record.verb) ?? 'OTHER',
    group: target?.group ?? '',
    version: target?.version ?? '',
    resource: target?.resource ?? '',
    subresource: target?.subresource ?? pathLabel(record),
    scope: target === undefined ? '' : scopeOf(target),
    component: 'apiserver',
    dry_run: record.dryRun ? 'All' : '',
  };
}

const pathLabel = ({ path }: RequestRecord): string => (PATHS.has(path) ? path : '');

/** A watch changes nothing, so none is a dry run. */
const watchLabels = ({ dry_run: _, ...labels }: RequestLabels): Omit<RequestLabels, 'dry_run'> => labels;

const scopeOf = ({ name, namespace, verb }: Target): string =>
  name !== '' || verb === 'create' ? 'resource' : namespace === '' ? 'cluster' : 'namespace';

function resultOf({ code, dryRun }: RequestRecord): string {
  if (code === 0) return 'canceled';
  if (code >= 500) return 'failed';
  if (code >= 400) return 'rejected';
  return dryRun ? 'dry_run' : 'issued';
}
