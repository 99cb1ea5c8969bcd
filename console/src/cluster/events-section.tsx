import type { Client } from '../../../src/client/index.ts';
import { EventTable } from '../audit/event-table.tsx';
import { useEventFeed } from '../audit/use-event-feed.ts';
import { Section } from '../components/section.tsx';

const MAX_SHOWN = 10;

/** The last changes at this cluster, for users who may read its events. */
export function EventsSection({ client, name }: { client: Client; name: string }) {
  const { feed, isLoaded, problem } = useEventFeed(client, name, { changesOnly: true }, true);
  return (
    <Section title="Recent events">
      {problem !== '' && <p className="problem">{problem}</p>}
      {!isLoaded && <p className="muted">Loading…</p>}
      {isLoaded && feed.events.length === 0 && problem === '' && (
        <p className="muted">No change since the server started.</p>
      )}
      {feed.events.length > 0 && <EventTable events={feed.events.slice(0, MAX_SHOWN)} hasLinks={false} />}
    </Section>
  );
}
