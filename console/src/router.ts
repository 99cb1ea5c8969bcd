import { useSyncExternalStore } from 'react';

/** The current page. It is in the URL fragment, which is not sent to the server, and never contains a secret. */
export type Route =
  | { readonly page: 'fleet' }
  | { readonly page: 'cluster'; readonly name: string }
  /** `account` is `namespace/name`. `/` asks for a service account whose name the user still has to enter. */
  | { readonly page: 'can-i'; readonly cluster: string; readonly account: string };

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2);
  const [, first, second] = path.split('/');
  if (first === 'clusters' && second) return { page: 'cluster', name: decode(second) };
  if (first === 'can-i') {
    const query = new URLSearchParams(search);
    return { page: 'can-i', cluster: query.get('cluster') ?? '', account: query.get('account') ?? '' };
  }
  return { page: 'fleet' };
}

export function hrefOf(route: Route): string {
  if (route.page === 'cluster') return `#/clusters/${encodeURIComponent(route.name)}`;
  if (route.page === 'fleet') return '#/';
  const query = new URLSearchParams();
  if (route.cluster !== '') query.set('cluster', route.cluster);
  if (route.account !== '') query.set('account', route.account);
  return `#/can-i${query.size === 0 ? '' : `?${query}`}`;
}

/** A URL typed by hand can contain invalid percent-encoding. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const subscribe = (listener: () => void): (() => void) => {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
};

/** A string, because useSyncExternalStore compares snapshots with Object.is. */
export const useHash = (): string => useSyncExternalStore(subscribe, () => location.hash);
