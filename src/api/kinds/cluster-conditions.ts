import type { ClusterCondition, ClusterStatus } from './cluster-spec.ts';

/** A condition without its type and times. */
export type Conclusion = Required<Pick<ClusterCondition, 'status' | 'reason' | 'message'>>;

/** Whether the address or the CA of the cluster was changed, and clients still get the confirmed ones. */
export const ENDPOINTS_CONFIRMED = 'EndpointsConfirmed';

/** Whether Clusterpass can use the credential that the cluster names. */
export const CREDENTIAL_USABLE = 'CredentialUsable';

export const READY = 'Ready';

/** All reasons of the prober start with this word, which distinguishes its conditions from those of other writers. */
const PROBE_PREFIX = 'Probe';

export const isProbeReason = (reason: string | undefined): boolean => reason?.startsWith(PROBE_PREFIX) === true;

/** The endpoints have changed, and no probe of the new ones has finished. */
export const PENDING_REASON = `${PROBE_PREFIX}Pending`;

export const conditionOf = ({ conditions }: ClusterStatus, type: string): ClusterCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** What a condition can say. Without the condition, it is unknown. */
export const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const;
type ConditionStatus = (typeof CONDITION_STATUSES)[number];

/** Another writer may have stored another text, which counts as unknown. */
export const readyStatus = (status: ClusterStatus): ConditionStatus =>
  CONDITION_STATUSES.find((known) => known === conditionOf(status, READY)?.status) ?? 'Unknown';

/**
 * The status with this condition, or without it if there is no conclusion. Conditions of other types stay. The same
 * status is returned if nothing changes but times.
 */
export function withCondition(
  status: ClusterStatus,
  type: string,
  conclusion: Conclusion | undefined,
  time: string,
): ClusterStatus {
  const { conditions = [] } = status;
  const at = conditions.findIndex((one) => one.type === type);
  const present = conditions[at];
  if (conclusion === undefined) {
    return present === undefined ? status : { ...status, conditions: conditions.filter((one) => one.type !== type) };
  }
  const { status: value, reason, message } = conclusion;
  // A client that writes the status can send a second condition of the type.
  const single = conditions.filter((one, index) => one.type !== type || index === at);
  if (present?.status === value && present?.reason === reason && present?.message === message) {
    return single.length === conditions.length ? status : { ...status, conditions: single };
  }
  const next: ClusterCondition = {
    status: value,
    reason,
    message,
    type,
    lastHeartbeatTime: time,
    lastTransitionTime: present?.status === value ? (present?.lastTransitionTime ?? time) : time,
  };
  const replaced = single.map((one) => (one.type === type ? next : one));
  return { ...status, conditions: present === undefined ? [...conditions, next] : replaced };
}

const isOurs = ({ type, reason }: ClusterCondition): boolean =>
  type === CREDENTIAL_USABLE || type === ENDPOINTS_CONFIRMED || (type === READY && isProbeReason(reason));

/**
 * The status that a manifest sets, with what the server itself has written: its conditions, unless the manifest has a
 * condition of that type; and version and type, if the prober maintains them. Otherwise each start would remove them,
 * and the server would write them again.
 */
export function withServerStatus(sent: ClusterStatus, stored: ClusterStatus): ClusterStatus {
  const { conditions = [] } = sent;
  const kept = (stored.conditions ?? []).filter(
    (condition) => isOurs(condition) && !conditions.some(({ type }) => type === condition.type),
  );
  if (kept.length === 0) return sent;
  const isProbed = kept.some(({ type }) => type === READY);
  const { version = sent.version, type = sent.type } = isProbed ? stored : sent;
  return {
    ...sent,
    ...(version === undefined ? {} : { version }),
    ...(type === undefined ? {} : { type }),
    conditions: [...conditions, ...kept],
  };
}

/**
 * The status that a manifest sets, with a time in each condition that has none: when it was first applied with this
 * status. So a file need not say when, and no later application changes the time.
 */
export function withConditionTimes(
  sent: ClusterStatus,
  stored: ClusterStatus | undefined,
  time: string,
): ClusterStatus {
  const { conditions } = sent;
  if (conditions?.every(({ lastTransitionTime }) => lastTransitionTime !== undefined) !== false) return sent;
  return {
    ...sent,
    conditions: conditions.map((condition) => {
      if (condition.lastTransitionTime !== undefined) return condition;
      const before = conditionOf(stored ?? {}, condition.type ?? '');
      const since = before?.status === condition.status ? (before?.lastTransitionTime ?? time) : time;
      return { ...condition, lastHeartbeatTime: condition.lastHeartbeatTime ?? since, lastTransitionTime: since };
    }),
  };
}
