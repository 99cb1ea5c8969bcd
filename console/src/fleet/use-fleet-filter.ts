import { useEffect, useRef, useState } from 'react';
import { hrefOf, type Route, replaceUrl } from '../router.ts';
import { filterOf, queryOf } from './filter-query.ts';
import { type FleetFilter, NO_FILTER } from './fleet-filter.ts';

/** Browsers refuse more than about a hundred changes of the URL in half a minute. */
const WRITE_DELAY_MS = 300;

/**
 * The filter of the table, which survives visits to other pages. The URL of the fleet has it, too: a reload, a bookmark
 * and a link show the same rows.
 */
export function useFleetFilter(route: Route): [FleetFilter, (change: (filter: FleetFilter) => FleetFilter) => void] {
  const inUrl = route.page === 'fleet' ? route.query : undefined;
  const [filter, setFilter] = useState<FleetFilter>(() => (inUrl === undefined ? NO_FILTER : filterOf(inUrl)));
  const written = useRef(inUrl);
  useEffect(() => {
    // Back, forward, or a link.
    if (inUrl === undefined || inUrl === written.current) return;
    written.current = inUrl;
    setFilter(filterOf(inUrl));
  }, [inUrl]);
  const isShown = inUrl !== undefined;
  useEffect(() => {
    const query = queryOf(filter);
    if (!isShown || query === written.current) return undefined;
    const timer = setTimeout(() => {
      written.current = query;
      replaceUrl(hrefOf({ page: 'fleet', query }));
    }, WRITE_DELAY_MS);
    return () => clearTimeout(timer);
  }, [filter, isShown]);
  return [filter, setFilter];
}
