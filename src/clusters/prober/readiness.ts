import { probeChoice } from '../../api/clusters/annotations.ts';
import {
  CONDITION_STATUSES,
  type Conclusion,
  conclude,
  conditionOf,
  isProbeReason,
  type ReasonOf,
  withCondition,
} from '../../api/clusters/conditions.ts';
import type { ApiObject } from '../../api/kind.ts';
import {
  type ApiEndpoints,
  type ClusterCondition,
  type ClusterStatus,
  hasConnector,
  statusOf,
} from '../../api/kinds/cluster-spec.ts';
import { distributionOf, PLAIN_KUBERNETES } from '../../api/kubernetes-support.ts';

/** What the prober writes to the status of a cluster. */
export interface Observation {
  readonly verdict: Conclusion;
  /** Undefined when the probe did not get it. */
  readonly version: string | undefined;
  /** The time of the probe, as a timestamp of the API. */
  readonly at: string;
}

/** Every write wakes the watchers of the cluster, so an unchanged condition is written no more often than this. */
const HEARTBEAT_MS = 5 * 60_000;
/** Spreads the heartbeats of clusters that were written together. */
const HEARTBEAT_SPREAD_MS = 30_000;

const readyOf = (cluster: ApiObject): ClusterCondition | undefined => conditionOf(statusOf(cluster), 'Ready');

/**
 * Whether the prober writes the condition `Ready`. Another controller may know the cluster better: the reason shows
 * whose condition it is, so no setting is needed and two writers do not overwrite each other. An annotation overrides
 * this.
 */
function isOurs(cluster: ApiObject): boolean {
  const choice = probeChoice(cluster.metadata);
  if (choice !== undefined) return choice === 'enabled';
  if (hasConnector(cluster)) return false;
  const ready = readyOf(cluster);
  return ready === undefined || isProbeReason(ready.reason);
}

/** Whether the cluster is probed. One without an address is probed only to correct a condition that it already has. */
export function isProbed(cluster: ApiObject, endpointsField: string): boolean {
  if (cluster.metadata.deletionTimestamp !== undefined || !isOurs(cluster)) return false;
  const endpoints = (cluster.spec as Record<string, ApiEndpoints | undefined> | undefined)?.[endpointsField];
  return (endpoints?.serverEndpoints ?? []).length > 0 || readyOf(cluster) !== undefined;
}

/** Whether probing was disabled and the condition still shows the last probe. */
export const needsDisabledVerdict = (cluster: ApiObject): boolean =>
  probeChoice(cluster.metadata) === 'disabled' &&
  isProbeReason(readyOf(cluster)?.reason) &&
  readyOf(cluster)?.reason !== DISABLED_REASON;

const DISABLED_REASON = 'ProbeDisabled' satisfies ReasonOf<'Ready'>;
export const DISABLED = conclude('Ready', DISABLED_REASON, 'The annotation clusterpass.dev/probe disables probing.');

/** The verdict that a prober wrote, perhaps in another process. */
export function storedVerdict(cluster: ApiObject): Conclusion | undefined {
  const { status: text, reason = '', message = '' } = readyOf(cluster) ?? {};
  const status = CONDITION_STATUSES.find((known) => known === text);
  return status === undefined || !isProbeReason(reason) ? undefined : { status, reason, message };
}

export interface HeartbeatClock {
  /** Milliseconds on a monotonic clock. */
  now(): number;
  /** Epoch milliseconds. */
  wall(): number;
}

/**
 * When the first heartbeat of this process is due. After a pause those of the whole fleet are overdue, and are spread
 * over one heartbeat interval.
 */
export function firstHeartbeat(cluster: ApiObject, clock: HeartbeatClock, random: () => number): number {
  const stored = storedHeartbeat(cluster);
  const age = stored === undefined ? HEARTBEAT_MS : Math.max(clock.wall() - stored, 0);
  return clock.now() + (age < HEARTBEAT_MS ? HEARTBEAT_MS - age : random() * HEARTBEAT_MS);
}

/** When the heartbeat after a write is due. */
export const nextHeartbeat = (now: number, random: () => number): number =>
  now + HEARTBEAT_MS + random() * HEARTBEAT_SPREAD_MS;

/** Epoch milliseconds of the last heartbeat that a prober wrote. */
function storedHeartbeat(cluster: ApiObject): number | undefined {
  const ready = readyOf(cluster);
  const at = isProbeReason(ready?.reason) ? Date.parse(ready?.lastHeartbeatTime ?? '') : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Two objects with the same text are the same cluster to a probe. */
export function probeIdentity({ metadata }: ApiObject): string {
  const { uid, generation, annotations = {} } = metadata;
  // Our annotations decide about probing and about the use of credentials.
  const ours = Object.entries(annotations).filter(([key]) => key.startsWith('clusterpass.dev/'));
  return JSON.stringify([uid, generation, ours.sort()]);
}

/** Whether the observation changes more than times and the message. */
export function changesStatus(cluster: ApiObject, { verdict, version }: Omit<Observation, 'at'>): boolean {
  const { status, reason } = readyOf(cluster) ?? {};
  const stored = statusOf(cluster);
  const { version: nextVersion, type } = withVersion(stored, version);
  return (
    status !== verdict.status || reason !== verdict.reason || stored.version !== nextVersion || stored.type !== type
  );
}

/** The cluster with the observation in its status. The rest of the status stays unchanged. */
export function withObservation(cluster: ApiObject, observed: Observation): ApiObject {
  const isDisabled = observed.verdict.reason === DISABLED_REASON;
  if (isDisabled ? !needsDisabledVerdict(cluster) : !isOurs(cluster)) return cluster;
  const status = withVersion(statusOf(cluster), observed.version);
  return { ...cluster, status: withCondition(status, 'Ready', observed.verdict, observed.at, true) };
}

/** A plain version does not name the distribution, so it does not overwrite a type that is known. */
export function withVersion(status: ClusterStatus, version: string | undefined): ClusterStatus {
  if (version === undefined) return status;
  const found = distributionOf(version);
  const type = found === PLAIN_KUBERNETES ? status.type || found : found;
  return status.version === version && status.type === type ? status : { ...status, version, type };
}
