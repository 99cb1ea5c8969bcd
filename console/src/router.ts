import { useSyncExternalStore } from 'react';
import { eventsOf } from './hooks/browser-events.ts';

/** Pages whose filters and fields are in the query of their URL. */
const QUERY_PAGES = ['overview', 'passes', 'access', 'requests', 'keys', 'audit', 'register', 'can-i'] as const;
export type QueryPage = (typeof QUERY_PAGES)[number];

/** The current page. It is in the URL fragment, which is not sent to the server, and never contains a secret. */
export type Route =
  /** The first page of those who have not asked for one. */
  | { readonly page: 'home' }
  /** `query` is the filter of the table. */
  | { readonly page: 'fleet'; readonly query: string }
  | { readonly page: 'cluster'; readonly name: string }
  /** A pass that was requested as a handle, or an access request, for its approval. */
  | { readonly page: 'pass' | 'request'; readonly name: string }
  | { readonly page: QueryPage; readonly query: string }
  | { readonly page: 'not-found'; readonly path: string };

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#/, '');
  const [path = ''] = text.split('?', 1);
  const search = text.slice(path.length + 1);
  if (text === '') return { page: 'home' };
  const [, first = '', second = '', ...more] = path.split('/');
  if (more.length === 0 && first === 'passes' && second !== '') return { page: 'pass', name: decode(second) };
  if (more.length === 0 && first === 'requests' && second !== '') return { page: 'request', name: decode(second) };
  if (more.length === 0 && first === 'clusters' && second !== '') return { page: 'cluster', name: decode(second) };
  if (second === '' && more.length === 0) {
    if (first === '' || first === 'clusters') return { page: 'fleet', query: normalized(search) };
    const page = QUERY_PAGES.find((each) => each === first);
    if (page !== undefined) return { page, query: normalized(search) };
  }
  return { page: 'not-found', path };
}

export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'fleet':
      return withQuery('#/', route.query);
    case 'cluster':
      return `#/clusters/${encodeURIComponent(route.name)}`;
    case 'pass':
      return `#/passes/${encodeURIComponent(route.name)}`;
    case 'request':
      return `#/requests/${encodeURIComponent(route.name)}`;
    case 'home':
      return '#';
    case 'not-found':
      return `#${route.path}`;
    default:
      return withQuery(`#/${route.page}`, route.query);
  }
}

/** A link to a page with fields filled in. Empty values are left out. */
export function linkTo(page: QueryPage, fields: Readonly<Record<string, string>> = {}): string {
  const filled = Object.entries(fields).filter(([, value]) => value !== '');
  return hrefOf({ page, query: new URLSearchParams(filled).toString() });
}

/** Changes the URL without an entry in the history. */
export function replaceUrl(href: string): void {
  history.replaceState(null, '', href);
  // Browsers send this event for links only.
  dispatchEvent(new HashChangeEvent('hashchange'));
}

const withQuery = (path: string, query: string): string => (query === '' ? path : `${path}?${query}`);

/** One text for equal queries: a browser and a person escape differently. */
const normalized = (search: string): string => new URLSearchParams(search).toString();

/** A URL typed by hand can contain invalid percent-encoding. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Called when a page renders: tests read the routes without a browser. */
const subscribe = (listener: () => void) => eventsOf(window, 'hashchange')(listener);

/** A string, because useSyncExternalStore compares snapshots with Object.is. */
export const useHash = (): string => useSyncExternalStore(subscribe, () => location.hash);
