import { type RefObject, Suspense, useCallback, useState } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { useSession } from '../hooks/use-session.ts';
import { lazyPage } from '../lazy-page.tsx';
import { CLUSTERPASS, CLUSTERS } from '../permissions/permissions.ts';
import { linkTo } from '../router.ts';
import { ReadinessTiles, SearchBar } from './filter-bar.tsx';
import { type FleetFilter, isFiltered, NO_FILTER } from './fleet-filter.ts';
import type { FleetSnapshot } from './fleet-store.ts';
import { FleetTable, type ScrollPosition } from './fleet-table.tsx';
import { ReadinessChart } from './readiness-chart.tsx';

const FleetKubeconfig = lazyPage(async () => (await import('./fleet-kubeconfig.tsx')).FleetKubeconfig);

const MAX_ENVIRONMENTS = 4;

interface FleetPageProps {
  readonly snapshot: FleetSnapshot;
  readonly filter: FleetFilter;
  readonly onFilter: (change: (filter: FleetFilter) => FleetFilter) => void;
  readonly savedScroll: RefObject<ScrollPosition>;
}

export function FleetPage({ snapshot, filter, onFilter, savedScroll }: FleetPageProps) {
  const { fleet, permissions } = useSession();
  const { size, synced, connection } = snapshot;
  const [isExporting, setExporting] = useState(false);
  const loading = !synced && size === 0;
  const { rows, counts } = fleet.select(filter);
  // SearchBar is in React.memo, so its callbacks must keep their identity between renders.
  const change = useCallback((part: Partial<FleetFilter>) => onFilter((old) => ({ ...old, ...part })), [onFilter]);
  const search = useCallback((text: string) => change({ search: text }), [change]);
  const toggleLabel = useCallback(
    (label: string) =>
      onFilter((old) => {
        const rest = old.labels.filter((each) => each !== label);
        return { ...old, labels: rest.length === old.labels.length ? [...rest, label] : rest };
      }),
    [onFilter],
  );
  return (
    <>
      <h1 className="visually-hidden">Clusters</h1>
      <div className="summary">
        <ReadinessTiles
          counts={loading ? undefined : counts}
          readiness={filter.readiness}
          onReadiness={(readiness) => change({ readiness })}
        />
        <ReadinessChart environments={fleet.totals.environments(MAX_ENVIRONMENTS)} />
      </div>
      <SearchBar
        filter={filter}
        shown={rows.length}
        total={size}
        loading={loading}
        isExporting={isExporting}
        onExport={setExporting}
        mayRegister={permissions.can('create', CLUSTERS, 'clusters')}
        onSearch={search}
        onToggleLabel={toggleLabel}
      />
      {isExporting && (
        <Suspense>
          <FleetKubeconfig rows={rows} />
        </Suspense>
      )}
      {rows.length > 0 ? (
        <FleetTable
          rows={rows}
          filter={filter}
          stale={connection.kind === 'lost' || connection.kind === 'offline'}
          savedScroll={savedScroll}
          onSort={change}
        />
      ) : (
        <div className="table-scroller">
          <NoRows snapshot={snapshot} filtered={isFiltered(filter)} onClear={() => onFilter(() => NO_FILTER)} />
        </div>
      )}
    </>
  );
}

interface NoRowsProps {
  readonly snapshot: FleetSnapshot;
  readonly filtered: boolean;
  readonly onClear: () => void;
}

function NoRows({ snapshot: { size, synced, connection }, filtered, onClear }: NoRowsProps) {
  const { permissions, settings } = useSession();
  if (connection.kind === 'failed') {
    return (
      <EmptyState title="Cannot list clusters">
        <p>{connection.reason}</p>
      </EmptyState>
    );
  }
  if (!synced) return <Skeleton />;
  if (filtered && size > 0) {
    return (
      <EmptyState title="No clusters match">
        <button type="button" className="button" onClick={onClear}>
          Clear search and filters
        </button>
      </EmptyState>
    );
  }
  if (permissions.can('create', CLUSTERS, 'clusters')) {
    return <EmptyState title="There is no cluster that you may see: register one" />;
  }
  return (
    <EmptyState title="You do not have access to any cluster">
      <p>A cluster appears here as soon as a role binding gives you access to it.</p>
      {settings.helpText !== undefined && <p className="wrap-anywhere">{settings.helpText}</p>}
      {permissions.can('create', CLUSTERPASS, 'accessrequests') && (
        <a className="button primary" href={linkTo('requests')}>
          Ask for access
        </a>
      )}
    </EmptyState>
  );
}

const Skeleton = () => (
  <div className="skeleton" role="status">
    <span className="visually-hidden">Loading clusters</span>
    {Array.from({ length: 12 }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the elements are identical and never reordered
      <span key={index} aria-hidden="true" />
    ))}
  </div>
);
