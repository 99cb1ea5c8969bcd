import { EventTable } from '../audit/event-table.tsx';
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
      {feed.events.length > 0 && <EventTable events={feed.events.slice(0, MAX_SHOWN)} />}
    </Section>
  );
}
