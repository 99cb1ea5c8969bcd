import { useMemo, useSyncExternalStore } from 'react';
import { eventsOf } from './browser-events.ts';

/** Whether the page matches a media query. */
export function useMedia(query: string): boolean {
  const subscribe = useMemo(() => eventsOf(matchMedia(query), 'change'), [query]);
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}

/** A phone, on which style sheets show each row of a table as a card. */
export const useNarrow = (): boolean => useMedia('(max-width: 760px)');
