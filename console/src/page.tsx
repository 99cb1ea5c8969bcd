import type { ComponentType, RefObject } from 'react';
import type { FleetFilter } from './fleet/fleet-filter.ts';
import { FleetPage } from './fleet/fleet-page.tsx';
import type { FleetSnapshot } from './fleet/fleet-store.ts';
import type { ScrollPosition } from './fleet/fleet-table.tsx';
import { lazyPage } from './lazy-page.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import type { QueryPage, Route } from './router.ts';

// Most land on the fleet. The scripts of the other pages load when one is opened.
const ApprovalPage = lazyPage(async () => (await import('./approvals/approvals-page.tsx')).ApprovalPage);
const ClusterPage = lazyPage(async () => (await import('./cluster/cluster-page.tsx')).ClusterPage);
const QUERY_PAGES: Readonly<Record<QueryPage, ComponentType<{ readonly query: string }>>> = {
  overview: lazyPage(async () => (await import('./overview/overview-page.tsx')).OverviewPage),
  'can-i': lazyPage(async () => (await import('./access/can-i-page.tsx')).CanIPage),
  access: lazyPage(async () => (await import('./access/access-page.tsx')).AccessPage),
  keys: lazyPage(async () => (await import('./keys/keys-page.tsx')).KeysPage),
  audit: lazyPage(async () => (await import('./audit/audit-page.tsx')).AuditPage),
  requests: lazyPage(async () => (await import('./approvals/approvals-page.tsx')).ApprovalsPage),
  register: lazyPage(async () => (await import('./register/register-page.tsx')).RegisterPage),
  passes: lazyPage(async () => (await import('./passes/passes-page.tsx')).PassesPage),
};

interface PageProps {
  readonly route: Route;
  readonly snapshot: FleetSnapshot;
  readonly filter: FleetFilter;
  readonly onFilter: (change: (filter: FleetFilter) => FleetFilter) => void;
  readonly fleetScroll: RefObject<ScrollPosition>;
  /** A cluster that the user has removed has left the fleet. */
  readonly onRemoved: (name: string) => void;
}

export function Page({ route, snapshot, filter, onFilter, fleetScroll, onRemoved }: PageProps) {
  switch (route.page) {
    case 'home':
      return <div aria-busy="true" />;
    case 'fleet':
      return <FleetPage snapshot={snapshot} filter={filter} onFilter={onFilter} savedScroll={fleetScroll} />;
    case 'cluster':
      return <ClusterPage key={route.name} name={route.name} onRemoved={onRemoved} />;
    case 'pass':
      return <ApprovalPage key={route.name} resource="passes" name={route.name} />;
    case 'request':
      return <ApprovalPage key={route.name} resource="accessrequests" name={route.name} />;
    case 'not-found':
      return <NotFoundPage path={route.path} />;
    default: {
      const ListPage = QUERY_PAGES[route.page];
      return <ListPage query={route.query} />;
    }
  }
}
