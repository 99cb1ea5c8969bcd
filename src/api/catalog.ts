import type { Kind, VirtualType } from './kind.ts';
import { accessRequestKind } from './kinds/access-request.ts';
import { auditEventReviewType } from './kinds/audit-event-review.ts';
import { bootstrapTokenKind } from './kinds/bootstrap-token.ts';
import { clusterKind } from './kinds/cluster.ts';
import type { EndpointChecks } from './kinds/cluster-endpoints.ts';
import { clusterProfileKinds, type InventorySettings } from './kinds/cluster-profile.ts';
import { connectorKind } from './kinds/connector.ts';
import { namespaceKind, podKind, secretKind, serviceAccountKind } from './kinds/core.ts';
import { fleetRoleBindingKind } from './kinds/fleet-role-binding.ts';
import { clusterGrantReviewType, resourceAccessReviewType, subjectReachReviewType } from './kinds/grant-reviews.ts';
import { issuedTokenKind, revokedTokenKind } from './kinds/issued-token.ts';
import { passKind } from './kinds/pass.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './kinds/rbac.ts';
import { localSubjectAccessReviewType, selfReviewTypes, subjectAccessReviewType } from './kinds/reviews.ts';
import { signingKeyKind } from './kinds/signing-key.ts';
import { tokenOrderKind } from './kinds/token-order.ts';
import { tokenReviewType } from './kinds/token-review.ts';
import type { Target } from './request.ts';

/** The table of kinds. Serving, storage, discovery and OpenAPI are driven by it. */
export type Catalog = ReturnType<typeof createCatalog>;

interface CatalogOptions {
  readonly productName: string;
  /** Validation of cluster endpoints. Default: the address rules without exceptions. */
  readonly endpointChecks?: EndpointChecks;
  /** Default: all clusters in the namespace `default`. */
  readonly inventory?: InventorySettings;
}

export function createCatalog({ productName, endpointChecks, inventory }: CatalogOptions) {
  const named = {
    clusters: clusterKind(productName, endpointChecks),
    namespaces: namespaceKind,
    serviceAccounts: serviceAccountKind,
    pods: podKind,
    secrets: secretKind,
    clusterRoles: clusterRoleKind,
    clusterRoleBindings: clusterRoleBindingKind,
    roles: roleKind,
    roleBindings: roleBindingKind,
    fleetRoleBindings: fleetRoleBindingKind,
    signingKeys: signingKeyKind,
    issuedTokens: issuedTokenKind,
    accessRequests: accessRequestKind,
    bootstrapTokens: bootstrapTokenKind,
    passes: passKind,
    connectors: connectorKind,
    tokenOrders: tokenOrderKind,
  };
  const kinds: readonly Kind[] = Object.values(named);
  const projections = clusterProfileKinds(named.clusters, productName, inventory);
  const pathKey = (group: string, version: string, resource: string, inCluster: boolean): string =>
    `${inCluster ? 'cluster' : 'fleet'} ${group}/${version}/${resource}`;
  const byPath = new Map(
    [...kinds, ...projections].map((kind) => [pathKey(kind.group, kind.version, kind.resource, kind.inCluster), kind]),
  );
  const byKind = new Map(kinds.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind]));
  const virtualTypes: readonly VirtualType[] = [
    ...selfReviewTypes,
    subjectAccessReviewType,
    localSubjectAccessReviewType,
    tokenReviewType,
    resourceAccessReviewType,
    subjectReachReviewType,
    clusterGrantReviewType,
    auditEventReviewType,
  ];
  const virtualByPath = new Map(virtualTypes.map((type) => [`${type.group}/${type.version}/${type.resource}`, type]));
  return {
    ...named,
    /** Not served. */
    revokedTokens: revokedTokenKind,
    kinds,
    /** The kinds that are stored: `kinds`, and those that are not served. */
    storedKinds: [...kinds, revokedTokenKind] as readonly Kind[],
    /** Kinds that are served and computed from stored ones. */
    projections: projections as readonly Kind[],
    /** Types that are served and never stored. */
    virtualTypes,
    /** The kind of a path; undefined when nothing is served there. */
    find: ({ group, version, resource, inCluster }: ServedPath & { readonly inCluster: boolean }) =>
      byPath.get(pathKey(group, version, resource, inCluster)),
    findVirtual: ({ group, version, resource }: ServedPath) => virtualByPath.get(`${group}/${version}/${resource}`),
    /** The kind of an object that can be stored, at the fleet or in a cluster. */
    findKind: (apiVersion: string, kind: string) =>
      byKind.get(`${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`} ${kind}`),
  } as const;
}

type ServedPath = Pick<Target, 'group' | 'version' | 'resource'>;
