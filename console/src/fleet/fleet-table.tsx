import { type KeyboardEvent, type MouseEvent, memo, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { humanAge } from '../../../src/api/codec/go-text/human-duration.ts';
import { useNow } from '../parts/clock.ts';
import { ArrowIcon } from '../parts/icons.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { hrefOf } from '../router.ts';
import type { ClusterRow } from './cluster-row.ts';
import type { FleetFilter, SortColumn } from './select-rows.ts';
import { useVirtualRows } from './virtual-rows.ts';

const COLUMNS: readonly { readonly id: SortColumn; readonly title: string }[] = [
  { id: 'name', title: 'Name' },
  { id: 'state', title: 'Readiness' },
  { id: 'since', title: 'Since' },
  { id: 'type', title: 'Type' },
  { id: 'version', title: 'Version' },
  { id: 'environment', title: 'Environment' },
  { id: 'region', title: 'Region' },
  { id: 'endpoint', title: 'Endpoint' },
];

const HEAD_HEIGHT = 34;
const NARROW = '(max-width: 760px)';

/** Must be what the style sheet says, or the rows would not be where they are looked for. */
const rowHeightFor = (narrow: boolean): number => (narrow ? 58 : 36);

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const follow = (): void => setNarrow(media.matches);
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, []);
  return narrow;
}

/** Where the person was in the table before they looked at a cluster. */
let lastScroll = 0;

interface FleetTableProps {
  readonly rows: readonly ClusterRow[];
  readonly filter: FleetFilter;
  readonly stale: boolean;
  readonly onSort: (order: Pick<FleetFilter, 'sort' | 'descending'>) => void;
}

export function FleetTable({ rows, filter, stale, onSort }: FleetTableProps) {
  const scroller = useRef<HTMLElement>(null);
  const now = useNow(10_000);
  const rowHeight = rowHeightFor(useNarrow());
  const { first, end, scrollTo } = useVirtualRows(scroller, rows.length, rowHeight, HEAD_HEIGHT);
  useEffect(() => {
    const element = scroller.current;
    if (element !== null) element.scrollTop = lastScroll;
    return () => {
      lastScroll = element?.scrollTop ?? 0;
    };
  }, []);

  const sortBy = (id: SortColumn): void => onSort({ sort: id, descending: filter.sort === id && !filter.descending });

  /** From row to row, also to those that are not drawn yet. */
  const move = (event: KeyboardEvent): void => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('tr[data-index]');
    if (row === null) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const at = Number(row.dataset.index);
    const wish = event.key === 'Home' ? 0 : event.key === 'End' ? rows.length - 1 : at + (steps[event.key] ?? 0);
    const next = Math.max(0, Math.min(rows.length - 1, wish));
    if (next === at) return;
    event.preventDefault();
    // At once, so that the next key finds the focus where this one has put it.
    flushSync(() => scrollTo(next));
    scroller.current?.querySelector<HTMLElement>(`tr[data-index="${next}"] a`)?.focus();
  };

  /** Anywhere in a row, unless somebody is marking text in it. */
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
      tabIndex={0}
      onKeyDown={move}
      onClick={openRow}
    >
      <table className={stale ? 'fleet stale' : 'fleet'} aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(({ id, title }) => {
              const sorted = filter.sort === id;
              const direction = sorted ? (filter.descending ? 'descending' : 'ascending') : 'none';
              return (
                <th key={id} className={`col-${id}`} aria-sort={direction} scope="col">
                  <button type="button" onClick={() => sortBy(id)}>
                    {title}
                    {sorted && <ArrowIcon up={!filter.descending} />}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <Room height={first * rowHeight} />
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
        <Room height={(rows.length - end) * rowHeight} />
      </table>
    </section>
  );
}

/** Stands for the rows that are not drawn. */
const Room = ({ height }: { height: number }) =>
  height <= 0 ? null : (
    <tbody aria-hidden="true">
      <tr style={{ height }}>
        <td colSpan={COLUMNS.length} />
      </tr>
    </tbody>
  );

/** A row that has only moved keeps its cells as they are. */
const Row = memo(function Row({ row, index, age }: { row: ClusterRow; index: number; age: string }) {
  return (
    <tr className="row" data-index={index} aria-rowindex={index + 2}>
      <Cells row={row} age={age} />
    </tr>
  );
});

const Cells = memo(function Cells({ row, age }: { row: ClusterRow; age: string }) {
  const { metadata } = row.cluster;
  return (
    <>
      <th scope="row" className="col-name">
        {row.fresh && <span key={metadata.resourceVersion} className="flash" aria-hidden="true" />}
        <a href={hrefOf({ page: 'cluster', name: row.name })} title={row.name}>
          {row.name}
        </a>
        <span className="row-more" aria-hidden="true">
          {[row.environment, row.region, row.version].filter(Boolean).join(' · ')}
        </span>
      </th>
      <td className="col-state">
        <StateBadge state={row.state} />
        {row.state !== 'ready' && (
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
