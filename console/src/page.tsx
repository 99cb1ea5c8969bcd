import type { RefObject } from 'react';
import { AccessPage } from './access/access-page.tsx';
import { CanIPage } from './access/can-i-page.tsx';
import { ApprovalPage, ApprovalsPage } from './approvals/approvals-page.tsx';
import { AuditPage } from './audit/audit-page.tsx';
import { ClusterPage } from './cluster/cluster-page.tsx';
import type { FleetFilter } from './fleet/fleet-filter.ts';
import { FleetPage } from './fleet/fleet-page.tsx';
import type { FleetSnapshot } from './fleet/fleet-store.ts';
import type { ScrollPosition } from './fleet/fleet-table.tsx';
import { KeysPage } from './keys/keys-page.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import { PassesPage } from './passes/passes-page.tsx';
import { RegisterPage } from './register/register-page.tsx';
import type { Route } from './router.ts';

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
