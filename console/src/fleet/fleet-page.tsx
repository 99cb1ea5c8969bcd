import { useDeferredValue, useMemo } from 'react';
import { Empty } from '../parts/notice.tsx';
import { labelFor } from './cluster-row.ts';
import { SearchBar, StateTiles } from './fleet-filters.tsx';
import type { FleetSnapshot } from './fleet-store.ts';
import { FleetTable } from './fleet-table.tsx';
import { ReadinessChart } from './readiness-chart.tsx';
import {
  commonLabels,
  countEnvironments,
  countStates,
  type FleetFilter,
  isFiltered,
  matchingRows,
  NO_FILTER,
  sortRows,
} from './select-rows.ts';

const MOST_ENVIRONMENTS = 4;
const MOST_LABELS = 100;

interface FleetPageProps {
  readonly snapshot: FleetSnapshot;
  readonly filter: FleetFilter;
  readonly onFilter: (filter: FleetFilter) => void;
}

export function FleetPage({ snapshot, filter, onFilter }: FleetPageProps) {
  const { rows, synced, connection } = snapshot;
  const loading = !synced && rows.length === 0;
  // Typing comes first: what it selects among thousands may follow a moment later.
  const applied = useDeferredValue(filter);
  const matching = useMemo(() => matchingRows(rows, applied), [rows, applied]);
  const counts = useMemo(() => countStates(matching), [matching]);
  const shown = useMemo(() => {
    const { state } = applied;
    return sortRows(state === undefined ? matching : matching.filter((row) => row.state === state), applied);
  }, [matching, applied]);
  const environments = useMemo(
    () => countEnvironments(rows, (row) => labelFor(row, 'environment'), MOST_ENVIRONMENTS),
    [rows],
  );
  const labels = useMemo(() => commonLabels(rows, MOST_LABELS), [rows]);
  const toggleLabel = (label: string): void => {
    const rest = filter.labels.filter((each) => each !== label);
    onFilter({ ...filter, labels: rest.length === filter.labels.length ? [...rest, label] : rest });
  };
  return (
    <>
      <h1 className="unseen">Fleet</h1>
      <div className="summary">
        <StateTiles
          counts={loading ? undefined : counts}
          state={filter.state}
          onState={(state) => onFilter({ ...filter, state })}
        />
        <ReadinessChart environments={environments} chosen={filter.labels} onToggle={toggleLabel} />
      </div>
      <SearchBar
        filter={filter}
        labels={labels}
        shown={shown.length}
        total={rows.length}
        loading={loading}
        onFilter={onFilter}
        onToggleLabel={toggleLabel}
      />
      {shown.length > 0 ? (
        <FleetTable rows={shown} filter={filter} stale={connection.kind === 'lost'} onFilter={onFilter} />
      ) : (
        <div className="table-scroller">
          <NothingShown snapshot={snapshot} filtered={isFiltered(applied)} synced={synced} onFilter={onFilter} />
        </div>
      )}
    </>
  );
}

interface NothingShownProps {
  readonly snapshot: FleetSnapshot;
  readonly filtered: boolean;
  readonly synced: boolean;
  readonly onFilter: (filter: FleetFilter) => void;
}

function NothingShown({ snapshot: { rows, connection }, filtered, synced, onFilter }: NothingShownProps) {
  if (connection.kind === 'ended') {
    return (
      <Empty title="The server refuses to list clusters">
        <p>{connection.reason}</p>
      </Empty>
    );
  }
  if (!synced) return <Loading />;
  if (filtered && rows.length > 0) {
    return (
      <Empty title="No cluster matches">
        <button type="button" className="button" onClick={() => onFilter(NO_FILTER)}>
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
