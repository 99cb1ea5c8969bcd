import { useEffect, useState } from 'react';
import type { AuditEventReview } from '../../../src/api/kinds/audit-event-review.ts';
import { reviewAuditEvents } from '../../../src/client/fleet-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';
import { addEvents, type EventFeed, NO_EVENTS } from './event-feed.ts';

export type EventFilter = Pick<
  NonNullable<AuditEventReview['spec']>,
  'cluster' | 'user' | 'credentialID' | 'changesOnly' | 'failuresOnly'
>;

const INTERVAL_MS = 3_000;
const LIMIT = 200;

export interface LiveFeed {
  readonly feed: EventFeed;
  readonly isLoaded: boolean;
  readonly problem: string;
}

/**
 * The last events that match, and new ones every few seconds while `isLive`; a failed request is repeated as often.
 * With `path`, asked below the path of that cluster, where a permission for it is enough.
 */
export function useEventFeed(client: Client, path: string | undefined, filter: EventFilter, isLive: boolean): LiveFeed {
  const key = JSON.stringify([path, filter]);
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
      if (repeats && !controller.signal.aborted) timer = setTimeout(() => void whenVisible(read), INTERVAL_MS);
    };
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, key, isLive]);
  return state.key === key ? state : { feed: NO_EVENTS, isLoaded: false, problem: '' };
}

function whenVisible(action: () => Promise<void>): void {
  if (document.visibilityState === 'visible') {
    void action();
    return;
  }
  document.addEventListener('visibilitychange', () => whenVisible(action), { once: true });
}
