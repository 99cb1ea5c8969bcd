import { memo, useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterField, Segments, suggestionsOf } from '../components/text-field.tsx';
import type { FleetStore } from '../fleet/fleet-store.ts';
import { HandleList } from '../handles/handle-list.tsx';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFields } from '../hooks/use-fields.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useRefresh } from '../hooks/use-query.ts';
import { CLUSTERPASS, type Permissions } from '../permissions/permissions.ts';
import { hrefOf } from '../router.ts';
import { accountOf, PassTable } from './pass-table.tsx';
import { type RevocationFailure, RevokePanel } from './revoke-panel.tsx';
import { usePassList } from './use-pass-list.ts';

interface PassesPageProps {
  readonly client: Client;
  readonly username: string;
  readonly permissions: Permissions;
  readonly fleet: FleetStore;
  readonly clusterNames: readonly string[];
  readonly query: string;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Recorded passes that have not expired: those of the user, or all of them for users who may list them. */
export const PassesPage = memo(function PassesPage(props: PassesPageProps) {
  const { client, username, permissions, fleet, clusterNames, query } = props;
  const fields = useFields('passes', query);
  const listsAll = permissions.can('list', CLUSTERPASS, 'issuedtokens');
  const scope = listsAll && fields.get('scope') === 'all' ? 'all' : 'mine';
  const [revisions, setRevisions] = useState(0);
  const { generation } = useRefresh();
  const filter = {
    cluster: fields.get('cluster'),
    account: fields.get('account'),
    requester: scope === 'mine' ? username : fields.get('requester'),
  };
  const list = usePassList(client, filter, generation + revisions);
  const [selected, setSelected] = useState(NOTHING);
  const [asks, setAsks] = useState(false);
  const count = useFocusAfterChange<HTMLParagraphElement>(asks);
  const [failures, setFailures] = useState<readonly RevocationFailure[]>([]);
  const chosen = list.passes.filter(({ metadata }) => selected.has(metadata.name));
  const finish = (failed: readonly RevocationFailure[]): void => {
    setFailures(failed);
    setSelected(new Set(failed.map(({ pass }) => pass.metadata.name)));
    setAsks(false);
    setRevisions((old) => old + 1);
  };
  const isFiltered = filter.cluster !== '' || filter.account !== '' || fields.get('requester') !== '';
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Passes</h1>
        {listsAll && (
          <Segments
            legend="Whose passes"
            value={scope}
            options={[
              ['mine', 'Mine'],
              ['all', 'All'],
            ]}
            onChange={(value) => {
              setSelected(NOTHING);
              fields.set({ scope: value === 'all' ? 'all' : '', requester: '' });
            }}
          />
        )}
        <p className="muted">
          {scope === 'mine'
            ? 'Recorded passes that you requested and that are valid.'
            : 'All recorded passes that are valid.'}
        </p>
      </header>
      <HandleList client={client} />
      <search className="filter-row">
        <FilterField
          label="Cluster"
          placeholder="Whole name"
          value={filter.cluster}
          suggestions={clusterNames}
          onChange={(cluster) => fields.set({ cluster })}
        />
        <FilterField
          label="Account"
          placeholder="namespace/name"
          value={filter.account}
          suggestions={suggestionsOf(list.passes.map(accountOf))}
          onChange={(account) => fields.set({ account })}
        />
        {scope === 'all' && (
          <FilterField
            label="Requested by"
            placeholder="Whole name"
            value={fields.get('requester')}
            suggestions={suggestionsOf(list.passes.map(({ spec }) => spec.requestedBy.username))}
            onChange={(requester) => fields.set({ requester })}
          />
        )}
      </search>
      {failures.length > 0 && <Failures failures={failures} />}
      <ServerControls>
        {asks && chosen.length > 0 ? (
          <RevokePanel
            client={client}
            passes={chosen}
            findCluster={(name) => fleet.find(name)?.cluster}
            onCancel={() => setAsks(false)}
            onDone={finish}
          />
        ) : (
          <div className="list-actions">
            <p className="muted" role="status" ref={count} tabIndex={-1}>
              {list.status === 'loaded' && countText(list.passes.length, list.remaining, chosen.length)}
            </p>
            <button
              type="button"
              className="button danger"
              disabled={chosen.length === 0}
              onClick={() => {
                setFailures([]);
                setAsks(true);
              }}
            >
              {chosen.length > 1 ? `Revoke ${chosen.length} passes` : 'Revoke'}
            </button>
          </div>
        )}
      </ServerControls>
      {list.problem !== '' && (
        <p className="problem" role="alert">
          {list.problem}
        </p>
      )}
      {list.status === 'loading' && <p className="muted">Loading…</p>}
      {list.status === 'loaded' && list.passes.length === 0 && (
        <EmptyState title={isFiltered ? 'No passes match' : 'No passes'}>
          <p>A pass is listed from its issue to its expiry, if it is recorded.</p>
          <a className="button" href={hrefOf({ page: 'fleet', query: '' })}>
            Choose a cluster
          </a>
        </EmptyState>
      )}
      {list.passes.length > 0 && (
        <div className="card table-card">
          <PassTable
            passes={list.passes}
            selected={selected}
            onSelect={setSelected}
            showsEvents={permissions.can('create', CLUSTERPASS, 'auditeventreviews')}
          />
        </div>
      )}
      {list.loadMore !== undefined && (
        <ServerControls>
          <button type="button" className="button" onClick={list.loadMore}>
            Load more
          </button>
        </ServerControls>
      )}
    </div>
  );
});

function countText(shown: number, remaining: number, chosen: number): string {
  const total = shown + remaining;
  const passes = `${total.toLocaleString()} ${total === 1 ? 'pass' : 'passes'}`;
  const loaded = remaining > 0 ? `, ${shown.toLocaleString()} shown` : '';
  return `${passes}${loaded}${chosen > 0 ? `, ${chosen.toLocaleString()} selected` : ''}`;
}

const Failures = ({ failures }: { failures: readonly RevocationFailure[] }) => (
  <div className="notice" role="alert">
    <strong>{failures.length === 1 ? 'A pass was not revoked' : `${failures.length} passes were not revoked`}</strong>
    <ul>
      {failures.map(({ pass, message }) => (
        <li key={pass.metadata.name} className="wrap-anywhere">
          <span className="mono">{pass.metadata.name}</span>: {message}
        </li>
      ))}
    </ul>
  </div>
);
