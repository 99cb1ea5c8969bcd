import { addressFor } from '../clusters/choose-endpoint.ts';
import { conditionOf } from '../clusters/conditions.ts';
import { endpointsInForce } from '../clusters/confirmed-endpoint.ts';
import type { ObjectMeta, TableColumn } from '../kind.ts';
import { type ClusterStatus, statusOf } from './cluster-spec.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';

/** The columns of `kubectl get clusters`, apart from the schema of the kind: its library loads slowly in the CLI. */
export const clusterColumns = (productName: string, clientAddress?: string): TableColumn[] => [
  nameColumn,
  textColumn(
    'Ready',
    'Whether the cluster is reachable and healthy.',
    (object) => conditionOf(statusOf(object), 'Ready')?.status ?? 'Unknown',
  ),
  textColumn('Type', 'The kind of cluster.', (object) => statusOf(object).type ?? null),
  textColumn('Version', 'The version that the cluster runs.', (object) => statusOf(object).version ?? null),
  ageColumn,
  textColumn('Reason', 'Why the cluster is not ready.', (object) => reasonOf(statusOf(object)), 1),
  textColumn(
    'Endpoint',
    'The address of the API server; of several, the one for every client.',
    (object) => addressFor(endpointsInForce(object, productName).serverEndpoints, clientAddress) ?? null,
    1,
  ),
  textColumn('Labels', 'The labels of the cluster.', ({ metadata }) => labelsText(metadata), 1),
];

function reasonOf(status: ClusterStatus): string | null {
  const ready = conditionOf(status, 'Ready');
  return ready?.status === 'True' ? null : (ready?.reason ?? null);
}

const labelsText = ({ labels = {} }: ObjectMeta): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',');
