import { CONDITION_STATUSES } from '../api/clusters/conditions.ts';
import { READY_FIELD } from '../api/kinds/cluster.ts';
import type { ObjectCache } from '../objects/reader.ts';

/** How many clusters have each status of the condition `Ready`; 0 is counted, so that a metric has every series. */
export function readinessCounts(clusters: ObjectCache): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(CONDITION_STATUSES.map((status) => [status, 0]));
  clusters.current.forEach((cluster) => {
    const status = cluster.field(READY_FIELD);
    counts[status] = (counts[status] ?? 0) + 1;
  });
  return counts;
}
