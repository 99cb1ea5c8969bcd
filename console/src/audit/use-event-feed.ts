import { useEffect, useState } from 'react';
import type { AuditEventReview } from '../../../src/api/kinds/audit-event-review.ts';
import { reviewAuditEvents } from '../../../src/client/access-reviews.ts';
import { errorMessage } from '../error-message.ts';
import { useSession } from '../hooks/use-session.ts';
import { addEvents, type EventFeed, NO_EVENTS } from './event-feed.ts';

type EventFilter = Pick<
  NonNullable<AuditEventReview['spec']>,
  'cluster' | 'user' | 'credentialID' | 'changesOnly' | 'failuresOnly'
>;

const INTERVAL_MS = 3_000;
const LIMIT = 200;

interface LiveFeed {
  readonly feed: EventFeed;
  readonly isLoaded: boolean;
  readonly problem: string;
}

interface FeedOptions {
  readonly filter: EventFilter;
  /** The cluster whose API is asked, where a permission for it is enough. Default: the fleet's. */
  readonly atCluster?: string;
  /** Whether new events are read every few seconds. A failed request is repeated anyway. Default: true. */
  readonly isLive?: boolean;
}

/** The last events that match. */
export function useEventFeed({ filter, atCluster, isLive = true }: FeedOptions): LiveFeed {
  const { client } = useSession();
  const key = JSON.stringify([atCluster, filter]);
  const [state, setState] = useState({ key, feed: NO_EVENTS, isLoaded: false, problem: '' });
  useEffect(() => {
    const controller = new AbortController();
    const [cluster, spec] = JSON.parse(key) as [string | null, EventFilter];
    let feed = NO_EVENTS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      let repeats = isLive;
      try {
        const { instance, sequence: after } = feed;
        const position = instance === '' ? {} : { instance, after };
        const asked = { ...spec, limit: LIMIT, ...position };
        feed = addEvents(feed, await reviewAuditEvents(client, cluster ?? undefined, asked, controller.signal));
        if (!controller.signal.aborted) setState({ key, feed, isLoaded: true, problem: '' });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState({ key, feed, isLoaded: true, problem: errorMessage(error) });
        repeats = true;
      }
      // A hidden page asks nothing.
      if (repeats && !controller.signal.aborted)
        timer = setTimeout(() => whenVisible(read, controller.signal), INTERVAL_MS);
    };
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, key, isLive]);
  return state.key === key ? state : { feed: NO_EVENTS, isLoaded: false, problem: '' };
}

function whenVisible(action: () => Promise<void>, signal: AbortSignal): void {
  if (document.visibilityState === 'visible') {
    void action();
    return;
  }
  document.addEventListener('visibilitychange', () => whenVisible(action, signal), { once: true, signal });
}
