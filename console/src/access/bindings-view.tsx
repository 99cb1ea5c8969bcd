import { useState } from 'react';
import { reviewClusterGrants } from '../../../src/client/fleet-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { quantity } from '../../../src/lib/quantity.ts';
import { Problem } from '../components/problem.tsx';
import { FilterField } from '../components/text-field.tsx';
import { Remaining } from '../components/time.tsx';
import type { FleetStore } from '../fleet/fleet-store.ts';
import type { Fields } from '../hooks/use-fields.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { type Permissions, RBAC } from '../permissions/permissions.ts';
import { type Binding, bindingKey, listBindings } from './bindings.ts';
import { DeleteBinding } from './delete-binding.tsx';
import { Subject } from './subject-table.tsx';
import { UnknownCluster } from './unknown-cluster.tsx';

interface BindingsViewProps {
  readonly client: Client;
  readonly permissions: Permissions;
  readonly fields: Fields;
  readonly fleet: FleetStore;
  /** The watch has delivered all clusters. */
  readonly synced: boolean;
  readonly clusterNames: readonly string[];
}

/** Bindings by subject, and by the cluster in which they hold. */
export function BindingsView({ client, permissions, fields, fleet, synced, clusterNames }: BindingsViewProps) {
  const { generation } = useRefresh();
  const search = fields.get('search');
  const cluster = fields.get('cluster');
  const [deletions, setDeletions] = useState(0);
  const count = useFocusAfterChange<HTMLParagraphElement>(deletions);
  const [chosen, setChosen] = useState<Binding>();
  const query = useQuery('', () => listBindings(client), generation + deletions);
  const known = fleet.find(cluster) === undefined ? '' : cluster;
  const holding = useQuery(
    known,
    async () => {
      if (known === '') return undefined;
      const { grants = [] } = await reviewClusterGrants(client, known);
      return new Set(grants.flatMap(({ binding }) => (binding === undefined ? [] : [bindingKey(binding)])));
    },
    generation,
  );
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const inCluster = holding.status === 'loaded' ? holding.value : undefined;
  const isLoaded = known === cluster && query.status === 'loaded' && holding.status === 'loaded';
  const bindings = (isLoaded ? query.value : []).filter(
    (binding) =>
      words.every((word) => binding.searchText.includes(word)) &&
      (inCluster === undefined || inCluster.has(bindingKey(binding))),
  );
  const problem = query.status === 'failed' ? query.message : holding.status === 'failed' ? holding.message : '';
  return (
    <>
      <search className="filter-row">
        <FilterField label="Subject, role or name" value={search} onChange={(value) => fields.set({ search: value })} />
        <FilterField
          label="Holds in cluster"
          value={cluster}
          suggestions={clusterNames}
          onChange={(value) => fields.set({ cluster: value })}
        />
      </search>
      <Problem text={problem} />
      {known === cluster ? (
        <p className="muted" role="status" ref={count} tabIndex={-1}>
          {!isLoaded && problem === '' && 'Loading…'}
          {isLoaded && quantity(bindings.length, 'binding')}
        </p>
      ) : (
        <UnknownCluster name={cluster} synced={synced} />
      )}
      {chosen !== undefined && (
        <DeleteBinding
          key={bindingKey(chosen)}
          client={client}
          binding={chosen}
          onCancel={() => setChosen(undefined)}
          onDone={() => {
            setChosen(undefined);
            setDeletions((old) => old + 1);
          }}
        />
      )}
      {bindings.length > 0 && (
        <BindingTable
          bindings={bindings}
          mayDelete={({ kind }) => permissions.can('delete', RBAC, `${kind.toLowerCase()}s`)}
          onDelete={setChosen}
        />
      )}
    </>
  );
}

interface BindingTableProps {
  readonly bindings: readonly Binding[];
  readonly mayDelete: (binding: Binding) => boolean;
  readonly onDelete: (binding: Binding) => void;
}

const BindingTable = ({ bindings, mayDelete, onDelete }: BindingTableProps) => (
  <div className="card table-card">
    <table className="list">
      <thead>
        <tr>
          <th scope="col">Binding</th>
          <th scope="col">Subjects</th>
          <th scope="col">Role</th>
          <th scope="col">Clusters</th>
          <th scope="col">Ends</th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {bindings.map((binding) => (
          <tr key={bindingKey(binding)}>
            <th scope="row" data-label="Binding" className="wrap-anywhere">
              {binding.name}
              {binding.namespace !== '' && <span className="muted hint"> in {binding.namespace}</span>}
              {binding.manifest !== '' && <span className="muted hint"> from {binding.manifest}</span>}
            </th>
            <td data-label="Subjects">
              <ul>
                {binding.subjects.map((subject) => (
                  <li key={`${subject.kind} ${subject.namespace} ${subject.name}`}>
                    <Subject {...subject} kind={subject.kind as 'User' | 'Group' | 'ServiceAccount'} />
                  </li>
                ))}
              </ul>
            </td>
            <td data-label="Role" className="wrap-anywhere">
              {binding.role}
            </td>
            <td data-label="Clusters" className="mono wrap-anywhere">
              {binding.clusters === '' ? <span className="muted">all</span> : binding.clusters}
            </td>
            <td data-label="Ends">
              {binding.expiresAt === '' ? <span className="muted">never</span> : <Remaining at={binding.expiresAt} />}
            </td>
            <td>
              {mayDelete(binding) && (
                <button
                  type="button"
                  className="button small"
                  aria-label={`Delete the ${binding.kind} ${binding.name}`}
                  onClick={() => onDelete(binding)}
                >
                  Delete…
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
