import type { Target } from '../../api/request.ts';
import { ApiError, badRequest, notFound, pathNotFound, qualified } from '../../api/status.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import type { Method } from '../request/request-info.ts';
import type { ResourceRoute, ResourceRoutes } from './routes.ts';

/** What serves this verb of this resource. Throws what Kubernetes answers where nothing does. */
export function servedRoute(resources: ResourceRoutes, target: Target, method: Method): ResourceRoute {
  const route = resources.find(target);
  if (route === undefined) throw isFleetNamespace(target) ? namespaceOfFleet() : pathNotFound();
  if (route.verbs.size === 0) throw subresourceNotFound(route, target);
  if (!isServed(route, target, method)) throw verbNotAllowed(route, target);
  // T-12a: only an empty segment before a subresource gets here without a name.
  if (target.subresource !== '' && target.name === '') throw badRequest('name must be provided');
  return route;
}

/**
 * The roles of the fleet are in namespaces, and any name will do for one: the namespaces themselves live in clusters.
 * When kubectl does not find a role it asks for the role's namespace, and if that is a 404 too, it says so instead.
 */
const isFleetNamespace = ({ cluster, group, resource, name, subresource }: Target): boolean =>
  cluster === undefined && group === '' && resource === 'namespaces' && name !== '' && subresource === '';

const namespaceOfFleet = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'namespaces live inside clusters: ask below the path of one');

/** for custom resources. */
const subresourceNotFound = ({ style }: ResourceRoute, target: Target): ApiError =>
  style === 'custom' && target.name !== '' ? notFound(target, target.name) : pathNotFound();

function isServed({ style, verbs }: ResourceRoute, target: Target, method: Method): boolean {
  const { verb, name, subresource, alwaysPublic } = target;
  if (!verbs.has(verb)) return false;
  // built-in routes do not answer HEAD; a watch without a body is no watch.
  if (method === 'HEAD' && (style === 'builtin' || verb === 'watch')) return false;
  if (verb === 'watch') return method === 'GET';
  if (subresource !== '') return true;
  if (alwaysPublic) return verb === 'list';
  // Items are made in their collection, and changed by their name.
  const onItem = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete';
  return onItem === (name !== '');
}

/** */
function verbNotAllowed({ style }: ResourceRoute, { verb, group, resource }: Target): ApiError {
  if (style === 'builtin') return methodNotAllowed();
  const message = `${verb} is not supported on resources of kind "${qualified(group, resource)}"`;
  return new ApiError(405, 'MethodNotAllowed', message, {
    details: { ...(group === '' ? {} : { group }), kind: resource },
  });
}
