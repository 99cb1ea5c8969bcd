import { useState } from 'react';
import { type Column, ListTable } from './list-table.tsx';
import { TextField } from './text-field.tsx';

/** More rows than a person reads. */
const MAX_SHOWN = 50;

interface SearchListProps<Row> {
  /** The label of the search field. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What is searched; the key if there is nothing else. */
  readonly textOf?: (row: Row) => string;
}

/** Rows of which a person reads the first ones; for the others there is a search field. */
export function SearchList<Row>({ label, columns, rows, keyOf, textOf = keyOf }: SearchListProps<Row>) {
  const [search, setSearch] = useState('');
  const found = rows.filter((row) => textOf(row).includes(search));
  const more = found.length - MAX_SHOWN;
  return (
    <>
      {rows.length > MAX_SHOWN && <TextField label={label} value={search} onChange={setSearch} />}
      <ListTable columns={columns} rows={found.slice(0, MAX_SHOWN)} keyOf={keyOf} />
      {more > 0 && <p className="muted">{more.toLocaleString()} more: search for them.</p>}
    </>
  );
}
