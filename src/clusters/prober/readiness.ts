import { distributionOf, PLAIN_KUBERNETES } from '../../api/distribution.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { ApiEndpoints, ClusterCondition, ClusterStatus } from '../../api/kinds/cluster.ts';
import { probeChoice } from '../../api/probe-annotation.ts';
import type { Verdict } from './history.ts';
import { DISABLED_REASON, isOurReason } from './outcome.ts';

/** What the prober has to say about a cluster. */
export interface Observation {
  readonly verdict: Verdict;
  /** Undefined when the cluster did not tell. */
  readonly version: string | undefined;
  /** When it was looked at, as it is written in the API. */
  readonly at: string;
}

const READY = 'Ready';

const statusOf = (cluster: ApiObject): ClusterStatus => (cluster.status ?? {}) as ClusterStatus;

const readyOf = (cluster: ApiObject): ClusterCondition | undefined =>
  statusOf(cluster).conditions?.find(({ type }) => type === READY);

/**
 * Whether the condition `Ready` is for the prober to write. Somebody else may know better how a cluster is; whose
 * condition it is shows in its reason, so that nobody has to be told and no two fight over it. An administrator can
 * decide otherwise with an annotation.
 */
function isOurs(cluster: ApiObject): boolean {
  const choice = probeChoice(cluster.metadata);
  if (choice !== undefined) return choice === 'enabled';
  const ready = readyOf(cluster);
  return ready === undefined || isOurReason(ready.reason);
}

/** Whether the prober looks at it. Without an address there is nothing to look at, unless to take back what was said. */
export function isProbed(cluster: ApiObject, endpointsField: string): boolean {
  if (cluster.metadata.deletionTimestamp !== undefined || !isOurs(cluster)) return false;
  const endpoints = (cluster.spec as Record<string, ApiEndpoints | undefined> | undefined)?.[endpointsField];
  return (endpoints?.serverEndpoints ?? []).length > 0 || readyOf(cluster) !== undefined;
}

/** Whether the prober has said something that it will not look after any more. */
export const isAbandoned = (cluster: ApiObject): boolean =>
  probeChoice(cluster.metadata) === 'disabled' &&
  isOurReason(readyOf(cluster)?.reason) &&
  readyOf(cluster)?.reason !== DISABLED_REASON;

export const ABANDONED: Verdict = {
  status: 'Unknown',
  reason: DISABLED_REASON,
  message: 'The annotation clusterpass.dev/probe says that the cluster is not to be looked at.',
};

/** What the prober said about the cluster before, perhaps in another process. */
export function storedVerdict(cluster: ApiObject): Verdict | undefined {
  const { status, reason = '', message = '' } = readyOf(cluster) ?? {};
  if (!isOurReason(reason)) return undefined;
  return status === 'True' || status === 'False' || status === 'Unknown' ? { status, reason, message } : undefined;
}

/** When the prober last said something, in milliseconds since 1970. */
export function storedHeartbeat(cluster: ApiObject): number | undefined {
  const ready = readyOf(cluster);
  const at = isOurReason(ready?.reason) ? Date.parse(ready?.lastHeartbeatTime ?? '') : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** What decides whether a look that has ended was at the cluster as it is now. */
export function identityOf({ metadata }: ApiObject): string {
  const { uid, generation, annotations = {} } = metadata;
  // Ours among the annotations decide about probing and about the use of credentials.
  const ours = Object.entries(annotations).filter(([key]) => key.startsWith('clusterpass.dev/'));
  return JSON.stringify([uid, generation, ours.sort()]);
}

/** Whether something is new that somebody may be waiting for; a later time alone is not. */
export function isNews(cluster: ApiObject, { verdict, version }: Omit<Observation, 'at'>): boolean {
  const { status, reason } = readyOf(cluster) ?? {};
  const stored = statusOf(cluster);
  const { version: nextVersion, type } = withVersion(stored, version);
  return (
    status !== verdict.status || reason !== verdict.reason || stored.version !== nextVersion || stored.type !== type
  );
}

/** The cluster with what was found out in its status; everything that others have written there stays as it is. */
export function withObservation(cluster: ApiObject, observed: Observation): ApiObject {
  const abandons = observed.verdict === ABANDONED;
  if (abandons ? !isAbandoned(cluster) : !isOurs(cluster)) return cluster;
  const status = statusOf(cluster);
  const conditions = [...(status.conditions ?? [])];
  const index = conditions.findIndex(({ type }) => type === READY);
  const before = conditions[index];
  const { verdict, at } = observed;
  const changed = before?.status !== verdict.status;
  const ready: ClusterCondition = {
    type: READY,
    ...verdict,
    lastHeartbeatTime: at,
    lastTransitionTime: changed ? at : (before?.lastTransitionTime ?? at),
  };
  if (index === -1) conditions.push(ready);
  else conditions[index] = ready;
  return { ...cluster, status: { ...withVersion(status, observed.version), conditions } };
}

/** A plain version says nothing about the distribution, and must not wipe out what somebody knew. */
function withVersion(status: ClusterStatus, version: string | undefined): ClusterStatus {
  if (version === undefined) return status;
  const found = distributionOf(version);
  const type = found === PLAIN_KUBERNETES ? status.type || found : found;
  return { ...status, version, type };
}
