import type { Catalog } from '../../api/catalog.ts';
import type { Accepted, ApiRequest, ApiResponse, Target } from '../../api/request.ts';
import { findResource, type Resource } from '../../handlers/dispatch.ts';
import { patchMediaTypes } from '../../handlers/write/patch.ts';
import type { ResourceRoute, ResourceRoutes } from './routes.ts';

const OFFERS: ReadonlySet<Accepted['as']> = new Set([
  'object',
  'table',
  'partial-object-metadata',
  'partial-object-metadata-list',
]);
/** N-07: a token or an answer can not be shown as a table, but its metadata alone can be asked for. */
const ANSWER_OFFERS: ReadonlySet<Accepted['as']> = new Set(['object', 'partial-object-metadata']);
const SUBRESOURCE_OFFERS: Readonly<Record<Resource['subresource'], ReadonlySet<Accepted['as']>>> = {
  '': OFFERS,
  status: OFFERS,
  token: ANSWER_OFFERS,
  kubeconfig: new Set(['object']),
  accounts: new Set(['object']),
};

/** What the handlers serve, as the pipeline asks for it. */
export function resourceRoutes(
  catalog: Catalog,
  handle: (request: ApiRequest, resource: Resource) => Promise<ApiResponse>,
): ResourceRoutes {
  return {
    find(target: Target): ResourceRoute | undefined {
      const resource = findResource(catalog, target);
      if (resource === undefined) return undefined;
      return {
        style: resource.subresource === 'token' ? 'builtin' : resource.kind.style,
        verbs: resource.verbs,
        offers: resource.virtual ? ANSWER_OFFERS : SUBRESOURCE_OFFERS[resource.subresource],
        patchTypes: patchMediaTypes(resource.kind.style),
        handle: (request) => handle(request, resource),
      };
    },
  };
}
