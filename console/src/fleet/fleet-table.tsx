import { type KeyboardEvent, type MouseEvent, memo, type RefObject, useLayoutEffect, useRef } from 'react';
import { flushSync } from 'react-dom';
import { humanAge } from '../../../src/api/codec/go-text/human-duration.ts';
import { DownIcon, UpIcon } from '../components/icons.tsx';
import { useNarrow } from '../hooks/use-media.ts';
import { useNow } from '../hooks/use-now.ts';
import { hrefOf } from '../router.ts';
import type { ClusterRow } from './cluster-row.ts';
import { queryOf } from './filter-query.ts';
import type { FleetFilter, SortColumn } from './fleet-filter.ts';
import { ReadinessBadge } from './readiness-badge.tsx';
import { useVirtualRows } from './use-virtual-rows.ts';

const COLUMNS: readonly { readonly id: SortColumn; readonly title: string; readonly hint?: string }[] = [
  { id: 'name', title: 'Name' },
  { id: 'readiness', title: 'Readiness' },
  { id: 'since', title: 'Since', hint: 'Time since the last transition of the Ready condition' },
  { id: 'type', title: 'Type' },
  { id: 'version', title: 'Version' },
  { id: 'environment', title: 'Environment' },
  { id: 'region', title: 'Region' },
  { id: 'endpoint', title: 'Endpoint' },
];

const HEAD_HEIGHT = 34;

/** The heights in fleet-table.css. useVirtualRows computes the position of a row from them. */
const rowHeightFor = (narrow: boolean): number => (narrow ? 58 : 36);

/** Another filter or order is another list, which starts at its first row. */
export interface ScrollPosition {
  /** The query of the filter and the order. */
  readonly view: string;
  readonly top: number;
}

interface FleetTableProps {
  readonly rows: readonly ClusterRow[];
  readonly filter: FleetFilter;
  /** The watch is interrupted: the rows can be out of date. */
  readonly stale: boolean;
  /** Kept while the table is not mounted. */
  readonly savedScroll: RefObject<ScrollPosition>;
  readonly onSort: (order: Pick<FleetFilter, 'sort' | 'descending'>) => void;
}

export function FleetTable({ rows, filter, stale, savedScroll, onSort }: FleetTableProps) {
  const scroller = useRef<HTMLElement>(null);
  const now = useNow(10_000);
  const rowHeight = rowHeightFor(useNarrow());
  const view = queryOf(filter);
  // Before useVirtualRows measures: the first rows that are rendered are those of this position.
  useLayoutEffect(() => {
    const { current: saved } = savedScroll;
    if (scroller.current !== null) scroller.current.scrollTop = saved.view === view ? saved.top : 0;
  }, [savedScroll, view]);
  const { first, end, scrollTo } = useVirtualRows(scroller, rows.length, rowHeight, HEAD_HEIGHT);

  const sortBy = (id: SortColumn): void => onSort({ sort: id, descending: filter.sort === id && !filter.descending });

  /** Moves the focus between rows, including rows that are not rendered yet. */
  const moveFocus = (event: KeyboardEvent): void => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('tr[data-index]');
    if (row === null) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const index = Number(row.dataset.index);
    const target = event.key === 'Home' ? 0 : event.key === 'End' ? rows.length - 1 : index + (steps[event.key] ?? 0);
    const next = Math.max(0, Math.min(rows.length - 1, target));
    if (next === index) return;
    event.preventDefault();
    // Synchronous, so that the row exists before it is focused and before the next key event.
    flushSync(() => scrollTo(next));
    scroller.current?.querySelector<HTMLElement>(`tr[data-index="${next}"] a`)?.focus();
  };

  /** The whole row is a link, except while the user selects text. */
  const openRow = (event: MouseEvent): void => {
    const target = event.target as HTMLElement;
    if (target.closest('a, button') !== null || getSelection()?.isCollapsed === false) return;
    target.closest('tr[data-index]')?.querySelector('a')?.click();
  };

  return (
    <section
      className="table-scroller"
      ref={scroller}
      aria-label="Clusters"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it
      tabIndex={0}
      // Not when the table is unmounted: then what was above it has left the document, and it is higher.
      onScroll={({ currentTarget }) => {
        savedScroll.current = { view, top: currentTarget.scrollTop };
      }}
      onKeyDown={moveFocus}
      onClick={openRow}
    >
      <table className={stale ? 'fleet stale' : 'fleet'} aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(({ id, title, hint }) => {
              const sorted = filter.sort === id;
              const direction = sorted ? (filter.descending ? 'descending' : 'ascending') : 'none';
              return (
                <th key={id} className={`col-${id}`} aria-sort={direction} scope="col">
                  <button type="button" title={hint} onClick={() => sortBy(id)}>
                    {title}
                    {sorted && (filter.descending ? <DownIcon /> : <UpIcon />)}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <Spacer height={first * rowHeight} />
        <tbody>
          {rows.slice(first, end).map((row, offset) => (
            <Row
              key={row.name}
              row={row}
              index={first + offset}
              age={row.since === 0 ? '' : humanAge(row.since, now)}
            />
          ))}
        </tbody>
        <Spacer height={(rows.length - end) * rowHeight} />
      </table>
    </section>
  );
}

/** Takes the space of the rows that are not rendered. */
const Spacer = ({ height }: { height: number }) =>
  height <= 0 ? null : (
    <tbody aria-hidden="true">
      <tr style={{ height }}>
        <td colSpan={COLUMNS.length} />
      </tr>
    </tbody>
  );

/** The cells are memoized apart from the row, so that a row which only moved renders no cells. */
const Row = memo(function Row({ row, index, age }: { row: ClusterRow; index: number; age: string }) {
  return (
    <tr className="row" data-index={index} aria-rowindex={index + 2}>
      <Cells row={row} age={age} />
    </tr>
  );
});

const Cells = memo(function Cells({ row, age }: { row: ClusterRow; age: string }) {
  return (
    <>
      <th scope="row" className="col-name">
        <a href={hrefOf({ page: 'cluster', name: row.name })} title={row.name}>
          {row.name}
        </a>
        <span className="row-summary" aria-hidden="true">
          {[row.environment, row.region, row.version].filter(Boolean).join(' · ')}
        </span>
      </th>
      <td className="col-readiness">
        <ReadinessBadge readiness={row.readiness} />
        {(row.readiness !== 'ready' || row.isTerminating) && (
          <span className="reason" title={row.reason}>
            {row.reason}
          </span>
        )}
      </td>
      <td className="col-since muted">{age}</td>
      <td className="col-type">{row.type}</td>
      <td className="col-version mono">{row.version}</td>
      <td className="col-environment" title={row.environment}>
        {row.environment}
      </td>
      <td className="col-region">{row.region}</td>
      <td className="col-endpoint mono muted" title={row.endpoint}>
        {row.endpoint}
      </td>
    </>
  );
});
