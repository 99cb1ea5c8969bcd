import { addressFor } from '../clusters/choose-endpoint.ts';
import { conditionOf } from '../clusters/conditions.ts';
import { endpointsInForce } from '../clusters/confirmed-endpoint.ts';
import type { TableColumn } from '../kind.ts';
import { statusOf } from './cluster-spec.ts';
import { ageColumn, nameColumn } from './columns.ts';

const readyColumn: TableColumn = {
  name: 'Ready',
  type: 'string',
  format: '',
  description: 'Whether the cluster is reachable and healthy.',
  priority: 0,
  cell: (object) => conditionOf(statusOf(object), 'Ready')?.status ?? 'Unknown',
};

const statusColumn = (name: string, field: 'type' | 'version', description: string): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 0,
  cell: (object) => statusOf(object)[field] ?? null,
});

/** Shown with `-o wide` only. */
const wideColumn = (name: string, description: string, cell: TableColumn['cell']): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 1,
  cell,
});

/** The columns of `kubectl get clusters`, apart from the schema of the kind: its library loads slowly in the CLI. */
export const clusterColumns = (productName: string, clientAddress?: string): TableColumn[] => [
  nameColumn,
  readyColumn,
  statusColumn('Type', 'type', 'The kind of cluster.'),
  statusColumn('Version', 'version', 'The version that the cluster runs.'),
  ageColumn,
  wideColumn(
    'Endpoint',
    'The address of the API server; of several, the one for every client.',
    (object) => addressFor(endpointsInForce(object, productName).serverEndpoints, clientAddress) ?? null,
  ),
  wideColumn('Labels', 'The labels of the cluster.', ({ metadata }) =>
    Object.entries(metadata.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(','),
  ),
];
