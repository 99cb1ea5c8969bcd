import { useState } from 'react';
import { clustersText } from '../../../src/api/clusters-field.ts';
import { ENDING_DAYS } from '../../../src/api/overview.ts';
import { reviewClusterGrants } from '../../../src/client/access-reviews.ts';
import { countOf } from '../components/count.ts';
import { First, FirstRows } from '../components/first-rows.tsx';
import type { Column } from '../components/list-table.tsx';
import { Problem } from '../components/problem.tsx';
import { ClusterFilter, FilterField } from '../components/text-field.tsx';
import { Remaining } from '../components/time.tsx';
import type { Fields } from '../hooks/use-fields.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { BINDING_GROUPS, type Binding, bindingKey, listBindings, resourceOf, scopeOfGrant } from './bindings.ts';
import { ChangeBinding } from './change-binding.tsx';
import { DeleteBinding } from './delete-binding.tsx';
import { Subject } from './reach-table.tsx';
import { UnknownCluster } from './unknown-cluster.tsx';

/** What the user is about to do with a binding. */
interface Chosen {
  readonly action: 'Change' | 'Delete';
  readonly binding: Binding;
}

/** Bindings by subject, and by the cluster in which they hold. */
export function BindingsView({ fields }: { readonly fields: Fields }) {
  const { client, permissions, fleet } = useSession();
  const { generation } = useRefresh();
  const search = fields.get('search');
  const cluster = fields.get('cluster');
  const endsSoon = fields.get('ends') !== '';
  const [changes, setChanges] = useState(0);
  const count = useFocusAfterChange<HTMLParagraphElement>(changes);
  const [chosen, setChosen] = useState<Chosen>();
  const query = useQuery('', () => listBindings(client), generation + changes);
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
      (!endsSoon || Date.parse(binding.expiresAt) - Date.now() < ENDING_DAYS * 86_400_000) &&
      (inCluster === undefined || inCluster.has(bindingKey(binding))),
  );
  const Panel = chosen?.action === 'Change' ? ChangeBinding : DeleteBinding;
  const problem = query.status === 'failed' ? query.message : holding.status === 'failed' ? holding.message : '';
  return (
    <>
      <search className="filter-row">
        <FilterField label="Subject, role or name" value={search} onChange={(value) => fields.set({ search: value })} />
        <ClusterFilter fields={fields} label="Holds in cluster" />
        <label className="check filter-check">
          <input type="checkbox" checked={endsSoon} onChange={() => fields.set({ ends: endsSoon ? '' : 'soon' })} />
          <span>Ends within {ENDING_DAYS} days</span>
        </label>
      </search>
      <Problem text={problem} />
      {known === cluster ? (
        <p className="muted" role="status" ref={count} tabIndex={-1}>
          {!isLoaded && problem === '' && 'Loading…'}
          {isLoaded && countOf(bindings.length, 'binding')}
        </p>
      ) : (
        <UnknownCluster name={cluster} />
      )}
      {chosen !== undefined && (
        <Panel
          key={`${chosen.action} ${bindingKey(chosen.binding)}`}
          binding={chosen.binding}
          onCancel={() => setChosen(undefined)}
          onDone={() => {
            setChosen(undefined);
            setChanges((old) => old + 1);
          }}
        />
      )}
      {bindings.length > 0 && (
        <BindingTable
          bindings={bindings}
          may={(verb, { kind }) => permissions.can(verb, BINDING_GROUPS[kind], resourceOf(kind))}
          onChoose={setChosen}
        />
      )}
    </>
  );
}

interface BindingTableProps {
  readonly bindings: readonly Binding[];
  readonly may: (verb: 'patch' | 'delete', binding: Binding) => boolean;
  readonly onChoose: (chosen: Chosen) => void;
}

/** In a cell, of the dozens that a binding may have. */
const NAMES_AT_ONCE = 6;

const COLUMNS: readonly Column<Binding>[] = [
  {
    title: 'Binding',
    isHeader: true,
    className: 'list-name wrap-anywhere',
    cell: ({ name, namespace, manifest, problem }) => (
      <>
        {name}
        {namespace !== '' && <span className="muted hint"> in {namespace}</span>}
        {manifest !== '' && <span className="muted hint"> from {manifest}</span>}
        {problem !== '' && <span className="problem hint"> {problem}</span>}
      </>
    ),
  },
  {
    title: 'Subjects',
    className: 'list-name',
    cell: ({ subjects }) => (
      <First all={subjects} atOnce={NAMES_AT_ONCE}>
        {(shown) => (
          <ul>
            {shown.map((subject) => (
              <li key={`${subject.kind} ${subject.namespace} ${subject.name}`}>
                <Subject {...subject} kind={subject.kind as 'User' | 'Group' | 'ServiceAccount'} />
              </li>
            ))}
          </ul>
        )}
      </First>
    ),
  },
  { title: 'Role', className: 'list-name wrap-anywhere', cell: ({ role }) => role },
  {
    title: 'Clusters',
    className: 'wrap-anywhere',
    cell: (binding) => (
      <>
        {scopeOfGrant(binding).all === true ? (
          <span className="muted">all</span>
        ) : (
          <First all={clustersText(scopeOfGrant(binding)).split(',')} atOnce={NAMES_AT_ONCE}>
            {(shown) => <span className="mono">{shown.join(',')}</span>}
          </First>
        )}
        {binding.reach !== undefined && (
          <span className="muted hint"> reaches {countOf(binding.reach, 'cluster')}</span>
        )}
      </>
    ),
  },
  {
    title: 'Ends',
    cell: ({ expiresAt }) => (expiresAt === '' ? <span className="muted">never</span> : <Remaining at={expiresAt} />),
  },
];

function BindingTable({ bindings, may, onChoose }: BindingTableProps) {
  const button = (action: Chosen['action'], binding: Binding) => (
    <button
      type="button"
      className="button small"
      aria-label={`${action} the ${binding.kind} ${binding.name}`}
      onClick={() => onChoose({ action, binding })}
    >
      {action}…
    </button>
  );
  const actions = (binding: Binding) => (
    <div className="actions">
      {binding.kind === 'FleetRoleBinding' && may('patch', binding) && button('Change', binding)}
      {may('delete', binding) && button('Delete', binding)}
    </div>
  );
  return (
    <div className="card table-card">
      <FirstRows
        columns={[...COLUMNS, { title: 'Actions', head: null, cell: actions }]}
        rows={bindings}
        keyOf={bindingKey}
      />
    </div>
  );
}
