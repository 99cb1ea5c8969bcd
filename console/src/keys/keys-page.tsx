import { memo } from 'react';
import { useSession } from '../hooks/use-session.ts';
import { CLUSTERPASS } from '../permissions/permissions.ts';
import { HealthSection } from './health-section.tsx';
import { IssuersSection } from './issuers-section.tsx';
import { KeysSection } from './keys-section.tsx';

/** The keys that sign passes, who fetches them, and the health of the server. */
export const KeysPage = memo(function KeysPage() {
  const { permissions } = useSession();
  return (
    <div className="page-body stack">
      <h1>Keys and health</h1>
      {permissions.can('list', CLUSTERPASS, 'signingkeys') && <KeysSection />}
      <div className="columns two">
        <HealthSection />
        <div className="column">
          <IssuersSection />
        </div>
      </div>
    </div>
  );
});
