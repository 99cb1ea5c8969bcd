import type { RefObject } from 'react';
import type { FleetFilter } from './fleet/fleet-filter.ts';
import { FleetPage } from './fleet/fleet-page.tsx';
import type { FleetSnapshot } from './fleet/fleet-store.ts';
import type { ScrollPosition } from './fleet/fleet-table.tsx';
import { lazyPage } from './lazy-page.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import type { Route } from './router.ts';

// Everyone lands on the fleet. The scripts of the other pages load when one is opened.
const AccessPage = lazyPage(async () => (await import('./access/access-page.tsx')).AccessPage);
const ApprovalPage = lazyPage(async () => (await import('./approvals/approvals-page.tsx')).ApprovalPage);
const ApprovalsPage = lazyPage(async () => (await import('./approvals/approvals-page.tsx')).ApprovalsPage);
const AuditPage = lazyPage(async () => (await import('./audit/audit-page.tsx')).AuditPage);
const CanIPage = lazyPage(async () => (await import('./access/can-i-page.tsx')).CanIPage);
const ClusterPage = lazyPage(async () => (await import('./cluster/cluster-page.tsx')).ClusterPage);
const KeysPage = lazyPage(async () => (await import('./keys/keys-page.tsx')).KeysPage);
const PassesPage = lazyPage(async () => (await import('./passes/passes-page.tsx')).PassesPage);
const RegisterPage = lazyPage(async () => (await import('./register/register-page.tsx')).RegisterPage);

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
    case 'fleet':
      return <FleetPage snapshot={snapshot} filter={filter} onFilter={onFilter} savedScroll={fleetScroll} />;
    case 'cluster':
      return <ClusterPage key={route.name} name={route.name} onRemoved={onRemoved} />;
    case 'pass':
      return <ApprovalPage key={route.name} resource="passes" name={route.name} />;
    case 'request':
      return <ApprovalPage key={route.name} resource="accessrequests" name={route.name} />;
    case 'can-i':
      return <CanIPage key={`${route.cluster} ${route.account}`} cluster={route.cluster} account={route.account} />;
    case 'access':
      return <AccessPage query={route.query} />;
    case 'keys':
      return <KeysPage />;
    case 'audit':
      return <AuditPage query={route.query} />;
    case 'requests':
      return <ApprovalsPage query={route.query} />;
    case 'register':
      return <RegisterPage />;
    case 'passes':
      return <PassesPage query={route.query} />;
    case 'not-found':
      return <NotFoundPage path={route.path} />;
  }
}
