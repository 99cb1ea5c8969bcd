import { isTokenRequestList, READ_VERBS } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { issuesToken } from '../../api/kinds/token-request.ts';
import type { Accepted, ApiRequest, ApiResponse, Target } from '../../api/request.ts';
import { ApiError, badRequest, detailsOf, notFound, pathNotFound, qualified } from '../../api/status.ts';
import { findResource, isReviewOfPasses, type RedirectedResource, type Resource } from '../../handlers/dispatch.ts';
import { patchMediaTypes } from '../../handlers/write/patch.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import type { Method } from '../request/request-info.ts';
import { livesAtFleet, livesInCluster, redirectToCluster } from './cluster-redirect.ts';
import type { ResourceRoute, ResourceRoutes } from './routes.ts';

const OFFERS: ReadonlySet<Accepted['as']> = new Set([
  'object',
  'table',
  'partial-object-metadata',
  'partial-object-metadata-list',
]);
/** N-07: a token or a review has no table, but a client may ask for its metadata alone. */
const ANSWER_OFFERS: ReadonlySet<Accepted['as']> = new Set(['object', 'partial-object-metadata']);
const SUBRESOURCE_OFFERS: Readonly<Record<Resource['subresource'], ReadonlySet<Accepted['as']>>> = {
  '': OFFERS,
  status: OFFERS,
  approval: OFFERS,
  token: ANSWER_OFFERS,
  userpass: ANSWER_OFFERS,
  kubeconfig: new Set(['object']),
  accounts: new Set(['object']),
  cluster: OFFERS,
};

/** The resources of the catalog, with their handlers, as routes of the pipeline. */
export function resourceRoutes(
  catalog: Catalog,
  productName: string,
  handle: (request: ApiRequest, resource: Resource) => Promise<ApiResponse>,
): ResourceRoutes {
  return {
    find(target: Target): ResourceRoute | undefined {
      const resource = findResource(catalog, target);
      if (resource === undefined) return undefined;
      if (resource.type === 'redirected') return redirectRoute(resource, productName);
      return {
        style: issuesToken(resource.subresource) ? 'builtin' : resource.kind.style,
        verbs: resource.verbs,
        offers: resource.type === 'virtual' ? ANSWER_OFFERS : SUBRESOURCE_OFFERS[resource.subresource],
        patchTypes: patchMediaTypes(resource.kind.style),
        handle: (request) => handle(request, resource),
      };
    },
    absence(target: Target): ApiError | undefined {
      const { cluster, verb, group, resource } = target;
      if (cluster === undefined || verb !== 'create' || group !== RBAC_GROUP) return undefined;
      const atFleet = findResource(catalog, { ...target, cluster: undefined });
      return atFleet?.type === 'stored' ? livesAtFleet(resource, productName) : undefined;
    },
  };
}

const redirectRoute = ({ kind, verbs }: RedirectedResource, productName: string): ResourceRoute => ({
  style: kind.style,
  verbs,
  offers: OFFERS,
  patchTypes: patchMediaTypes(kind.style),
  // Also the answer to kubectl when it does not find a role at the fleet and asks for its namespace: with a 404 it
  // would report the namespace as missing.
  redirects: { refusal: livesInCluster(kind.resource, productName) },
  handle: (request) => redirectToCluster(request, kind, productName),
});

/** The route that serves this verb of this resource. Throws what Kubernetes answers where there is none. */
export function servedRoute(resources: ResourceRoutes, target: Target, method: Method): ResourceRoute {
  const route = resources.find(target);
  if (route === undefined) throw resources.absence?.(target) ?? pathNotFound();
  if (route.redirects !== undefined && !isServed(route, target, method)) throw route.redirects.refusal;
  if (route.verbs.size === 0) throw subresourceNotFound(route, target);
  if (isUnnamed(route, target)) throw badRequest('name must be provided');
  if (!isServed(route, target, method)) throw verbNotAllowed(route, target);
  return route;
}

/** T-12a: an empty segment before a subresource. AP-09: a change of a custom resource at its collection. */
function isUnnamed({ style, verbs }: ResourceRoute, { verb, name, subresource, alwaysPublic }: Target): boolean {
  if (name !== '' || !verbs.has(verb)) return false;
  const changesObject = verb === 'update' || verb === 'patch';
  return subresource !== '' || (changesObject && style === 'custom' && !alwaysPublic);
}

/** for custom resources. */
const subresourceNotFound = ({ style }: ResourceRoute, target: Target): ApiError =>
  style === 'custom' && target.name !== '' ? notFound(target, target.name) : pathNotFound();

function isServed({ style, verbs }: ResourceRoute, target: Target, method: Method): boolean {
  const { verb, name, subresource, alwaysPublic } = target;
  if (!verbs.has(verb)) return false;
  // built-in routes do not answer HEAD, and a watch is its body.
  if (method === 'HEAD' && (style === 'builtin' || verb === 'watch')) return false;
  if (verb === 'watch') return method === 'GET';
  if (subresource !== '') return true;
  if (alwaysPublic) return verb === 'list' || isTokenRequestList(target);
  if (isReviewOfPasses(target)) return true;
  // An item is created in its collection, and read and changed by its name.
  const onItem = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete';
  return onItem === (name !== '');
}

/** CP-60: what can only be read says so in `Allow`. */
function verbNotAllowed({ style, verbs }: ResourceRoute, { verb, group, resource }: Target): ApiError {
  if (style === 'builtin') return methodNotAllowed();
  const message = `${verb} is not supported on resources of kind "${qualified(group, resource)}"`;
  return new ApiError(405, 'MethodNotAllowed', message, {
    details: detailsOf('', group, resource),
    allow: verbs.isSubsetOf(READ_VERBS) ? 'GET' : undefined,
  });
}
