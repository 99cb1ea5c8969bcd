import { CONDITION_STATUSES } from '../api/clusters/conditions.ts';
import { CREDENTIAL_FIELD, READY_FIELD } from '../api/kinds/cluster.ts';
import type { ObjectCache } from '../objects/reader.ts';

/** How many clusters have each status of the condition `Ready`; 0 is counted, so that a metric has every series. */
export const readinessCounts = (clusters: ObjectCache): Record<string, number> => countsBy(READY_FIELD, clusters);

/** The same for `CredentialUsable`, of the clusters that name a credential. */
export function credentialCounts(clusters: ObjectCache): Record<string, number> {
  const { '': _, ...counts } = countsBy(CREDENTIAL_FIELD, clusters);
  return counts;
}

/** How many objects have each value of a field. */
export function countsBy(field: string, objects: ObjectCache): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(CONDITION_STATUSES.map((status) => [status, 0]));
  objects.current.forEach((object) => {
    const value = object.field(field);
    counts[value] = (counts[value] ?? 0) + 1;
  });
  return counts;
}
