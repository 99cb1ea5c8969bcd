import { type ReactNode, useState } from 'react';
import { useNarrow } from '../hooks/use-media.ts';
import { ListTable, type ListTableProps } from './list-table.tsx';
import { TextField } from './text-field.tsx';

interface FirstProps<T> {
  readonly all: readonly T[];
  readonly atOnce: number;
  readonly children: (shown: readonly T[]) => ReactNode;
}

/** The first of many, and a button that shows more of them. */
export function First<T>({ all, atOnce, children }: FirstProps<T>) {
  const [steps, setSteps] = useState(1);
  const most = steps * atOnce;
  return (
    <>
      {children(all.slice(0, most))}
      {most < all.length && <MoreButton count={all.length} onMore={() => setSteps(steps + 1)} />}
    </>
  );
}

export const MoreButton = ({ count, onMore }: { readonly count: number; readonly onMore: () => void }) => (
  <button type="button" className="button small more-rows" onClick={onMore}>
    Show more of {count.toLocaleString()}
  </button>
);

/** As many rows as a person reads at once. On a phone each is a card. */
export const useRowsAtOnce = (): number => (useNarrow() ? 20 : 50);

interface FirstRowsProps<Row> extends ListTableProps<Row> {
  /** The label of a search field, where no filter is beside the list. */
  readonly search?: string;
  /** What is searched; the key if there is nothing else. */
  readonly textOf?: (row: Row) => string;
}

/** The first rows of a list. */
export function FirstRows<Row>({ search, rows, textOf, ...table }: FirstRowsProps<Row>) {
  const [typed, setTyped] = useState('');
  const atOnce = useRowsAtOnce();
  const matches = (row: Row): boolean => (textOf ?? table.keyOf)(row).toLowerCase().includes(typed.toLowerCase());
  return (
    <>
      {search !== undefined && rows.length > atOnce && <TextField label={search} value={typed} onChange={setTyped} />}
      <First all={typed === '' ? rows : rows.filter(matches)} atOnce={atOnce}>
        {(shown) => <ListTable {...table} rows={shown} />}
      </First>
    </>
  );
}
