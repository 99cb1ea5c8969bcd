import { useSyncExternalStore } from 'react';

/** Where the person is. It lives in the fragment: the server never hears of it, and there is never a secret in it. */
export type Route =
  | { readonly page: 'fleet' }
  | { readonly page: 'cluster'; readonly name: string }
  /** The account is `namespace/name`, and `/` when it is about some account that is yet to be named. */
  | { readonly page: 'why'; readonly cluster: string; readonly account: string };

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2);
  const [, first, second] = path.split('/');
  if (first === 'clusters' && second) return { page: 'cluster', name: decoded(second) };
  if (first === 'why') {
    const query = new URLSearchParams(search);
    return { page: 'why', cluster: query.get('cluster') ?? '', account: query.get('account') ?? '' };
  }
  return { page: 'fleet' };
}

export function hrefOf(route: Route): string {
  if (route.page === 'cluster') return `#/clusters/${encodeURIComponent(route.name)}`;
  if (route.page === 'fleet') return '#/';
  const query = new URLSearchParams();
  if (route.cluster !== '') query.set('cluster', route.cluster);
  if (route.account !== '') query.set('account', route.account);
  return `#/why${query.size === 0 ? '' : `?${query}`}`;
}

/** What somebody typed into the address bar need not be well-formed. */
function decoded(text: string): string {
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

/** As text, so that the same place is the same value. */
export const useHash = (): string => useSyncExternalStore(subscribe, () => location.hash);
