import { memo, useEffect, useState, useSyncExternalStore } from 'react';
import { conditionOf, isBadCondition } from '../../../src/api/clusters/conditions.ts';
import type { Cluster } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { BackLink } from '../components/back-link.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ReadinessBadge } from '../fleet/readiness-badge.tsx';
import { useSynced } from '../hooks/use-cluster-names.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useSession } from '../hooks/use-session.ts';
import type { AccountRef } from '../pass/pass-request.ts';
import { PassSection } from '../pass/pass-section.tsx';
import { CLUSTERPASS, CLUSTERS } from '../permissions/permissions.ts';
import { PermissionsNotice } from '../permissions/permissions-notice.tsx';
import { usePermissions } from '../permissions/use-permissions.ts';
import { linkTo } from '../router.ts';
import { AccessSection } from './access-section.tsx';
import { AdminSection } from './admin-section.tsx';
import { detailsOf } from './cluster-details.ts';
import { ConditionsSection } from './conditions-section.tsx';
import { ConfirmSection } from './confirm-section.tsx';
import { ConnectSection } from './connect-section.tsx';
import { ConnectorSection } from './connector-section.tsx';
import { EndpointsSection, PassesSection } from './endpoints-section.tsx';
import { EventsSection } from './events-section.tsx';
import { UsabilitySection } from './usability-section.tsx';
import { WhoSection } from './who-section.tsx';

interface ClusterPageProps {
  readonly name: string;
  /** The cluster that the user has removed here has left the fleet. */
  readonly onRemoved: (name: string) => void;
}

/** Memoized, so that it renders when this cluster changes and not when others do. */
export const ClusterPage = memo(function ClusterPage({ name, onRemoved }: ClusterPageProps) {
  const { client, fleet } = useSession();
  // Undefined if the user cannot see the cluster, or until the watch has delivered it.
  const row = useSyncExternalStore(fleet.subscribe, () => fleet.find(name));
  const transitions = useSyncExternalStore(fleet.subscribe, () => fleet.transitionsOf(name));
  const synced = useSynced();
  const version = row?.cluster.metadata.resourceVersion ?? '';
  // Permissions in a cluster depend on its labels.
  const { permissions, problem } = usePermissions(client, name, Number(version));
  const mayAsk = permissions.can('create', CLUSTERPASS, 'accessrequests');
  const [account, setAccount] = useState<AccountRef>({ namespace: '', name: '' });
  const [isRemoving, setIsRemoving] = useState(false);
  const isRemoved = isRemoving && row === undefined;
  useEffect(() => {
    if (isRemoved) onRemoved(name);
  }, [isRemoved, name, onRemoved]);
  const absence = useFocusAfterChange<HTMLDivElement>(row === undefined);
  if (row === undefined) {
    return (
      <div className="page-body" ref={absence} tabIndex={-1}>
        <BackLink />
        {synced ? <ClusterNotFound name={name} mayAsk={mayAsk} /> : <p role="status">Loading…</p>}
      </div>
    );
  }
  const { cluster } = row;
  const details = detailsOf(cluster);
  return (
    <div className="page-body">
      <BackLink />
      <header className="cluster-head">
        <h1 className="wrap-anywhere">{name}</h1>
        <ReadinessBadge readiness={row.readiness} />
        {row.isTerminating && <p>Terminating</p>}
        {row.readiness === 'not-ready' && <p className="problem wrap-anywhere">{causeOf(cluster)}</p>}
        <p className="muted">{[row.type, row.version].filter(Boolean).join(' ')}</p>
        {/* Keyboard users must be able to scroll many. */}
        <ul className="chips" aria-label="Labels" tabIndex={row.labelTexts.length > 5 ? 0 : undefined}>
          {row.labelTexts.map((label) => (
            <li key={label} className="chip static mono">
              {label}
            </li>
          ))}
        </ul>
      </header>
      <PermissionsNotice problem={problem} where=" in this cluster" />
      <div className="columns">
        <div className="column">
          <PassSection {...{ mayAsk, details, account }} cluster={name} onAccount={setAccount} />
          <ConnectSection cluster={name} account={account} />
        </div>
        <div className="column">
          {isWaiting(cluster) && (
            <ConfirmSection
              name={name}
              resourceVersion={version}
              mayConfirm={permissions.can('confirm', CLUSTERS, 'clusters')}
            />
          )}
          {permissions.can('update', CLUSTERS, 'clusters') && <UsabilitySection cluster={cluster} />}
          <ConditionsSection
            conditions={cluster.status?.conditions ?? []}
            transitions={transitions}
            createdAt={cluster.metadata.creationTimestamp ?? undefined}
          />
          <EndpointsSection details={details} />
          {permissions.can('create', CLUSTERPASS, 'auditeventreviews') && <EventsSection name={name} />}
        </div>
        <div className="column">
          <PassesSection details={details} />
          {permissions.can('list', CLUSTERPASS, 'connectors') && <ConnectorSection name={name} />}
          <AccessSection name={name} resourceVersion={version} />
          <AdminSection cluster={cluster} permissions={permissions} onRemoving={() => setIsRemoving(true)} />
        </div>
      </div>
      {permissions.can('create', CLUSTERPASS, 'resourceaccessreviews') && (
        <WhoSection name={name} resourceVersion={version} account={account} />
      )}
    </div>
  );
});

/** Why it is not ready. On a phone the conditions are below the forms. */
function causeOf({ status }: Cluster): string {
  const { reason = '', message = '' } = conditionOf(status ?? {}, 'Ready') ?? {};
  return visibleName([reason, message].filter(Boolean).join(': '));
}

/** A changed address or CA waits for confirmation. */
const isWaiting = ({ status }: Cluster): boolean =>
  isBadCondition(conditionOf(status ?? {}, 'EndpointsConfirmed') ?? {});

const ClusterNotFound = ({ name, mayAsk }: { readonly name: string; readonly mayAsk: boolean }) => (
  <EmptyState title="Cluster not found" isPage>
    <p>
      <span className="mono">{name}</span> does not exist, or you do not have access to it.
    </p>
    {mayAsk && (
      <a className="button primary" href={linkTo('requests', { cluster: name })}>
        Ask for access
      </a>
    )}
    <a className="button" href={linkTo('can-i', { cluster: name })}>
      Which permission do I need?
    </a>
  </EmptyState>
);
