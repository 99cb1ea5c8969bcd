import {
  clusterAskedAbout,
  namespaceAskedAbout,
  permissionAskedFor,
  type ResourceQuestion,
} from '../../api/authorization.ts';
import { toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { tokenRequestListType, USERPASS } from '../../api/kinds/token-request.ts';
import type { Query, Target, Verb } from '../../api/request.ts';
import { type ApiError, badRequest } from '../../api/status.ts';
import { hasControl, unescaped } from '../../lib/text.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { SelectorSyntaxError } from '../../objects/selectors/label-requirement.ts';

/** The methods that are served; the header checks refuse every other one. */
export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** kube-apiserver's RequestInfo: what a request line names. */
export type RequestInfo = ResourceInfo | PathInfo;

/** A verb on a resource. */
export interface ResourceInfo {
  readonly type: 'resource';
  readonly target: Target;
  /** What authz/ is asked. Selectors and namespaces can make it differ from the target, as in kube-apiserver. */
  readonly question: ResourceQuestion;
}

/** Every other path. */
export interface PathInfo {
  readonly type: 'path';
  /** The lower-case method (P-01). */
  readonly verb: string;
  /** From `/orchestrator/{cluster}`; undefined at the fleet. */
  readonly cluster: string | undefined;
  /** Decoded, without the cluster's prefix and without trailing slashes; `/` at least. */
  readonly path: string;
}

interface RequestLine {
  /** As sent, without the query. */
  readonly path: string;
  readonly query: Query;
  readonly info: RequestInfo;
}

/** Throws an ApiError. */
export type RequestLineParser = (method: Method, requestTarget: string) => RequestLine;

const REGISTRY_VERSION = 'v1alpha1';

/**
 * Parses request lines. Only this code interprets the raw path, and nothing decodes it a second time: a path that two
 * layers could read differently is rejected, not repaired. A line is parsed for every request: with 10,000 accounts
 * lines hardly repeat, and a cache of those that do saves less than one per cent of a request.
 */
export function createRequestLineParser({ productName }: { readonly productName: string }): RequestLineParser {
  return (method, requestTarget) => {
    const { path, search } = splitRequestTarget(requestTarget);
    const query = parseQuery(search);
    const segments = splitPath(path);
    const [first, second] = segments;
    const published = publishedInfo(segments, method, query);
    if (published !== undefined) return { path, query, info: published };
    const cluster = first === productName && second ? second : undefined;
    const start = cluster === undefined ? 0 : 2;
    const info = resourceIn(segments, start, cluster, method, query) ?? {
      type: 'path',
      verb: method.toLowerCase(),
      cluster,
      path: `/${segments.slice(start).join('/')}`,
    };
    return { path, query, info };
  };
}

/** `search` begins with its question mark, or is empty: URLSearchParams drops exactly one. */
function splitRequestTarget(requestTarget: string): { path: string; search: string } {
  // Only the origin-form (RFC 9112 section 3.2.1): a proxy's absolute-form names a second host.
  if (!requestTarget.startsWith('/')) throw badRequest('the request target must be a path that starts with "/"');
  if (/[^\x21-\x7e]/.test(requestTarget)) {
    throw badRequest('the request target must be printable ASCII; anything else has to be percent-encoded');
  }
  if (requestTarget.includes('#')) throw badRequest('the request target must not contain "#"');
  const mark = requestTarget.indexOf('?');
  return mark < 0
    ? { path: requestTarget, search: '' }
    : { path: requestTarget.slice(0, mark), search: requestTarget.slice(mark) };
}

/** The parameters that are read and have one value; `dryRun` may have several. */
const SINGLE_PARAMETERS: ReadonlySet<string> = new Set([
  'allowWatchBookmarks',
  'as',
  'continue',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'force',
  'gracePeriodSeconds',
  'hash',
  'includeObject',
  'labelSelector',
  'limit',
  'orphanDependents',
  'passesFor',
  'pretty',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeout',
  'timeoutSeconds',
  'watch',
]);

/**
 * Stricter than kube-apiserver (L-20), which takes the first of two values, drops a parameter with a broken escape, and
 * replaces what is not UTF-8: the request would be another one than the caller meant.
 */
function parseQuery(search: string): URLSearchParams {
  if (search.includes('%')) checkEscapes(search);
  const query = new URLSearchParams(search);
  if (query.size < 2) return query;
  const seen = new Set<string>();
  for (const name of query.keys()) {
    if (!SINGLE_PARAMETERS.has(name)) continue;
    if (seen.has(name)) throw badRequest(`the query parameter ${goQuote(name)} must be given once`);
    seen.add(name);
  }
  return query;
}

function checkEscapes(search: string): void {
  if (BROKEN_ESCAPE.test(search)) throw badRequest('the query contains an invalid percent-escape');
  if (unescaped(search) === undefined) throw badRequest('the query is not valid UTF-8 when decoded');
}

/** Characters that need no decoding. Nearly every path has no other. */
const PLAIN_PATH = /^[A-Za-z0-9/\-_.~!$&'()*+,;=:@]*$/;
const HOSTILE_ESCAPE = /%(?:2f|5c|2e|7f|[01][0-9a-f])/i;
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;

/** Segments between the slashes, decoded. Trailing slashes do not count, empty inner segments do. */
function splitPath(path: string): string[] {
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === 0x2f) end--;
  const segments = path.slice(1, end).split('/');
  if (!PLAIN_PATH.test(path)) decodeSegments(path, segments);
  if (path.includes('/.')) checkDotSegments(segments);
  return segments;
}

/** Encoded dots were refused before, so these were sent as plain dots. */
function checkDotSegments(segments: readonly string[]): void {
  for (const segment of segments) {
    if (segment === '.' || segment === '..') throw invalidName(segment, `may not be '${segment}'`);
  }
}

function decodeSegments(path: string, segments: string[]): void {
  if (path.includes('\\')) throw badRequest('the request path must not contain a backslash');
  if (BROKEN_ESCAPE.test(path)) throw badRequest('the request path contains an invalid percent-escape');
  const hostile = HOSTILE_ESCAPE.exec(path);
  if (hostile !== null) throw badRequest(`the request path must not contain the escape ${goQuote(hostile[0])}`);
  for (const [index, segment] of segments.entries()) {
    if (!segment.includes('%')) continue;
    const decoded = unescaped(segment);
    if (decoded === undefined) throw badRequest('the request path is not valid UTF-8 when decoded');
    if (hasControl(decoded)) throw badRequest('the request path must not contain control characters');
    // T-12m: another program that handles the name could decode it once more.
    if (decoded.includes('%')) throw invalidName(decoded, "may not contain '%'");
    segments[index] = decoded;
  }
}

const invalidName = (name: string, why: string): ApiError =>
  badRequest(`Name parameter invalid: ${goQuote(name)}: ${why}`);

const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/**
 * kube-apiserver's RequestInfo, except that only the name may be an empty segment: with an empty group,
 * `/apis//v1/...` would be a second spelling of `/api/v1/...`.
 */
function resourceIn(
  segments: readonly string[],
  start: number,
  cluster: string | undefined,
  method: Method,
  query: Query,
): ResourceInfo | undefined {
  const root = segments[start];
  const grouped = root === 'apis';
  if (!grouped && root !== 'api') return undefined;
  let at = start + (grouped ? 3 : 2);
  if (segments.length <= at) return undefined;
  const group = grouped ? (segments[start + 1] ?? '') : '';
  const version = segments[at - 1] ?? '';
  if (version === '' || (grouped && group === '')) return undefined;

  const watchByPath = segments[at] === 'watch' && segments.length > at + 1;
  if (watchByPath) at++;

  let namespace = '';
  if (segments[at] === 'namespaces' && segments.length > at + 1) {
    const name = segments[at + 1] ?? '';
    if (name === '') return undefined;
    const next = segments[at + 2];
    if (next !== undefined && !NAMESPACE_SUBRESOURCES.has(next)) {
      namespace = name;
      at += 2;
    }
  }
  const resource = segments[at] ?? '';
  if (resource === '') return undefined;
  const name = segments[at + 1] ?? '';
  // A deeper path becomes one subresource with slashes in it, which no rule grants and no route serves.
  const subresource = segments.length <= at + 3 ? (segments[at + 2] ?? '') : segments.slice(at + 2).join('/');
  const verb = watchByPath ? 'watch' : verbOf(method, name, query);
  return resourceInfo(
    { verb, cluster, group, version, resource, subresource, namespace, name, alwaysPublic: false },
    watchByPath ? '' : selectedName(verb, name, query),
  );
}

const PUBLIC_SUBRESOURCES: ReadonlySet<string> = new Set(['kubeconfig', 'accounts']);

/** `/auth/v1/passes`, `/auth/v1/clusters`, and `kubeconfig` and `accounts` below `/auth/v1/clusters/{name}/` */
function publishedInfo(segments: readonly string[], method: Method, query: Query): ResourceInfo | undefined {
  if (segments[0] !== 'auth' || segments[1] !== 'v1') return undefined;
  if (segments[2] === tokenRequestListType.resource && segments.length === 3) {
    return requestFor(tokenRequestListType, verbOf(method, '', query), { alwaysPublic: true });
  }
  if (segments[2] !== 'clusters') return undefined;
  const [, , , name = '', subresource = '', ...more] = segments;
  if (more.length > 0) return undefined;
  const isList = name === '' && subresource === '';
  if (!isList && (name === '' || !PUBLIC_SUBRESOURCES.has(subresource))) return undefined;
  const verb = verbOf(method, name, query);
  const { question, ...rest } = requestFor(
    { group: CLUSTER_GROUP, version: REGISTRY_VERSION, resource: 'clusters' },
    verb,
    { subresource, name, alwaysPublic: true },
    selectedName(verb, name, query),
  );
  // A caller who may get the entry of the cluster may read both.
  return { ...rest, question: { ...question, subresource: '' } };
}

function verbOf(method: Method, name: string, query: Query): Verb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    case 'GET':
    case 'HEAD':
      // `?watch=true` on an item is a plain get.
      if (name !== '') return 'get';
      return truthy(query.get('watch')) ? 'watch' : 'list';
  }
}

/** L-21: present is true, unless it says `0` or `false`. */
const truthy = (value: string | null): boolean => value !== null && value !== '0' && value.toLowerCase() !== 'false';

/** L-28: a list narrowed to one name is authorized as that name. */
const selectedName = (verb: Verb, name: string, query: Query): string =>
  name === '' && (verb === 'list' || verb === 'watch') ? nameBySelector(query) : '';

/**
 * The name in `fieldSelector=metadata.name=X`, or `""`. If the list options cannot be decoded there is no name (P-03):
 * the handler will refuse them, and until then the question is about the whole collection.
 */
function nameBySelector(query: Query): string {
  const selector = query.get('fieldSelector');
  if (selector === null || selector === '') return '';
  for (const key of ['limit', 'timeoutSeconds']) {
    const value = query.get(key);
    if (value !== null && toGoInt64(value) === undefined) return '';
  }
  const name = exactName(selector);
  const isPathSegment = name !== '.' && name !== '..' && !/[/%]/.test(name);
  return isPathSegment ? name : '';
}

/** The one name that a well-formed selector allows, else `""`. */
function exactName(selector: string): string {
  try {
    return parseFieldSelector(selector).exactValue('metadata.name') ?? '';
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return '';
    throw error;
  }
}

/**
 * What is asked of authz/ for a target, however the request named it. `selected`: the name that a field selector
 * requires, for a target without one.
 */
function resourceInfo(target: Target, selected: string): ResourceInfo {
  const { verb, group, resource, subresource } = target;
  const name = target.name === '' ? selected : target.name;
  return {
    type: 'resource',
    target,
    question: permissionAskedFor({
      verb,
      group,
      resource,
      subresource,
      namespace: namespaceAskedAbout(target),
      name,
      cluster: clusterAskedAbout({ group, resource, name }, target.cluster),
    }),
  };
}

/** A request that is named otherwise than by a path. What `named` leaves out is empty. */
export const requestFor = (
  { group, version, resource }: Pick<Target, 'group' | 'version' | 'resource'>,
  verb: Verb,
  named: Partial<Target> = {},
  selected = '',
): ResourceInfo =>
  resourceInfo(
    {
      ...{ verb, group, version, resource },
      ...{ cluster: undefined, subresource: '', namespace: '', name: '', alwaysPublic: false },
      ...named,
    },
    selected,
  );

const SERVICE_ACCOUNTS = { group: '', version: 'v1', resource: 'serviceaccounts' };
const CLUSTERS = { group: CLUSTER_GROUP, version: 'v1alpha1', resource: 'clusters' };

/** A TokenRequest that comes in another form than its path: as a token exchange, or as an item of a token list. */
export const tokenRequestInfo = (cluster: string, namespace: string, name: string): ResourceInfo =>
  requestFor(SERVICE_ACCOUNTS, 'create', { cluster, subresource: 'token', namespace, name });

/** The TokenRequest of a token for the caller. */
export const userpassInfo = (cluster: string): ResourceInfo =>
  requestFor(CLUSTERS, 'create', { subresource: USERPASS, name: cluster });
