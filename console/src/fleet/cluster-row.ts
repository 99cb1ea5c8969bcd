import { type Cluster, type ClusterCondition, endpointsOf } from '../../../src/client/index.ts';

export type State = 'ready' | 'not-ready' | 'unknown';

/** Shown in this order everywhere. */
export const STATES: readonly State[] = ['ready', 'not-ready', 'unknown'];

export const STATE_NAMES: Readonly<Record<State, string>> = {
  ready: 'Ready',
  'not-ready': 'Not ready',
  unknown: 'Unknown',
};

/** A cluster as the table shows, searches and sorts it; made once for each version of it. */
export interface ClusterRow {
  readonly name: string;
  readonly state: State;
  readonly reason: string;
  /** When it came into this state; epoch milliseconds, 0 when nobody knows. */
  readonly since: number;
  readonly type: string;
  readonly version: string;
  readonly environment: string;
  readonly region: string;
  readonly endpoint: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The same, each as `key=value`. */
  readonly labelTexts: readonly string[];
  readonly cluster: Cluster;
  /** Lower-case, everything that a search looks at. */
  readonly searched: string;
  /** Orders names as people do: prod-2 before prod-10. */
  readonly nameKey: string;
  readonly versionKey: string;
  /** Changed while the person was looking. */
  readonly fresh: boolean;
}

const ENVIRONMENT_LABELS = ['env', 'environment', 'stage'];
const REGION_LABELS = ['region', 'topology.kubernetes.io/region', 'location'];

export function rowOf(cluster: Cluster, fresh: boolean): ClusterRow {
  const { name, labels = {} } = cluster.metadata;
  const { type = '', version = '' } = cluster.status ?? {};
  const ready = readyCondition(cluster);
  const endpoint = endpointsOf(cluster).serverEndpoints?.at(-1)?.serverAddress ?? '';
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const since = Date.parse(ready?.lastTransitionTime ?? '');
  return {
    name,
    state: stateOf(ready),
    reason: ready?.reason ?? '',
    since: Number.isNaN(since) ? 0 : since,
    type,
    version,
    environment: firstOf(labels, ENVIRONMENT_LABELS),
    region: firstOf(labels, REGION_LABELS),
    endpoint: endpoint.replace(/^https:\/\//, ''),
    labels,
    labelTexts,
    cluster,
    searched: [name, type, version, endpoint, ready?.reason ?? '', ...labelTexts].join('\n').toLowerCase(),
    nameKey: naturalKey(name),
    versionKey: naturalKey(version),
    fresh,
  };
}

export const readyCondition = (cluster: Cluster): ClusterCondition | undefined =>
  cluster.status?.conditions?.find(({ type }) => type === 'Ready');

function stateOf(ready: ClusterCondition | undefined): State {
  if (ready?.status === 'True') return 'ready';
  return ready?.status === 'False' ? 'not-ready' : 'unknown';
}

function firstOf(labels: Readonly<Record<string, string>>, keys: readonly string[]): string {
  for (const key of keys) {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value) return value;
  }
  return '';
}

/** The label by which a cluster's environment was found, for a chip that selects the same; `""` when there is none. */
export const environmentKey = ({ labels, environment }: ClusterRow): string =>
  environment === '' ? '' : (ENVIRONMENT_LABELS.find((key) => Object.hasOwn(labels, key) && labels[key] !== '') ?? '');

/** Comparing these as text compares the numbers in them as numbers, at the cost of a plain comparison. */
const naturalKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d{1,12}/g, (digits) => digits.padStart(12, '0'));
