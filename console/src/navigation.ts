import { OVERVIEW_PATH } from '../../src/api/overview.ts';
import { CLUSTERPASS, type Permissions, RBAC } from './permissions/permissions.ts';
import { hrefOf, linkTo, type QueryPage, type Route } from './router.ts';

export interface NavigationEntry {
  readonly title: string;
  readonly href: string;
  /** The pages that are below this entry. */
  readonly pages: readonly Route['page'][];
}

interface RestrictedEntry {
  readonly title: string;
  readonly pages: readonly [QueryPage, ...Route['page'][]];
  readonly isShown: (permissions: Permissions, hasRequests: boolean) => boolean;
}

export interface Visible {
  readonly permissions: Permissions;
  /** The user sees access requests: own ones, or those that the user may decide in some clusters. */
  readonly hasRequests: boolean;
}

/** They come last: they appear when the rules are known, and no other entry moves then. */
const RESTRICTED: readonly RestrictedEntry[] = [
  {
    title: 'Overview',
    pages: ['overview'],
    isShown: ({ canGetPath }) => canGetPath(OVERVIEW_PATH),
  },
  {
    title: 'Requests',
    pages: ['requests', 'request'],
    isShown: ({ can }, hasRequests) =>
      hasRequests || can('create', CLUSTERPASS, 'accessrequests') || can('approve', CLUSTERPASS, 'accessrequests'),
  },
  {
    title: 'Access',
    pages: ['access'],
    isShown: ({ can }) =>
      can('create', CLUSTERPASS, 'resourceaccessreviews') ||
      can('create', CLUSTERPASS, 'subjectreachreviews') ||
      can('list', CLUSTERPASS, 'fleetrolebindings') ||
      can('list', RBAC, 'clusterrolebindings') ||
      can('list', RBAC, 'rolebindings'),
  },
  {
    title: 'Keys',
    pages: ['keys'],
    isShown: ({ can, canGetPath }) => can('list', CLUSTERPASS, 'signingkeys') || canGetPath('/metrics'),
  },
  {
    title: 'Audit',
    pages: ['audit'],
    isShown: ({ can }) => can('create', CLUSTERPASS, 'auditeventreviews'),
  },
];

/** The pages on which a rule allows the user something. `fleetQuery` is the filter of the table of clusters. */
export const navigationFor = ({ permissions, hasRequests }: Visible, fleetQuery: string): NavigationEntry[] => [
  { title: 'Clusters', href: hrefOf({ page: 'fleet', query: fleetQuery }), pages: ['fleet', 'cluster', 'register'] },
  // Everyone may list and revoke the passes that they requested.
  { title: 'Passes', href: linkTo('passes'), pages: ['passes', 'pass'] },
  { title: 'Can I …?', href: linkTo('can-i'), pages: ['can-i'] },
  ...RESTRICTED.flatMap(({ title, pages, isShown }) =>
    isShown(permissions, hasRequests) ? [{ title, href: linkTo(pages[0]), pages }] : [],
  ),
];
