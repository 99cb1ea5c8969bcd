import { hrefOf, linkTo, type Route } from './router.ts';

export interface NavigationEntry {
  readonly title: string;
  readonly href: string;
  /** The pages that are below this entry. */
  readonly pages: readonly Route['page'][];
}

/** The pages of the user. `fleetQuery` is the filter of the table of clusters. */
export const navigationFor = (fleetQuery: string): NavigationEntry[] => [
  { title: 'Clusters', href: hrefOf({ page: 'fleet', query: fleetQuery }), pages: ['fleet', 'cluster', 'register'] },
  // Everyone may list and revoke the passes that they requested.
  { title: 'Passes', href: linkTo('passes'), pages: ['passes'] },
  { title: 'Can I …?', href: hrefOf({ page: 'can-i', cluster: '', account: '' }), pages: ['can-i'] },
];
