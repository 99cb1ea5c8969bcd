import { defined } from '../../lib/json.ts';
import type { ClusterCondition, ClusterStatus } from '../kinds/cluster-spec.ts';

/** What a condition can say. Without the condition, it is unknown. */
export const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const;
export type ConditionStatus = (typeof CONDITION_STATUSES)[number];

interface ConditionRow {
  readonly writer: string;
  readonly meaning: string;
  /** The status that an operator has to act on. */
  readonly bad: ConditionStatus;
  /** The status of each reason of this writer: programs may rely on them. */
  readonly reasons: Readonly<Record<string, ConditionStatus>>;
}

/**
 * The conditions that Clusterpass writes to the status of a cluster. A test compares the tables of reasons in
 * docs/operations.md and docs/trust.md.
 */
export const CLUSTER_CONDITIONS = {
  Ready: {
    writer: 'the prober, or the report of the connector, unless another program has written it',
    meaning: 'Whether the API server answers and says that it is ready.',
    bad: 'False',
    reasons: {
      ProbeSucceeded: 'True',
      // Every fault of a cluster that was never ready at its present endpoints.
      ProbeNotYetSucceeded: 'False',
      ProbeNetworkFailed: 'False',
      ProbeTimedOut: 'False',
      ProbeTLSFailed: 'False',
      ProbeCredentialFailed: 'False',
      ProbeServerNotReady: 'False',
      ProbeAnswerUnexpected: 'False',
      ProbeAddressUnusable: 'False',
      // The endpoints have changed, and no probe of the new ones has finished.
      ProbePending: 'Unknown',
      // No probe has finished for so long that the last result means nothing any more.
      ProbeMissing: 'Unknown',
      // An annotation disables probing.
      ProbeDisabled: 'Unknown',
      // By the report of the connector.
      ConnectorReady: 'True',
      ConnectorNotReady: 'False',
      ConnectorLost: 'Unknown',
    },
  },
  CredentialUsable: {
    writer: 'the server, for clusters that name a credential',
    meaning: 'Whether Clusterpass can use the credential that the cluster names.',
    bad: 'False',
    reasons: {
      Accepted: 'True',
      NotUsedYet: 'Unknown',
      NotConfirmed: 'False',
      Refused: 'False',
      Unusable: 'False',
      OtherCluster: 'False',
    },
  },
  EndpointsConfirmed: {
    writer: 'every write of the cluster, with `--confirm-endpoints`',
    meaning: 'Whether clients get the address and the CA in the spec. Otherwise they get the confirmed ones.',
    bad: 'False',
    reasons: { Confirmed: 'True', ChangeWaits: 'False' },
  },
} as const satisfies Readonly<Record<string, ConditionRow>>;

type ConditionTable = typeof CLUSTER_CONDITIONS;
export type ConditionType = keyof ConditionTable;
export type ReasonOf<T extends ConditionType> = keyof ConditionTable[T]['reasons'];

/** A condition without its type and times. */
export type Conclusion = Required<Pick<ClusterCondition, 'status' | 'reason' | 'message'>>;

/** The reason decides about the status. */
export function conclude<T extends ConditionType>(type: T, reason: ReasonOf<T> & string, message: string): Conclusion {
  const { reasons }: ConditionRow = CLUSTER_CONDITIONS[type];
  return { status: reasons[reason] ?? 'Unknown', reason, message };
}

/** Whether an operator has to act. Of a type outside the table `False` is bad, as for most of Kubernetes. */
export const isBadCondition = ({ type = '', status }: Pick<ClusterCondition, 'type' | 'status'>): boolean =>
  status === (isConditionType(type) ? CLUSTER_CONDITIONS[type].bad : 'False');

const isConditionType = (type: string): type is ConditionType => Object.hasOwn(CLUSTER_CONDITIONS, type);

/** Another writer may know the cluster better: its conditions `Ready` have other reasons. */
export const isProbeReason = (reason: string | undefined): boolean => reason?.startsWith('Probe') === true;

/** Whether the server writes the condition. */
const isOurs = ({ type = '', reason }: ClusterCondition): boolean =>
  isConditionType(type) && (type !== 'Ready' || Object.hasOwn(CLUSTER_CONDITIONS.Ready.reasons, reason ?? ''));

export const conditionOf = ({ conditions }: ClusterStatus, type: string): ClusterCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Another writer may have stored another text, which counts as unknown. */
export const readyStatus = (status: ClusterStatus): ConditionStatus =>
  CONDITION_STATUSES.find((known) => known === conditionOf(status, 'Ready')?.status) ?? 'Unknown';

/**
 * The status with this condition, or without it if there is no conclusion. Conditions of other types stay. The same
 * status is returned if nothing changes but times, unless this is a heartbeat.
 */
export function withCondition(
  status: ClusterStatus,
  type: ConditionType,
  conclusion: Conclusion | undefined,
  time: string,
  isHeartbeat = false,
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
  if (!isHeartbeat && present?.status === value && present?.reason === reason && present?.message === message) {
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
  const isProbed = kept.some(({ type }) => type === 'Ready');
  const { version = sent.version, type = sent.type } = isProbed ? stored : sent;
  return { ...sent, ...defined({ version, type }), conditions: [...conditions, ...kept] };
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
