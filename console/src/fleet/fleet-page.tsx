import { useCallback } from 'react';
import { Empty } from '../parts/notice.tsx';
import { SearchBar, StateTiles } from './fleet-filters.tsx';
import type { FleetSnapshot, FleetStore } from './fleet-store.ts';
import { FleetTable } from './fleet-table.tsx';
import { ReadinessChart } from './readiness-chart.tsx';
import { type FleetFilter, isFiltered, NO_FILTER } from './select-rows.ts';

const MOST_ENVIRONMENTS = 4;
const MOST_LABELS = 100;

interface FleetPageProps {
  readonly fleet: FleetStore;
  readonly snapshot: FleetSnapshot;
  readonly filter: FleetFilter;
  readonly onFilter: (change: (filter: FleetFilter) => FleetFilter) => void;
}

export function FleetPage({ fleet, snapshot, filter, onFilter }: FleetPageProps) {
  const { size, synced, connection } = snapshot;
  const loading = !synced && size === 0;
  const { rows, counts } = fleet.select(filter);
  const change = useCallback((part: Partial<FleetFilter>) => onFilter((old) => ({ ...old, ...part })), [onFilter]);
  const toggleLabel = useCallback(
    (label: string) =>
      onFilter((old) => {
        const rest = old.labels.filter((each) => each !== label);
        return { ...old, labels: rest.length === old.labels.length ? [...rest, label] : rest };
      }),
    [onFilter],
  );
  const search = useCallback((text: string) => change({ search: text }), [change]);
  return (
    <>
      <h1 className="unseen">Fleet</h1>
      <div className="summary">
        <StateTiles counts={loading ? undefined : counts} state={filter.state} onState={(state) => change({ state })} />
        <ReadinessChart
          environments={fleet.totals.environments(MOST_ENVIRONMENTS)}
          chosen={filter.labels}
          onToggle={toggleLabel}
        />
      </div>
      <SearchBar
        filter={filter}
        labels={fleet.totals.commonLabels(MOST_LABELS)}
        shown={rows.length}
        total={size}
        loading={loading}
        onSearch={search}
        onToggleLabel={toggleLabel}
      />
      {rows.length > 0 ? (
        <FleetTable
          rows={rows}
          filter={filter}
          stale={connection.kind === 'lost' || connection.kind === 'offline'}
          onSort={change}
        />
      ) : (
        <div className="table-scroller">
          <NothingShown snapshot={snapshot} filtered={isFiltered(filter)} onClear={() => onFilter(() => NO_FILTER)} />
        </div>
      )}
    </>
  );
}

interface NothingShownProps {
  readonly snapshot: FleetSnapshot;
  readonly filtered: boolean;
  readonly onClear: () => void;
}

function NothingShown({ snapshot: { size, synced, connection }, filtered, onClear }: NothingShownProps) {
  if (connection.kind === 'ended') {
    return (
      <Empty title="The server refuses to list clusters">
        <p>{connection.reason}</p>
      </Empty>
    );
  }
  if (!synced) return <Loading />;
  if (filtered && size > 0) {
    return (
      <Empty title="No cluster matches">
        <button type="button" className="button" onClick={onClear}>
          Clear search and filters
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="There is no cluster that you may see">
      <p>As soon as somebody gives you the right to see one, it appears here.</p>
    </Empty>
  );
}

const Loading = () => (
  <div className="skeleton" role="status">
    <span className="unseen">Loading clusters</span>
    {Array.from({ length: 12 }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move
      <span key={index} aria-hidden="true" />
    ))}
  </div>
);
