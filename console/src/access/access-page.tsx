import { memo } from 'react';
import { commaList } from '../comma-list.ts';
import { Section } from '../components/section.tsx';
import { FilterField, Segments } from '../components/text-field.tsx';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import { type Fields, useFields } from '../hooks/use-fields.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { CLUSTERPASS, type Permissions } from '../permissions/permissions.ts';
import { BINDING_GROUPS, resourceOf } from './bindings.ts';
import { BindingsView } from './bindings-view.tsx';
import { ClusterReach } from './cluster-reach.tsx';
import { GrantView } from './grant-view.tsx';
import { LastGroups, Reach } from './reach.tsx';
import { UnknownCluster } from './unknown-cluster.tsx';

type View = 'cluster' | 'person' | 'bindings' | 'grant';

/** The page opens with the first. Bindings are there without a question. */
function viewsFor({ can }: Permissions): (readonly [View, string])[] {
  const kinds = Object.entries(BINDING_GROUPS) as [keyof typeof BINDING_GROUPS, string][];
  const mayList = kinds.some(([kind, group]) => can('list', group, resourceOf(kind)));
  return [
    ...(mayList ? [['bindings', 'Bindings'] as const] : []),
    ...(can('create', CLUSTERPASS, 'resourceaccessreviews') ? [['cluster', 'A cluster'] as const] : []),
    ...(can('create', CLUSTERPASS, 'subjectreachreviews') ? [['person', 'A person'] as const] : []),
    ...(can('create', CLUSTERPASS, 'fleetrolebindings') ? [['grant', 'New grant'] as const] : []),
  ];
}

/** Who reaches what, for those who may ask. */
export const AccessPage = memo(function AccessPage({ query }: { readonly query: string }) {
  const { permissions } = useSession();
  const fields = useFields('access', query);
  const views = viewsFor(permissions);
  const view = views.find(([each]) => each === fields.get('view'))?.[0] ?? views[0]?.[0];
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Access</h1>
        {view !== undefined && (
          <Segments legend="View" value={view} options={views} onChange={(next) => fields.set({ view: next })} />
        )}
      </header>
      {view === undefined && (
        <p className="muted">
          {permissions.isKnown
            ? 'Your roles do not allow you to ask about the access of others.'
            : 'It is not known yet what your roles allow.'}
        </p>
      )}
      {view === 'cluster' && <ClusterView fields={fields} />}
      {view === 'person' && <PersonView fields={fields} />}
      {view === 'bindings' && <BindingsView fields={fields} />}
      {view === 'grant' && <GrantView />}
    </div>
  );
});

function ClusterView({ fields }: { readonly fields: Fields }) {
  const { client, fleet } = useSession();
  const clusterNames = useClusterNames();
  const cluster = fields.get('cluster');
  const known = fleet.find(cluster) === undefined ? '' : cluster;
  const accounts = useQuery(known, async () => (known === '' ? undefined : client.usableAccounts(known)));
  const items = accounts.status === 'loaded' ? (accounts.value?.items ?? []) : [];
  return (
    <Section title="Who reaches this cluster?">
      <div className="field-row">
        <FilterField
          label="Cluster"
          value={cluster}
          suggestions={clusterNames}
          onChange={(value) => fields.set({ cluster: value, account: '' })}
        />
      </div>
      {known !== cluster && <UnknownCluster name={cluster} />}
      {known !== '' && (
        <ClusterReach
          cluster={known}
          account={fields.get('account')}
          accounts={items.map(({ namespace, name }) => `${namespace}/${name}`)}
          onAccount={(account) => fields.set({ account })}
        />
      )}
    </Section>
  );
}

function PersonView({ fields }: { readonly fields: Fields }) {
  const { permissions } = useSession();
  const user = fields.get('user');
  const groups = commaList(fields.get('groups'));
  return (
    <Section title="What does this person reach?">
      <div className="field-row">
        <FilterField label="User" value={user} onChange={(value) => fields.set({ user: value })} />
        <FilterField
          label="Groups"
          value={fields.get('groups')}
          placeholder="Comma-separated"
          hint="The identity provider knows the groups of a person; Clusterpass does not."
          onChange={(value) => fields.set({ groups: value })}
        />
      </div>
      {permissions.can('create', CLUSTERPASS, 'auditeventreviews') && (
        <LastGroups user={user} onUse={(last) => fields.set({ groups: last.join(',') })} />
      )}
      {(user !== '' || groups.length > 0) && <Reach user={user} groups={groups} />}
    </Section>
  );
}
