import { useState } from 'react';
import { type Column, ListTable } from './list-table.tsx';
import { TextField } from './text-field.tsx';

/** More rows than a person reads. */
const MAX_SHOWN = 50;

interface ClusterListProps<Row> {
  /** The label of the search field. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly clusterOf: (row: Row) => string;
}

/** A row for each cluster. Beyond those that a person reads, the user searches for the cluster. */
export function ClusterList<Row>({ label, columns, rows, clusterOf }: ClusterListProps<Row>) {
  const [search, setSearch] = useState('');
  const found = rows.filter((row) => clusterOf(row).includes(search));
  const more = found.length - MAX_SHOWN;
  return (
    <>
      {rows.length > MAX_SHOWN && <TextField label={label} value={search} onChange={setSearch} />}
      <ListTable columns={columns} rows={found.slice(0, MAX_SHOWN)} keyOf={clusterOf} />
      {more > 0 && <p className="muted">{more.toLocaleString()} more: search for the cluster.</p>}
    </>
  );
}
