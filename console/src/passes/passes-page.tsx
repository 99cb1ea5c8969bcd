import { memo, useEffect, useState, useSyncExternalStore } from 'react';
import type { TrackedToken } from '../../../src/client/index.ts';
import { countOf } from '../components/count.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { MoreButton } from '../components/first-rows.tsx';
import { Problem } from '../components/problem.tsx';
import { ClusterFilter, FilterField, Segments, suggestionsOf } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFields } from '../hooks/use-fields.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { CLUSTERPASS } from '../permissions/permissions.ts';
import { hrefOf } from '../router.ts';
import { listAllPasses } from './list-passes.ts';
import { accountOf, PassTable } from './pass-table.tsx';
import { RevokePanel } from './revoke-panel.tsx';
import { usePassList } from './use-pass-list.ts';

const NOTHING: ReadonlySet<string> = new Set();

const NO_QUESTION = { filterKey: '', passes: [] as readonly TrackedToken[] };

/** Tracked passes that have not expired: those of the user, or all of them for users who may list them. */
export const PassesPage = memo(function PassesPage({ query }: { readonly query: string }) {
  const { client, revocations, username, permissions, fleet } = useSession();
  const fields = useFields('passes', query);
  const listsAll = permissions.can('list', CLUSTERPASS, 'issuedtokens');
  const scope = listsAll && fields.get('scope') === 'all' ? 'all' : 'mine';
  const isRevoking = useSyncExternalStore(revocations.subscribe, () => revocations.run?.isRunning === true);
  const finished = useSyncExternalStore(revocations.subscribe, () => revocations.finished);
  const { generation } = useRefresh();
  const filter = {
    cluster: fields.get('cluster'),
    account: fields.get('account'),
    requester: scope === 'mine' ? username : fields.get('requester'),
  };
  const list = usePassList(client, filter, generation + finished);
  const [selected, setSelected] = useState(NOTHING);
  // The question whether to revoke passes is about the filter with which it was asked.
  const filterKey = JSON.stringify(filter);
  const [question, setQuestion] = useState(NO_QUESTION);
  const asked = question.filterKey === filterKey ? question.passes : [];
  const ask = (passes: readonly TrackedToken[]): void => setQuestion({ filterKey, passes });
  const { busy: isListing, problem, run } = useAction();
  const count = useFocusAfterChange<HTMLParagraphElement>(asked.length > 0);
  const chosen = list.passes.filter(({ metadata }) => selected.has(metadata.name));
  // Passes that were not revoked are selected for another attempt.
  // biome-ignore lint/correctness/useExhaustiveDependencies: finished says when there is another result
  useEffect(() => {
    const { failures = [], untried = [] } = revocations.run ?? {};
    const left = [...failures.map(({ pass }) => pass), ...untried];
    setSelected((old) => new Set([...old, ...left.map(({ metadata }) => metadata.name)]));
  }, [revocations, finished]);
  const revoke = (): void => {
    setQuestion(NO_QUESTION);
    void revocations.start(asked);
  };
  const total = list.passes.length + list.remaining;
  const isFiltered = filter.cluster !== '' || filter.account !== '' || fields.get('requester') !== '';
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Passes</h1>
        {listsAll && (
          <Segments
            legend="Whose passes"
            value={scope}
            options={{ mine: 'Mine', all: 'All' }}
            onChange={(value) => {
              setSelected(NOTHING);
              fields.set({ scope: value === 'all' ? 'all' : '', requester: '' });
            }}
          />
        )}
        <p className="muted">
          {scope === 'mine'
            ? 'Tracked passes that you requested and that are valid.'
            : 'All tracked passes that are valid.'}
        </p>
      </header>
      <search className="filter-row">
        <ClusterFilter fields={fields} />
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
      <ServerControls>
        {asked.length > 0 ? (
          <RevokePanel
            passes={asked}
            findCluster={(name) => fleet.find(name)?.cluster}
            onCancel={() => setQuestion(NO_QUESTION)}
            onRevoke={revoke}
          />
        ) : (
          <div className="list-actions">
            <p className="muted" role="status" ref={count} tabIndex={-1}>
              {list.status === 'loaded' && countText(list.passes.length, list.remaining, chosen.length)}
            </p>
            <div className="actions">
              {list.loadMore !== undefined && (
                <button
                  type="button"
                  className="button danger"
                  disabled={isRevoking || isListing}
                  onClick={() => run(async () => ask(await listAllPasses(client, filter)))}
                >
                  {isListing ? 'Loading…' : `Revoke all ${total.toLocaleString()} that match`}
                </button>
              )}
              <button
                type="button"
                className="button danger"
                disabled={chosen.length === 0 || isRevoking}
                onClick={() => ask(chosen)}
              >
                {chosen.length > 1 ? `Revoke ${chosen.length} passes` : 'Revoke'}
              </button>
            </div>
          </div>
        )}
      </ServerControls>
      <Problem text={list.problem || problem} />
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
          <PassTable passes={list.passes} selected={selected} onSelect={setSelected} />
          {list.loadMore !== undefined && (
            <ServerControls>
              <MoreButton count={total} onMore={list.loadMore} />
            </ServerControls>
          )}
        </div>
      )}
    </div>
  );
});

function countText(shown: number, remaining: number, chosen: number): string {
  const total = shown + remaining;
  const passes = countOf(total, 'pass', 'passes');
  const loaded = remaining > 0 ? `, ${shown.toLocaleString()} shown` : '';
  return `${passes}${loaded}${chosen > 0 ? `, ${chosen.toLocaleString()} selected` : ''}`;
}
