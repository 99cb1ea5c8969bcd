import { useState } from 'react';
import { ListTable, type ListTableProps } from './list-table.tsx';
import { TextField } from './text-field.tsx';

/** More rows than a person reads. */
const MAX_SHOWN = 50;

/** The first rows, where a field beside them searches. */
export function FirstRows<Row>({ rows, ...table }: ListTableProps<Row>) {
  const more = rows.length - MAX_SHOWN;
  return (
    <>
      <ListTable {...table} rows={rows.slice(0, MAX_SHOWN)} />
      {more > 0 && <p className="muted more-rows">{more.toLocaleString()} more: search for them.</p>}
    </>
  );
}

interface SearchListProps<Row> extends ListTableProps<Row> {
  /** The label of the search field. */
  readonly label: string;
  /** What is searched; the key if there is nothing else. */
  readonly textOf?: (row: Row) => string;
}

/** Rows of which a person reads the first ones; for the others there is a search field. */
export function SearchList<Row>({ label, rows, textOf, ...table }: SearchListProps<Row>) {
  const [search, setSearch] = useState('');
  const matches = (row: Row): boolean => (textOf ?? table.keyOf)(row).toLowerCase().includes(search.toLowerCase());
  const found = search === '' ? rows : rows.filter(matches);
  return (
    <>
      {rows.length > MAX_SHOWN && <TextField label={label} value={search} onChange={setSearch} />}
      <FirstRows {...table} rows={found} />
    </>
  );
}
