import { humanAge } from '../api/codec/go-text/human-duration.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import type { Cluster } from '../client/types.ts';
import { printable } from './output/terminal-safe.ts';

export interface ClusterTable {
  /** One row, or none if they are not wanted. */
  readonly headers: readonly string[][];
  row(cluster: Cluster): string[];
}

export interface ClusterTableOptions {
  readonly productName: string;
  readonly wide: boolean;
  readonly withHeaders: boolean;
  readonly withLabels: boolean;
  /** Labels that have a column of their own. */
  readonly labelColumns: readonly string[];
  readonly now: () => number;
}

/** Clusters as rows; the columns are those of the server's own tables. */
export function clusterTable(options: ClusterTableOptions): ClusterTable {
  const { productName, wide, withHeaders, withLabels, labelColumns, now } = options;
  const columns = clusterKind(productName).columns.filter(({ priority }) => wide || priority === 0);
  const names = [
    ...columns.map(({ name }) => name.toUpperCase()),
    ...labelColumns.map((key) => printable((key.split('/').at(-1) ?? '').toUpperCase())),
    ...(withLabels ? ['LABELS'] : []),
  ];
  return {
    headers: withHeaders ? [names] : [],
    row: (cluster) => {
      const cells = columns.map((column) => {
        const value = column.cell(cluster);
        if (column.type === 'date') return humanAge(value, now());
        return value === null || value === '' ? '<none>' : printable(String(value));
      });
      const { labels = {} } = cluster.metadata;
      const own = labelColumns.map((key) => (Object.hasOwn(labels, key) ? printable(labels[key] ?? '') : ''));
      return [...cells, ...own, ...(withLabels ? [labelsOf(cluster)] : [])];
    },
  };
}

function labelsOf({ metadata: { labels = {} } }: Cluster): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return printable(pairs.sort().join(',')) || '<none>';
}
