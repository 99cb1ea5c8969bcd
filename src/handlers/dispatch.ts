import { isDecidedByHandler, isTokenRequestList, READ_VERBS } from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import { type Kind, objectKeyOf, type VirtualType } from '../api/kind.ts';
import { JOIN_SUBRESOURCE } from '../api/kinds/bootstrap-token.ts';
import { tokenRequestListType, USERPASS } from '../api/kinds/token-request.ts';
import { PASSES, tokenReviewType } from '../api/kinds/token-review.ts';
import type { ApiRequest, ApiResponse, Target, Verb } from '../api/request.ts';
import type { SUBRESOURCES } from '../api/subresources.ts';
import { requireStoredCluster } from '../objects/parents.ts';
import { assertSupported } from '../objects/selectors/field-selector.ts';
import { supportedFields } from '../objects/stored-object.ts';
import { type GetParts, getObject } from './get.ts';
import { type ListParts, listObjects } from './list.ts';
import { type ListOptions, parseListOptions, requireSelector } from './options/list-options.ts';
import type { CreateReview } from './reviews/create-review.ts';
import { checkForm } from './views.ts';
import { type WatchParts, watchObjects } from './watch/watch.ts';
import { deleteCollection, deleteObject, deleteUnreadable } from './write/delete.ts';
import { patchObject } from './write/patch.ts';
import { createObject, updateObject } from './write/whole-object.ts';
import type { WriteParts } from './write/write-parts.ts';

interface HandlerParts extends GetParts, ListParts, WatchParts, WriteParts {
  readonly catalog: Catalog;
  readonly createReview: CreateReview;
  /** Handlers of kinds for which a verb does more than read or write the object. */
  readonly verbOverrides: VerbOverrides;
  /** By the subresource: those that are no part of their object. */
  readonly subresources: Readonly<Record<Exclude<Resource['subresource'], PartOfObject>, Handler>>;
  /** Writes of the subresource `approval`. */
  readonly decisions: ReadonlyMap<Kind, Handler>;
  /** `passes/token`, where `subresources` has the one of accounts. */
  readonly redeemPass: Handler;
}

type Handler = (request: ApiRequest) => Promise<ApiResponse>;
type PartOfObject = '' | 'status' | 'approval';

export type VerbOverrides = ReadonlyMap<Kind, Partial<Record<Verb, Handler>>>;

/** What is served at a path: the verbs, and the kind of the objects. */
export type Resource = StoredResource | VirtualResource | RedirectedResource;

interface StoredResource {
  readonly type: 'stored';
  readonly kind: Kind;
  /** Empty when the kind exists and this subresource of it does not. */
  readonly verbs: ReadonlySet<Verb>;
  readonly subresource: (typeof SUBRESOURCES)[number];
}

/** A kind that lives inside clusters, at the paths of the fleet: writes go to the cluster that the body names. */
export interface RedirectedResource extends Omit<StoredResource, 'type'> {
  readonly type: 'redirected';
}

interface VirtualResource {
  readonly type: 'virtual';
  readonly kind: VirtualType;
  readonly verbs: ReadonlySet<Verb>;
  readonly subresource: '';
}

type Verbs = ReadonlySet<Verb>;
const setOf = (...verbs: Verb[]): Verbs => new Set(verbs);
const NAMESPACE_VERBS = setOf('get', 'list', 'watch', 'create', 'update', 'patch', 'delete');
const OBJECT_VERBS = setOf(...NAMESPACE_VERBS, 'deletecollection');
const LIST_AND_WATCH = setOf('list', 'watch');
const STATUS_VERBS = setOf('get', 'update', 'patch');
const CREATE_ONLY = setOf('create');
const GET_ONLY = setOf('get');
/** Those with a body that can name the cluster. */
const REDIRECTED_VERBS = setOf('create', 'update', 'patch');
const NO_VERBS = setOf();

/** Routing and discovery both use this table. */
export function findResource(catalog: Catalog, target: Target): Resource | undefined {
  if (isTokenRequestList(target))
    return { type: 'virtual', kind: tokenRequestListType, verbs: CREATE_ONLY, subresource: '' };
  const { group, version, resource, subresource } = target;
  const kind = catalog.find({ group, version, resource, inCluster: target.cluster !== undefined });
  if (kind === undefined) return findVirtual(catalog, target) ?? findRedirected(catalog, target);
  const served = (verbs: Verbs, at: Resource['subresource'] = ''): StoredResource => ({
    type: 'stored',
    kind,
    verbs,
    subresource: at,
  });
  // Scope is part of the match: a path that was authorized for one scope never reaches an object of another.
  if (!kind.namespaced && target.namespace !== '') return undefined;
  if (target.alwaysPublic) {
    // Both need the permission to get the cluster.
    if (subresource === 'kubeconfig' || subresource === 'accounts') return served(GET_ONLY, subresource);
    return served(LIST_AND_WATCH);
  }
  if (kind.namespaced && target.namespace === '') {
    // across namespaces there is only list and watch.
    return target.name === '' ? served(LIST_AND_WATCH) : undefined;
  }
  if (subresource === 'token' && (kind === catalog.serviceAccounts || kind === catalog.passes)) {
    return served(CREATE_ONLY, subresource);
  }
  if (subresource === USERPASS && kind === catalog.clusters) return served(CREATE_ONLY, subresource);
  if (subresource === JOIN_SUBRESOURCE && kind === catalog.bootstrapTokens) return served(CREATE_ONLY, subresource);
  const { statusSubresource = 'status' } = kind;
  if (kind.hasStatus && subresource === statusSubresource) {
    return served(kind.projection === undefined ? STATUS_VERBS : GET_ONLY, statusSubresource);
  }
  if (subresource !== '') return served(NO_VERBS);
  return served(kind.verbs ?? (kind === catalog.namespaces ? NAMESPACE_VERBS : OBJECT_VERBS));
}

/** Virtual types have no items: only the collection has a path, and the review of passes. */
function findVirtual(catalog: Catalog, target: Target): VirtualResource | undefined {
  const isNamed = target.name !== '' && !isReviewOfPasses(target);
  if (isNamed || target.subresource !== '') return undefined;
  const kind = catalog.findVirtual(target);
  if (kind === undefined || kind.namespaced !== (target.namespace !== '')) return undefined;
  return { type: 'virtual', kind, verbs: CREATE_ONLY, subresource: '' };
}

function findRedirected(catalog: Catalog, target: Target): RedirectedResource | undefined {
  if (target.cluster !== undefined) return undefined;
  const kind = catalog.find({ ...target, inCluster: true });
  if (kind === undefined) return undefined;
  const isObjectPath = target.subresource === '' && kind.namespaced === (target.namespace !== '');
  return { type: 'redirected', kind, verbs: isObjectPath ? REDIRECTED_VERBS : NO_VERBS, subresource: '' };
}

export const isReviewOfPasses = ({ cluster, group, resource, name }: Target): boolean =>
  name === PASSES && cluster !== undefined && group === tokenReviewType.group && resource === tokenReviewType.resource;

/** One verb, one function. The request is authorized, and its path and verb exist. */
export function createDispatcher(
  parts: HandlerParts,
): (request: ApiRequest, resource: Resource) => Promise<ApiResponse> {
  return (request, resource) => {
    // The pipeline issues its tokens: each is a subrequest.
    if (resource.kind === tokenRequestListType) throw new Error('a list of passes has no handler');
    if (resource.type === 'virtual') return parts.createReview(request, resource.kind);
    // The routes answer it: a handler would write an object without a cluster.
    if (resource.type === 'redirected') throw new Error('a redirected resource has no handler');
    const { kind, subresource } = resource;
    if (!READ_VERBS.has(request.target.verb)) checkForm(request);
    if (subresource === 'approval' && request.target.verb !== 'get') return decide(parts, request, kind);
    if (subresource === '' || subresource === 'status' || subresource === 'approval') {
      return handleObject(parts, request, kind);
    }
    if (subresource === 'token' && kind === parts.catalog.passes) return parts.redeemPass(request);
    return parts.subresources[subresource](request);
  };
}

function decide({ decisions }: HandlerParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const handler = decisions.get(kind);
  if (handler === undefined) throw new Error(`${kind.resource} have no decisions`);
  return handler(request);
}

/** The object itself, or its part that a subresource names. An override also decides who reads that part. */
function handleObject(parts: HandlerParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  // Before the overrides: they decide by what is in the object.
  const isDeletion = request.target.verb === 'delete';
  if (isDeletion && parts.reader.findUnreadable(kind, objectKeyOf(request, kind)) !== undefined) {
    return deleteUnreadable(parts, request, kind);
  }
  const override = parts.verbOverrides.get(kind)?.[request.target.verb];
  if (override !== undefined) return override(request);
  if (request.target.verb === 'create') return createObject(parts, request, kind);
  // The pipeline has not authorized it, and the functions below do not.
  if (isDecidedByHandler(request.target)) throw new Error(`no handler authorizes this verb of ${kind.resource}`);
  switch (request.target.verb) {
    case 'get':
      return getObject(parts, request, kind);
    case 'list':
      return inStoredCluster(parts, request, kind, (options) => listObjects(parts, request, kind, options));
    case 'watch':
      return inStoredCluster(parts, request, kind, (options) => watchObjects(parts, request, kind, options));
    case 'update':
      return updateObject(parts, request, kind);
    case 'patch':
      return patchObject(parts, request, kind);
    case 'delete':
      return deleteObject(parts, request, kind);
    case 'deletecollection':
      return inStoredCluster(parts, request, kind, (options) => deleteCollection(parts, request, kind, options));
  }
}

/** An empty list would hide a misspelled cluster: an informer would be in sync with it. */
async function inStoredCluster(
  { catalog, reader }: HandlerParts,
  request: ApiRequest,
  kind: Kind,
  handle: (options: ListOptions) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const options = listOptions(request, kind);
  const { cluster } = request.target;
  if (!kind.inCluster || cluster === undefined) return handle(options);
  const stored = requireStoredCluster(catalog, reader, cluster);
  if (stored !== undefined) await stored;
  return handle(options);
}

/** L-22: syntax errors come before forbidden combinations, and both before fields that the kind does not offer. */
function listOptions(request: ApiRequest, kind: Kind): ListOptions {
  const options = parseListOptions(request.query);
  requireSelector(() => assertSupported(options.fieldSelector, supportedFields(kind)));
  return options;
}
