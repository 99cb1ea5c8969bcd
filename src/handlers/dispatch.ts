import type { Catalog } from '../api/catalog.ts';
import type { Kind, VirtualType } from '../api/kind.ts';
import type { ApiRequest, ApiResponse, Target, Verb } from '../api/request.ts';
import { badRequest } from '../api/status.ts';
import { assertSupported } from '../objects/selectors/field-selector.ts';
import { SelectorSyntaxError } from '../objects/selectors/label-selector.ts';
import { supportedFields } from '../objects/stored-object.ts';
import { type GetParts, getObject } from './get.ts';
import { type ListParts, listObjects } from './list.ts';
import { type ListOptions, parseListOptions } from './options/list-options.ts';
import type { CreateReview } from './reviews/create-review.ts';
import { type WatchParts, watchObjects } from './watch/open-watch.ts';
import { createObject } from './write/create.ts';
import { deleteCollection, deleteObject } from './write/delete.ts';
import { patchObject } from './write/patch.ts';
import { updateObject } from './write/update.ts';
import type { WriteParts } from './write/write-parts.ts';

export interface HandlerParts extends GetParts, ListParts, WatchParts, WriteParts {
  readonly catalog: Catalog;
  readonly createToken: (request: ApiRequest) => Promise<ApiResponse>;
  readonly createReview: CreateReview;
  readonly getKubeconfig: (request: ApiRequest) => Promise<ApiResponse>;
  /** Where a verb of a kind means something else than writing the object. */
  readonly ownVerbs: OwnVerbs;
  readonly getUsableAccounts: (request: ApiRequest) => Promise<ApiResponse>;
}

export type OwnVerbs = ReadonlyMap<Kind, Partial<Record<Verb, (request: ApiRequest) => Promise<ApiResponse>>>>;

/** Every subresource there is, and '' for the object itself. */
export const SUBRESOURCES = ['', 'status', 'token', 'kubeconfig', 'accounts'] as const;

/** What is served at a path: which verbs, for objects of which kind. */
export type Resource = StoredResource | VirtualResource;

export interface StoredResource {
  readonly virtual: false;
  readonly kind: Kind;
  /** None when the kind exists and this subresource of it does not. */
  readonly verbs: ReadonlySet<Verb>;
  readonly subresource: (typeof SUBRESOURCES)[number];
}

export interface VirtualResource {
  readonly virtual: true;
  readonly kind: VirtualType;
  readonly verbs: ReadonlySet<Verb>;
  readonly subresource: '';
}

type Verbs = ReadonlySet<Verb>;
const OBJECT_VERBS: Verbs = new Set<Verb>([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);
const NAMESPACE_VERBS: Verbs = new Set([...OBJECT_VERBS].filter((verb) => verb !== 'deletecollection'));
const ACROSS_NAMESPACES_VERBS: Verbs = new Set<Verb>(['list', 'watch']);
const PUBLIC_LIST_VERBS: Verbs = new Set<Verb>(['list', 'watch']);
const STATUS_VERBS: Verbs = new Set<Verb>(['get', 'update', 'patch']);
const TOKEN_VERBS: Verbs = new Set<Verb>(['create']);
/** What a person needs to use a cluster: read with the right to get the cluster's own entry. */
const USE_VERBS: Verbs = new Set<Verb>(['get']);
const VIRTUAL_VERBS: Verbs = new Set<Verb>(['create']);
const NO_VERBS: Verbs = new Set();

/** The table behind routing and discovery. */
export function findResource(catalog: Catalog, target: Target): Resource | undefined {
  const { group, version, resource, subresource } = target;
  const kind = catalog.find({ group, version, resource, inCluster: target.cluster !== undefined });
  if (kind === undefined) return findVirtual(catalog, target);
  const served = (verbs: Verbs, at: Resource['subresource'] = ''): StoredResource => ({
    virtual: false,
    kind,
    verbs,
    subresource: at,
  });
  // Scope is part of the match: an object is never reachable by a path that was authorized for another scope.
  if (!kind.namespaced && target.namespace !== '') return undefined;
  if (target.alwaysPublic) {
    if (subresource === 'kubeconfig' || subresource === 'accounts') return served(USE_VERBS, subresource);
    return served(PUBLIC_LIST_VERBS);
  }
  if (kind.namespaced && target.namespace === '') {
    // without a namespace it can be listed and watched, nothing else.
    return target.name === '' ? served(ACROSS_NAMESPACES_VERBS) : undefined;
  }
  if (subresource === 'token' && kind === catalog.serviceAccounts) return served(TOKEN_VERBS, subresource);
  if (subresource === 'status' && kind.hasStatus) return served(STATUS_VERBS, subresource);
  if (subresource !== '') return served(NO_VERBS);
  return served(kind.verbs ?? (kind === catalog.namespaces ? NAMESPACE_VERBS : OBJECT_VERBS));
}

/** There are no items to name: only the collection has a path. */
function findVirtual(catalog: Catalog, target: Target): VirtualResource | undefined {
  if (target.namespace !== '' || target.name !== '' || target.subresource !== '') return undefined;
  const kind = catalog.findVirtual(target);
  return kind && { virtual: true, kind, verbs: VIRTUAL_VERBS, subresource: '' };
}

/** One verb, one function. The request is authorized, and its path and verb are known to exist. */
export function createDispatcher(
  parts: HandlerParts,
): (request: ApiRequest, resource: Resource) => Promise<ApiResponse> {
  return (request, resource) => {
    if (resource.virtual) return parts.createReview(request, resource.kind);
    const { kind, subresource } = resource;
    if (subresource === 'token') return parts.createToken(request);
    if (subresource === 'kubeconfig') return parts.getKubeconfig(request);
    const own = parts.ownVerbs.get(kind)?.[request.target.verb];
    if (own !== undefined) return own(request);
    if (subresource === 'accounts') return parts.getUsableAccounts(request);
    switch (request.target.verb) {
      case 'get':
        return getObject(parts, request, kind);
      case 'list':
        return listObjects(parts, request, kind, listOptions(request, kind));
      case 'watch':
        return watchObjects(parts, request, kind, listOptions(request, kind));
      case 'create':
        return createObject(parts, request, kind);
      case 'update':
        return updateObject(parts, request, kind);
      case 'patch':
        return patchObject(parts, request, kind);
      case 'delete':
        return deleteObject(parts, request, kind);
      case 'deletecollection':
        return deleteCollection(parts, request, kind, listOptions(request, kind));
    }
  };
}

/** L-22: what can not be read comes before what is not allowed, and both before fields that are not offered. */
function listOptions(request: ApiRequest, kind: Kind): ListOptions {
  const options = parseListOptions(request.query);
  try {
    assertSupported(options.fieldSelector, supportedFields(kind));
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw badRequest(error.message);
    throw error;
  }
  return options;
}
