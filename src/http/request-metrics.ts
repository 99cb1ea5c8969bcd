import type { Target } from '../api/exchange.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { RequestRecord } from './request-record.ts';

export interface RequestMetrics {
  arrived(method: string | undefined): void;
  /** A watch stands. */
  started(record: RequestRecord): void;
  ended(record: RequestRecord): void;
}

/** More clusters than anybody draws in one picture, and a bound on what memory they take. */
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
/** Paths that stand for themselves; all others share one label, or callers could make as many as they like. */
const PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz', '/metrics', '/version', '/api', '/apis']);

/**
 * Counts requests. Every label is from a fixed set (CVE-2020-8552): a resource counts by name once a route was found,
 * and a cluster once it is registered.
 */
export function createRequestMetrics(metrics: Metrics, isCluster: (name: string) => boolean): RequestMetrics {
  const clusters = new Set<string>();
  const clusterLabel = (name = ''): string => {
    if (clusters.has(name)) return name;
    if (clusters.size >= MAX_CLUSTERS || !isCluster(name)) return 'other';
    clusters.add(name);
    return name;
  };
  return {
    arrived(method) {
      metrics.inFlight[kindOf(method)] += 1;
    },
    started(record) {
      metrics.inFlight.readOnly -= 1;
      metrics.longRunning.inc(labelsOf(record));
    },
    ended(record) {
      const labels = labelsOf(record);
      const dryRun = { dry_run: record.dryRun ? 'All' : '' };
      metrics.requests.inc({ ...labels, ...dryRun, code: String(record.code || CLIENT_LEFT) });
      if (record.started) {
        metrics.longRunning.dec(labels);
        return;
      }
      metrics.inFlight[kindOf(record.method)] -= 1;
      metrics.requestSeconds.observe({ ...labels, ...dryRun }, record.milliseconds / 1000);
      if (labels.subresource !== 'token') return;
      metrics.tokenRequests.inc({ cluster: clusterLabel(record.cluster), result: resultOf(record) });
    },
  };
}

const kindOf = (method: string | undefined): 'readOnly' | 'mutating' =>
  method === 'GET' || method === 'HEAD' ? 'readOnly' : 'mutating';

function labelsOf({ verb, path, resource, target }: RequestRecord) {
  const isRouted = resource !== undefined && target !== undefined;
  return {
    verb: VERBS.get(verb) ?? 'OTHER',
    group: isRouted ? target.group : '',
    version: isRouted ? target.version : '',
    resource: isRouted ? target.resource : '',
    subresource: isRouted ? target.subresource : PATHS.has(path) ? path : '',
    scope: isRouted ? scopeOf(target) : '',
    component: 'apiserver',
  };
}

const scopeOf = ({ name, namespace, verb }: Target): string =>
  name !== '' || verb === 'create' ? 'resource' : namespace === '' ? 'cluster' : 'namespace';

function resultOf({ code, dryRun }: RequestRecord): string {
  if (code === 0) return 'abandoned';
  if (code >= 500) return 'failed';
  if (code >= 400) return 'refused';
  return dryRun ? 'rehearsed' : 'issued';
}
