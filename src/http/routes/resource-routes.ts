import { isTokenRequestList, READ_VERBS } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { decodeBody } from '../../api/codec/decode.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { parseYaml } from '../../api/codec/parse-yaml.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { decodeUtf8 } from '../../api/codec/utf8.ts';
import { YamlSyntaxError } from '../../api/codec/yaml-tokens.ts';
import { IN_CLUSTER_ANNOTATION } from '../../api/domain-keys.ts';
import type { Kind, ObjectMeta } from '../../api/kind.ts';
import { issuesToken } from '../../api/kinds/token-request.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import {
  type Accepted,
  type ApiRequest,
  type ApiResponse,
  type RequestBody,
  type SentBody,
  sentBody,
  type Target,
} from '../../api/request.ts';
import { validateDomainKeys } from '../../api/reserved-keys.ts';
import {
  ApiError,
  badRequest,
  detailsOf,
  invalid,
  invalidValue,
  notFound,
  pathNotFound,
  qualified,
} from '../../api/status.ts';
import { findResource, isReviewOfPasses, type RedirectedResource, type Resource } from '../../handlers/dispatch.ts';
import { patchMediaTypes } from '../../handlers/write/patch.ts';
import { asJsonObject } from '../../lib/json.ts';
import { methodNotAllowed } from '../request/header-checks.ts';
import type { Method } from '../request/request-info.ts';
import { type RawAnswer, textAnswer } from '../response/respond.ts';
import type { ResourceRoute, ResourceRoutes } from './routes.ts';

const OFFERS: ReadonlySet<Accepted['as']> = new Set([
  'object',
  'table',
  'partial-object-metadata',
  'partial-object-metadata-list',
]);
/** N-07: a token or a review has no table, but a client may ask for its metadata alone. */
const ANSWER_OFFERS: ReadonlySet<Accepted['as']> = new Set(['object', 'partial-object-metadata']);
const ONE_FORM: ReadonlySet<Accepted['as']> = new Set(['object']);

function offersOf({ type, subresource }: Resource): ReadonlySet<Accepted['as']> {
  if (subresource === 'kubeconfig' || subresource === 'accounts') return ONE_FORM;
  return type === 'virtual' || issuesToken(subresource) ? ANSWER_OFFERS : OFFERS;
}

/** The resources of the catalog, with their handlers, as routes of the pipeline. */
export function resourceRoutes(
  catalog: Catalog,
  productName: string,
  handle: (request: ApiRequest, resource: Resource) => Promise<ApiResponse>,
): ResourceRoutes {
  return (target) => {
    const resource = findResource(catalog, target);
    if (resource === undefined) return undefined;
    if (resource.type === 'redirected') return redirectRoute(resource, productName);
    return {
      style: issuesToken(resource.subresource) ? 'builtin' : resource.kind.style,
      verbs: resource.verbs,
      offers: offersOf(resource),
      patchTypes: patchMediaTypes(resource.kind.style),
      handle: (request) => handle(request, resource),
    };
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
  const route = resources(target);
  if (route === undefined) throw pathNotFound();
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

/**
 * Objects inside clusters, at the paths of the fleet (ADR 29). A write whose body names the cluster is redirected to
 * the path of that cluster. Nothing is read or written here, so no permission is needed here.
 */
function redirectToCluster(request: ApiRequest, kind: Kind, productName: string): RawAnswer {
  const { body, path, query } = request;
  const cluster = clusterIn(body === undefined ? {} : metadataOf(body, kind), kind, productName);
  // Relative: in front of the server may be a proxy that removes a prefix of the path.
  const up = '../'.repeat(path.split('/').length - 2);
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const location = `${up}${encodeURIComponent(productName)}/${encodeURIComponent(cluster)}${path}${search}`;
  return textAnswer(307, `this ${kind.kind} is in the cluster ${cluster}\n`, { Location: location });
}

/** The answer to what cannot be redirected: the cluster is in the body of a write, and nowhere else. */
const livesInCluster = (resource: string, productName: string): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    `${resource} live inside clusters: send this request below the path of one, /${productName}/CLUSTER ` +
      `(kubectl --server URL/${productName}/CLUSTER, or clusterpass kubectl --cluster CLUSTER). Here, objects with the ` +
      `annotation ${IN_CLUSTER_ANNOTATION} can be written by kubectl apply --server-side, create and replace; ` +
      'clusterpass kubectl also does diff, get and delete of files',
  );

function clusterIn(metadata: ObjectMeta, kind: Kind, productName: string): string {
  const { name = '' } = metadata;
  const cluster = metadata.annotations?.[IN_CLUSTER_ANNOTATION];
  if (cluster === undefined) {
    // A misspelled key is named, with the key that was meant.
    const misspelled = validateDomainKeys(kind.kind, metadata);
    if (misspelled.length > 0) throw invalid(kind, name, misspelled);
    throw badRequest(
      `a ${kind.kind} lives inside a cluster: name it in the annotation ${IN_CLUSTER_ANNOTATION}, or send this request ` +
        `below the path of the cluster, /${productName}/CLUSTER (kubectl --server URL/${productName}/CLUSTER)`,
    );
  }
  const problems = isDns1123Subdomain(cluster);
  if (problems.length === 0) return cluster;
  const field = `metadata.annotations[${IN_CLUSTER_ANNOTATION}]`;
  throw invalid(
    kind,
    name,
    problems.map((why) => invalidValue(field, cluster, why)),
  );
}

/** Only what is needed to find the cluster; its path checks the body. */
function metadataOf(body: RequestBody, kind: Kind): ObjectMeta {
  const sent = sentBody(body);
  if (!sent.mediaType.includes('-patch+')) return decodeBody(sent, kind, 'Ignore').value.metadata;
  const patch = parsePatch(sent);
  const { name, annotations } = asJsonObject(asJsonObject(patch).metadata);
  const pairs = Object.entries(asJsonObject(annotations)).filter(([, value]) => typeof value === 'string');
  return {
    ...(typeof name === 'string' ? { name } : {}),
    annotations: Object.fromEntries(pairs) as Record<string, string>,
  };
}

function parsePatch({ bytes, mediaType }: SentBody): unknown {
  try {
    if (!mediaType.endsWith('+yaml')) return toPlain(parseJson(bytes));
    return toPlain(parseYaml(decodeUtf8(bytes)).root);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof YamlSyntaxError) {
      throw badRequest(`error decoding patch: ${error.message}`);
    }
    throw error;
  }
}
