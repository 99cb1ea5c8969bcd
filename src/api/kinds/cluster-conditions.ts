import type { ClusterCondition, ClusterStatus } from './cluster-spec.ts';

/** A condition without its type and times. */
export type Conclusion = Required<Pick<ClusterCondition, 'status' | 'reason' | 'message'>>;

/** Whether the address or the CA of the cluster was changed, and clients still get the confirmed ones. */
export const ENDPOINTS_CONFIRMED = 'EndpointsConfirmed';

export const READY = 'Ready';

/** All reasons of the prober start with this word, which distinguishes its conditions from those of other writers. */
const PROBE_PREFIX = 'Probe';

export const isProbeReason = (reason: string | undefined): boolean => reason?.startsWith(PROBE_PREFIX) === true;

/** The endpoints have changed, and no probe of the new ones has finished. */
export const PENDING_REASON = `${PROBE_PREFIX}Pending`;

export const conditionOf = ({ conditions }: ClusterStatus, type: string): ClusterCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

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
  const present = conditionOf(status, type);
  if (conclusion === undefined) {
    return present === undefined ? status : { ...status, conditions: conditions.filter((one) => one !== present) };
  }
  const { status: value, reason, message } = conclusion;
  if (present?.status === value && present?.reason === reason && present?.message === message) return status;
  const next: ClusterCondition = {
    status: value,
    reason,
    message,
    type,
    lastHeartbeatTime: time,
    lastTransitionTime: present?.status === value ? (present?.lastTransitionTime ?? time) : time,
  };
  const replaced = conditions.map((one) => (one === present ? next : one));
  return { ...status, conditions: present === undefined ? [...conditions, next] : replaced };
}
