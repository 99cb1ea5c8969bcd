import { createHash } from 'node:crypto';
import { apiVersionOf } from '../../api/kind.ts';
import { defined } from '../../lib/json.ts';
import type { ServedResource, ServedVersion } from './served-resources.ts';

/** The names of a resource beside its own, as far as it has some. */
const furtherNames = ({ shortNames, categories }: ServedResource['kind']): object =>
  defined({ shortNames, categories });

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
    ...furtherNames(kind),
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

/** one document per path, which every version of kubectl can read. */
export function legacyDocuments(versions: readonly ServedVersion[]): Map<string, object> {
  const documents = new Map<string, object>();
  const core = versions.filter(({ group }) => group === '');
  documents.set('/api', {
    kind: 'APIVersions',
    versions: core.map(({ version }) => version),
    // The client has found a working address already.
    serverAddressByClientCIDRs: [],
  });
  const groups = groupsOf(versions);
  documents.set('/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups });
  for (const group of groups) documents.set(`/apis/${group.name}`, { kind: 'APIGroup', apiVersion: 'v1', ...group });
  for (const served of versions) documents.set(pathOf(served), resourceList(served));
  return documents;
}

/** `/api/v1`, `/apis/G/V` */
export const pathOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

function groupsOf(versions: readonly ServedVersion[]) {
  const names = new Set(versions.map(({ group }) => group).filter((group) => group !== ''));
  return [...names].map((name) => {
    const own = versions.filter(({ group }) => group === name);
    const listed = own.map((served) => ({ groupVersion: apiVersionOf(served), version: served.version }));
    return { name, versions: listed, preferredVersion: listed[0] };
  });
}

const resourceList = (served: ServedVersion): object => ({
  kind: 'APIResourceList',
  // the list of the core group has no apiVersion.
  ...(served.group === '' ? {} : { apiVersion: 'v1' }),
  groupVersion: apiVersionOf(served),
  resources: served.resources.map((resource) => entryOf(resource)),
});

function entryOf({ kind, subresource, body, verbs }: ServedResource): object {
  const isForeign = body.group !== kind.group || body.version !== kind.version;
  const head = {
    name: subresource === '' ? kind.resource : `${kind.resource}/${subresource}`,
    singularName: subresource === '' ? kind.singular : '',
    namespaced: kind.namespaced,
    ...(isForeign ? { group: body.group, version: body.version } : {}),
    kind: body.kind,
    verbs,
  };
  if (subresource !== '') return head;
  return {
    ...head,
    ...furtherNames(kind),
    storageVersionHash: storageVersionHash(kind),
  };
}

/** */
const storageVersionHash = ({ group, version, kind }: ServedResource['body']): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
