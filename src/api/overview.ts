import type { ConditionStatus } from './clusters/conditions.ts';

/** Where the overview is. A right to `get` this path is a right to counts over the whole fleet. */
export const OVERVIEW_PATH = '/metrics/overview';
/** How far back its history reaches. */
export const HISTORY_HOURS = 168;
/** What ends within this time is counted. */
export const ENDING_DAYS = 30;

/**
 * The fleet in one hour, since the epoch. The counts of clusters are sums over the records of the hour, so only their
 * ratio means something; zero while no server ran. The others are tokens.
 */
export type FleetHour = readonly [
  hour: number,
  ready: number,
  notReady: number,
  unknown: number,
  issued: number,
  refused: number,
];

/** Counts over the whole fleet. */
export interface FleetCounts {
  readonly clusters: Readonly<Record<ConditionStatus, number>>;
  /** The status of `CredentialUsable`, of the clusters that name a credential. */
  readonly credentials: Readonly<Record<string, number>>;
  /** By status and reason of the condition `Ready`. */
  readonly reasons: readonly { readonly status: ConditionStatus; readonly reason: string; readonly count: number }[];
  /** Clusters by minor version of Kubernetes, e.g. `1.36`; `""` if it is not known. */
  readonly versions: Readonly<Record<string, number>>;
  readonly ends: Readonly<
    Record<'clusterCAs' | 'certificates' | 'signingKeys' | 'bindings' | 'bootstrapTokens', number>
  >;
  /** Access requests and passes that wait for a decision. */
  readonly waiting: Readonly<Record<'accessrequests' | 'passes', number>>;
}

/** What the console shows of the fleet as a whole. Of the reasons, the twenty most frequent. */
export interface Overview extends Omit<FleetCounts, 'credentials'> {
  /** The oldest first. */
  readonly hours: readonly FleetHour[];
}
