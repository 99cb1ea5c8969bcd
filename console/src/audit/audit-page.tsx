import { memo } from 'react';
import { Problem } from '../components/problem.tsx';
import { ClusterFilter, FilterField, suggestionsOf } from '../components/text-field.tsx';
import { Time } from '../components/time.tsx';
import { useFields } from '../hooks/use-fields.ts';
import { EventTable } from './event-table.tsx';
import { useEventFeed } from './use-event-feed.ts';

/** A field of the URL that is there if the box is not as it is by default. */
const CHECKS: readonly (readonly [field: string, text: string, isCheckedByDefault: boolean])[] = [
  ['reads', 'Also reads', false],
  ['failures', 'Only failures', false],
  ['paused', 'Follow', true],
];

/** The last events of a cluster, a person or a pass, as they happen. */
export const AuditPage = memo(function AuditPage({ query }: { readonly query: string }) {
  const fields = useFields('audit', query);
  const { feed, isLoaded, problem } = useEventFeed({
    filter: {
      cluster: fields.get('cluster'),
      user: fields.get('user'),
      credentialID: fields.get('pass').toLowerCase(),
      changesOnly: fields.get('reads') === '',
      failuresOnly: fields.get('failures') !== '',
    },
    isLive: fields.get('paused') === '',
  });
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Audit</h1>
        <p className="muted">
          {feed.isIncomplete
            ? `The newest ${feed.events.length} events that match`
            : 'The events in the memory of the server'}
          {!feed.isIncomplete && feed.since !== '' && (
            <>
              , which reaches back to <Time at={feed.since} />
            </>
          )}
          . Older ones are in the audit log.
        </p>
      </header>
      <search className="filter-row">
        <ClusterFilter fields={fields} />
        <FilterField
          label="User"
          placeholder="Whole name"
          value={fields.get('user')}
          suggestions={suggestionsOf(feed.events.map(({ user = '' }) => user))}
          onChange={(user) => fields.set({ user })}
        />
        <FilterField
          label="Pass"
          value={fields.get('pass')}
          placeholder="ID (claim jti)"
          onChange={(pass) => fields.set({ pass })}
        />
        {CHECKS.map(([field, text, byDefault]) => (
          <label key={field} className="check filter-check">
            <input
              type="checkbox"
              checked={(fields.get(field) !== '') !== byDefault}
              onChange={({ target }) => fields.set({ [field]: target.checked === byDefault ? '' : 'true' })}
            />
            <span>{text}</span>
          </label>
        ))}
      </search>
      <Problem text={problem} />
      {!isLoaded && <p className="muted">Loading…</p>}
      {isLoaded && feed.events.length === 0 && problem === '' && <p className="muted">No event matches yet.</p>}
      {feed.events.length > 0 && (
        <div className="card table-card">
          <EventTable events={feed.events} />
        </div>
      )}
    </div>
  );
});
