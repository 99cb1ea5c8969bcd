import { memo } from 'react';
import type { Client } from '../../../src/client/index.ts';
import type { FleetStore } from '../fleet/fleet-store.ts';
import { CLUSTERPASS, type Permissions } from '../permissions/permissions.ts';
import { HealthSection } from './health-section.tsx';
import { IssuersSection } from './issuers-section.tsx';
import { KeysSection } from './keys-section.tsx';

interface KeysPageProps {
  readonly client: Client;
  readonly permissions: Permissions;
  readonly fleet: FleetStore;
}

/** The keys that sign passes, who fetches them, and the health of the server. */
export const KeysPage = memo(function KeysPage({ client, permissions, fleet }: KeysPageProps) {
  return (
    <div className="page-body stack">
      <h1>Keys and health</h1>
      {permissions.can('list', CLUSTERPASS, 'signingkeys') && <KeysSection client={client} permissions={permissions} />}
      <div className="columns two">
        <HealthSection client={client} fleet={fleet} readsMetrics={permissions.canGetPath('/metrics')} />
        <div className="column">
          <IssuersSection client={client} />
        </div>
      </div>
    </div>
  );
});
