import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { actionOf, keyOf, passesOf, resultOf } from '../audit/event-feed.ts';
import { useEventFeed } from '../audit/use-event-feed.ts';
import { Section } from '../components/section.tsx';
import { Time } from '../components/time.tsx';

const MAX_SHOWN = 10;

/** The last changes at this cluster, for users who may read its events. */
export function EventsSection({ name }: { name: string }) {
  const { feed, isLoaded, problem } = useEventFeed({ atCluster: name, filter: { changesOnly: true } });
  return (
    <Section title="Recent events">
      {problem !== '' && <p className="problem">{problem}</p>}
      {!isLoaded && <p className="muted">Loading…</p>}
      {isLoaded && feed.events.length === 0 && problem === '' && (
        <p className="muted">
          No change in the memory of the server, which reaches back to <Time at={feed.since} />.
        </p>
      )}
      <ul className="event-list">
        {feed.events.slice(0, MAX_SHOWN).map((event) => (
          <EventItem key={keyOf(event)} event={event} />
        ))}
      </ul>
    </Section>
  );
}

function EventItem({ event }: { event: AuditEventSummary }) {
  const { user = '', impersonatedUser = '', code = 0, decision = '' } = event;
  return (
    <li>
      <div className="wrap-anywhere">
        <strong>{user === '' ? 'unknown' : visibleName(user)}</strong>
        {impersonatedUser !== '' && <span className="muted"> as {visibleName(impersonatedUser)}</span>}{' '}
        {actionOf(event)}
        <p className="muted hint">{decision || event.sourceIP}</p>
      </div>
      <div className="end">
        <span className={code >= 400 ? 'problem' : 'muted'}>{resultOf(event)}</span>
        <p className="muted hint">
          <Time at={event.time ?? ''} />
        </p>
        {passesOf(event).map(({ use, id }) => (
          <p key={use} className="muted hint" title={id}>
            {use} <span className="mono">{id.slice(0, 8)}</span>
          </p>
        ))}
      </div>
    </li>
  );
}
