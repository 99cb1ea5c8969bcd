import { CLUSTERPASS, type Permissions, RBAC } from './permissions/permissions.ts';
import { hrefOf, linkTo, type Route } from './router.ts';

export interface NavigationEntry {
  readonly title: string;
  readonly href: string;
  /** The pages that are below this entry. */
  readonly pages: readonly Route['page'][];
}

/** The pages on which a rule allows the user something. `fleetQuery` is the filter of the table of clusters. */
export function navigationFor(permissions: Permissions, fleetQuery: string): NavigationEntry[] {
  return [
    { title: 'Clusters', href: hrefOf({ page: 'fleet', query: fleetQuery }), pages: ['fleet', 'cluster', 'register'] },
    // Everyone may list and revoke the passes that they requested.
    { title: 'Passes', href: linkTo('passes'), pages: ['passes'] },
    { title: 'Can I …?', href: hrefOf({ page: 'can-i', cluster: '', account: '' }), pages: ['can-i'] },
    // These come last: they appear when the rules are known, and no other entry moves then.
    ...(mayAskAboutAccess(permissions)
      ? [{ title: 'Access', href: linkTo('access'), pages: ['access'] as const }]
      : []),
  ];
}

const mayAskAboutAccess = ({ can }: Permissions): boolean =>
  can('create', CLUSTERPASS, 'resourceaccessreviews') ||
  can('create', CLUSTERPASS, 'subjectreachreviews') ||
  can('list', RBAC, 'clusterrolebindings') ||
  can('list', RBAC, 'rolebindings');
