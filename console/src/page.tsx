import type { RefObject } from 'react';
import type { Client, UserInfo } from '../../src/client/index.ts';
import { AccessPage } from './access/access-page.tsx';
import { CanIPage } from './access/can-i-page.tsx';
import { ApprovalsPage, PassPage } from './approvals/approvals-page.tsx';
import { AuditPage } from './audit/audit-page.tsx';
import { ClusterPage } from './cluster/cluster-page.tsx';
import type { FleetFilter } from './fleet/fleet-filter.ts';
import { FleetPage } from './fleet/fleet-page.tsx';
import type { FleetSnapshot, FleetStore } from './fleet/fleet-store.ts';
import type { ScrollPosition } from './fleet/fleet-table.tsx';
import { useClusterNames } from './hooks/use-cluster-names.ts';
import { KeysPage } from './keys/keys-page.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import { PassesPage } from './passes/passes-page.tsx';
import type { RevocationRuns } from './passes/revocation-run.ts';
import { CLUSTERS, type Permissions } from './permissions/permissions.ts';
import { RegisterPage } from './register/register-page.tsx';
import type { Route } from './router.ts';
import type { Provider } from './session/oidc-client.ts';

interface PageProps {
  readonly route: Route;
  readonly client: Client;
  readonly user: UserInfo;
  readonly permissions: Permissions;
  readonly fleet: FleetStore;
  readonly snapshot: FleetSnapshot;
  readonly filter: FleetFilter;
  /** The filter, as it is in the URL of the fleet. */
  readonly fleetQuery: string;
  readonly onFilter: (change: (filter: FleetFilter) => FleetFilter) => void;
  readonly fleetScroll: RefObject<ScrollPosition>;
  readonly revocations: RevocationRuns;
  /** A cluster that the user has removed has left the fleet. */
  readonly onRemoved: (name: string) => void;
  /** Undefined if users can sign in only with a token. */
  readonly provider: Provider | undefined;
}

/** The page of a route. */
export function Page(props: PageProps) {
  const { route, client, user, permissions, fleet, snapshot, filter, fleetQuery, onFilter, fleetScroll, provider } =
    props;
  const clusterNames = useClusterNames(fleet, snapshot.membership);
  switch (route.page) {
    case 'fleet':
      return (
        <FleetPage
          fleet={fleet}
          snapshot={snapshot}
          filter={filter}
          onFilter={onFilter}
          savedScroll={fleetScroll}
          mayRegister={permissions.can('create', CLUSTERS, 'clusters')}
        />
      );
    case 'cluster':
      return (
        <ClusterPage
          key={route.name}
          name={route.name}
          row={fleet.find(route.name)}
          transitions={fleet.transitionsOf(route.name)}
          synced={snapshot.synced}
          client={client}
          fleetQuery={fleetQuery}
          onRemoved={props.onRemoved}
          provider={provider}
        />
      );
    case 'pass':
      return <PassPage key={route.name} name={route.name} client={client} username={user.username ?? ''} />;
    case 'can-i':
      return (
        <CanIPage
          key={`${route.cluster} ${route.account}`}
          client={client}
          username={user.username ?? ''}
          clusterNames={clusterNames}
          cluster={route.cluster}
          account={route.account}
        />
      );
    case 'access':
      return (
        <AccessPage
          client={client}
          permissions={permissions}
          fleet={fleet}
          synced={snapshot.synced}
          clusterNames={clusterNames}
          query={route.query}
        />
      );
    case 'keys':
      return <KeysPage client={client} permissions={permissions} fleet={fleet} />;
    case 'audit':
      return <AuditPage client={client} clusterNames={clusterNames} query={route.query} />;
    case 'requests':
      return (
        <ApprovalsPage client={client} username={user.username ?? ''} clusterNames={clusterNames} query={route.query} />
      );
    case 'register':
      return <RegisterPage client={client} fleetQuery={fleetQuery} />;
    case 'passes':
      return (
        <PassesPage
          client={client}
          revocations={props.revocations}
          username={user.username ?? ''}
          permissions={permissions}
          fleet={fleet}
          clusterNames={clusterNames}
          query={route.query}
        />
      );
    case 'not-found':
      return <NotFoundPage path={route.path} />;
  }
}
