import { conditionOf, isBadCondition } from '../../../src/api/clusters/conditions.ts';
import { type Cluster, type ClusterCondition, endpointsInForce } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';

/** The status of the Ready condition. */
export type Readiness = 'ready' | 'not-ready' | 'unknown';

/** In the order in which every part of the page shows them. */
export const READINESS: readonly Readiness[] = ['ready', 'not-ready', 'unknown'];

export const READINESS_NAMES: Readonly<Record<Readiness, string>> = {
  ready: 'Ready',
  'not-ready': 'Not ready',
  unknown: 'Unknown',
};

/** A cluster with everything that the table shows, searches and sorts by. Computed once for each resourceVersion. */
export interface ClusterRow {
  readonly name: string;
  readonly readiness: Readiness;
  readonly reason: string;
  /** The last transition of the Ready condition in epoch milliseconds; 0 if unknown. */
  readonly since: number;
  readonly type: string;
  readonly version: string;
  readonly environment: string;
  readonly region: string;
  readonly endpoint: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The labels as `key=value`. */
  readonly labelTexts: readonly string[];
  readonly cluster: Cluster;
  /** Everything that a search matches, in lower case. */
  readonly searchText: string;
  /** Sorts prod-2 before prod-10. */
  readonly nameKey: string;
  readonly versionKey: string;
  /** It is being deleted, and waits for its finalizers or for what is inside it. */
  readonly isTerminating: boolean;
}

const ENVIRONMENT_LABELS = ['env', 'environment', 'stage'];
const REGION_LABELS = ['region', 'topology.kubernetes.io/region', 'location'];

export function rowOf(cluster: Cluster): ClusterRow {
  const { name, labels = {}, deletionTimestamp } = cluster.metadata;
  const { type = '', version = '' } = cluster.status ?? {};
  const ready = conditionOf(cluster.status ?? {}, 'Ready');
  const endpoint = endpointsInForce(cluster).serverEndpoints?.at(-1)?.serverAddress ?? '';
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const isTerminating = deletionTimestamp !== undefined;
  const reason = isTerminating ? 'Terminating' : visibleName(ready?.reason ?? '');
  const since = Date.parse(ready?.lastTransitionTime ?? '');
  return {
    name,
    readiness: readinessOf(ready),
    reason,
    since: Number.isNaN(since) ? 0 : since,
    type: visibleName(type),
    version: visibleName(version),
    environment: firstValue(labels, ENVIRONMENT_LABELS),
    region: firstValue(labels, REGION_LABELS),
    endpoint: endpoint.replace(/^https:\/\//, ''),
    labels,
    labelTexts,
    cluster,
    searchText: [name, type, version, endpoint, reason, ...labelTexts].join('\n').toLowerCase(),
    nameKey: naturalKey(name),
    versionKey: naturalKey(version),
    isTerminating,
  };
}

export function readinessOf(condition: ClusterCondition | undefined): Readiness {
  if (condition === undefined) return 'unknown';
  if (isBadCondition(condition)) return 'not-ready';
  return condition.status === 'True' || condition.status === 'False' ? 'ready' : 'unknown';
}

function firstValue(labels: Readonly<Record<string, string>>, keys: readonly string[]): string {
  for (const key of keys) {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value) return value;
  }
  return '';
}

/** Pads numbers with zeros, so that a plain string comparison orders them by value. */
const naturalKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d{1,12}/g, (digits) => digits.padStart(12, '0'));
