import type { ServedResource, ServedVersion } from './served-resources.ts';

/** aggregated discovery: `/api` for the core group and `/apis` for the others. */
export function aggregatedDocuments(versions: readonly ServedVersion[]): Map<string, object> {
  const isCore = ({ group }: ServedVersion): boolean => group === '';
  return new Map([
    ['/api', listOf(versions.filter(isCore))],
    ['/apis', listOf(versions.filter((served) => !isCore(served)))],
  ]);
}

function listOf(versions: readonly ServedVersion[]): object {
  const groups = Map.groupBy(versions, ({ group }) => group);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...groups].map(([group, own]) => ({
      metadata: group === '' ? {} : { name: group },
      versions: own.map(({ version, resources }) => ({
        version,
        resources: resources
          .filter(({ subresource }) => subresource === '')
          .map((resource) => resourceOf(resource, resources)),
        freshness: 'Current',
      })),
    })),
  };
}

function resourceOf({ kind, body, verbs }: ServedResource, all: readonly ServedResource[]): object {
  const subresources = all.filter((other) => other.kind === kind && other.subresource !== '');
  return {
    resource: kind.resource,
    responseKind: typeOf(body),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map((other) => ({
            subresource: other.subresource,
            responseKind: typeOf(other.body),
            verbs: other.verbs,
          })),
        }),
  };
}

const typeOf = ({ group, version, kind }: ServedResource['body']): object => ({ group, version, kind });
