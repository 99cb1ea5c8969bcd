import type { Target } from '../../api/request.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { RequestLabels, TallyRow } from '../../observability/metrics/request-tally.ts';
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
  const rowOf = (record: RequestRecord): TallyRow => {
    const { notes, isRouted } = record;
    // Before it is known what is served there, a line counts as any other.
    if (notes === undefined || !isRouted) return metrics.requests.rowOf(labelsOf(record));
    notes.row ??= metrics.requests.rowOf(labelsOf(record));
    return notes.row;
  };
  return {
    arrived(method) {
      metrics.inFlight[kindOf(method)] += 1;
    },
    started(record) {
      metrics.inFlight.readOnly -= 1;
      metrics.longRunning.inc(watchLabels(rowOf(record)));
    },
    ended(record) {
      const row = rowOf(record);
      row.answered(record.code || CLIENT_LEFT);
      if (record.started) {
        metrics.longRunning.dec(watchLabels(row));
        return;
      }
      metrics.inFlight[kindOf(record.method)] -= 1;
      row.took(record.milliseconds / 1000);
      if (row.labels.subresource !== 'token') return;
      metrics.tokenRequests.inc({ cluster: clusterLabel(record.cluster), result: resultOf(record) });
    },
  };
}

const kindOf = (method: string | undefined): 'readOnly' | 'mutating' =>
  method === 'GET' || method === 'HEAD' ? 'readOnly' : 'mutating';

function labelsOf({ verb, path, isRouted, target: named, dryRun }: RequestRecord): RequestLabels {
  const target = isRouted ? named : undefined;
  return {
    verb: VERBS.get(verb) ?? 'OTHER',
    group: target?.group ?? '',
    version: target?.version ?? '',
    resource: target?.resource ?? '',
    subresource: target?.subresource ?? (PATHS.has(path) ? path : ''),
    scope: target === undefined ? '' : scopeOf(target),
    component: 'apiserver',
    dry_run: dryRun ? 'All' : '',
  };
}

/** A watch changes nothing, so there is none that is rehearsed. */
function watchLabels({ labels: { dry_run: _, ...labels } }: TallyRow): Omit<RequestLabels, 'dry_run'> {
  return labels;
}

const scopeOf = ({ name, namespace, verb }: Target): string =>
  name !== '' || verb === 'create' ? 'resource' : namespace === '' ? 'cluster' : 'namespace';

function resultOf({ code, dryRun }: RequestRecord): string {
  if (code === 0) return 'abandoned';
  if (code >= 500) return 'failed';
  if (code >= 400) return 'refused';
  return dryRun ? 'rehearsed' : 'issued';
}
