import type { Catalog } from '../../api/catalog.ts';
import type { BodyType, ResourceType } from '../../api/kind.ts';
import { JOIN_SUBRESOURCE } from '../../api/kinds/bootstrap-token.ts';
import { issuesToken, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { Target, Verb } from '../../api/request.ts';
import { SUBRESOURCES } from '../../api/subresources.ts';
import { findResource, type Resource } from '../dispatch.ts';

/** The paths of the fleet, or those under the prefix of a cluster. */
export type Realm = 'fleet' | 'cluster';

/** A resource or subresource in discovery and OpenAPI. */
export interface ServedResource {
  /** Virtual types have no lists. */
  readonly kind: ResourceType & { readonly listKind?: string };
  readonly subresource: Resource['subresource'];
  /** The type of the bodies: the kind itself, a TokenRequest, or the Cluster that a bootstrap token registers. */
  readonly body: Pick<BodyType, 'group' | 'version' | 'kind' | 'schema'>;
  readonly verbs: readonly Verb[];
}

export interface ServedVersion {
  readonly group: string;
  readonly version: string;
  /** Sorted by name, each followed by its subresources. */
  readonly resources: readonly ServedResource[];
}

/** kube-apiserver's order of the verbs of custom resources. Those of built-in resources are sorted. */
const CUSTOM_ORDER: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];

/**
 * Uses the table of the router, so that discovery and routing cannot disagree. A group version is listed when this
 * realm serves a resource of it.
 */
export function servedVersions(catalog: Catalog, realm: Realm): ServedVersion[] {
  const versions = new Map<string, { group: string; version: string; resources: ServedResource[] }>();
  // At the fleet also the kinds inside clusters: writes are redirected to the cluster that the body names.
  const kinds = [...catalog.kinds, ...catalog.projections].filter(({ inCluster }) => inCluster || realm === 'fleet');
  const named = [...kinds, ...catalog.virtualTypes].sort((a, b) => (a.resource < b.resource ? -1 : 1));
  for (const kind of named) {
    const key = `${kind.group}/${kind.version}`;
    const entry = versions.get(key) ?? { group: kind.group, version: kind.version, resources: [] };
    versions.set(key, entry);
    for (const subresource of SUBRESOURCES) {
      const name = catalog.virtualTypes.some((type) => type === kind) ? '' : 'any';
      const found = findResource(catalog, targetOf(kind, realm, name, subresource));
      if (found === undefined || found.verbs.size === 0) continue;
      const body = bodyOf(catalog, kind, subresource);
      entry.resources.push({ kind, subresource, body, verbs: inOrder(kind, subresource, found.verbs) });
    }
  }
  return [...versions.values()];
}

function bodyOf(catalog: Catalog, kind: ResourceType, subresource: Resource['subresource']): ServedResource['body'] {
  if (issuesToken(subresource)) return tokenRequestType;
  return subresource === JOIN_SUBRESOURCE ? catalog.clusters : kind;
}

function inOrder({ style }: ResourceType, subresource: string, verbs: ReadonlySet<Verb>): Verb[] {
  const custom = style === 'custom' && subresource === '';
  return custom ? CUSTOM_ORDER.filter((verb) => verbs.has(verb)) : [...verbs].sort();
}

/** A path to any object of this kind. */
function targetOf(
  { group, version, resource, namespaced }: ResourceType,
  realm: Realm,
  name: string,
  subresource: string,
): Target {
  return {
    verb: 'get',
    cluster: realm === 'cluster' ? 'any' : undefined,
    group,
    version,
    resource,
    subresource,
    namespace: namespaced ? 'any' : '',
    name,
    alwaysPublic: false,
  };
}
