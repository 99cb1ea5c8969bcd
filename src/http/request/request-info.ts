import { clusterAskedAbout, namespaceAskedAbout, type ResourceQuestion } from '../../api/authorization.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster.ts';
import type { Query, Target, Verb } from '../../api/request.ts';
import { type ApiError, badRequest } from '../../api/status.ts';
import { remembering } from '../../lib/remember.ts';
import { LineNotes } from './line-notes.ts';
import { nameBySelector, truthy } from './list-parameters.ts';
import { RequestQuery } from './query.ts';

/** Every method that can mean something here; all others are refused before anything else is looked at. */
export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a request line names: a resource with a verb, or some other path. */
export type RequestTarget = ResourceTarget | PathTarget;

export interface ResourceTarget {
  readonly type: 'resource';
  readonly target: Target;
  /** What authz/ is asked. Not always the target: selectors and namespaces bend it as in kube-apiserver. */
  readonly question: ResourceQuestion;
}

export interface PathTarget {
  readonly type: 'path';
  /** The lower-case method (P-01). */
  readonly verb: string;
  /** From `/orchestrator/{cluster}`; undefined at the fleet. */
  readonly cluster: string | undefined;
  /** Decoded, without the cluster's prefix and without trailing slashes; `/` at least. */
  readonly path: string;
}

export interface ParsedRequestLine {
  /** As asked, without the query. */
  readonly path: string;
  readonly query: Query;
  readonly names: RequestTarget;
  readonly notes: LineNotes;
}

export type TargetParser = (method: Method, requestTarget: string) => ParsedRequestLine;

const REGISTRY_VERSION = 'v1alpha1';

/** Request lines of which the meaning is remembered. */
const REMEMBERED = { texts: 1_000, length: 512 };
/** What the queries of those may ask for. In another parameter somebody may have put a token; and many are there only once. */
const REPEATED_PARAMETERS: ReadonlySet<string> = new Set(['labelSelector', 'fieldSelector', 'limit']);

/**
 * Parses request lines. The raw path is judged once, here, and nothing decodes it a second time: a path
 * that two layers could read differently is refused, not repaired. Throws an ApiError.
 */
export function createTargetParser({ productName }: { readonly productName: string }): TargetParser {
  const parse = (method: Method, requestTarget: string): ParsedRequestLine & { query: RequestQuery } => {
    const { path, search } = splitRequestTarget(requestTarget);
    const query = new RequestQuery(search);
    const segments = splitPath(path);
    const [first, second] = segments;
    const published = publicTarget(segments, method, query);
    if (published !== undefined) return { path, query, names: published, notes: new LineNotes() };
    const cluster = first === productName && second ? second : undefined;
    const start = cluster === undefined ? 0 : 2;
    const names = resourceIn(segments, start, cluster, method, query) ?? {
      type: 'path',
      verb: method.toLowerCase(),
      cluster,
      path: `/${segments.slice(start).join('/')}`,
    };
    return { path, query, names, notes: new LineNotes() };
  };
  // Those who ask for tokens, who list, and who keep an object up to date ask for the same again.
  const keep = ({ query }: { query: RequestQuery }): boolean => query.hasOnly(REPEATED_PARAMETERS);
  const remembered = (method: Method) => remembering((text) => parse(method, text), { ...REMEMBERED, keep });
  const parsers = {
    GET: remembered('GET'),
    POST: remembered('POST'),
    PUT: remembered('PUT'),
    PATCH: remembered('PATCH'),
  };
  return (method, requestTarget) =>
    method === 'HEAD' || method === 'DELETE' ? parse(method, requestTarget) : parsers[method](requestTarget);
}

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
    : { path: requestTarget.slice(0, mark), search: requestTarget.slice(mark + 1) };
}

/** Unreserved and harmless characters only: nearly every path, and it needs no decoding. */
const PLAIN_PATH = /^[A-Za-z0-9/\-_.~!$&'()*+,;=:@]*$/;
const HOSTILE_ESCAPE = /%(?:2f|5c|2e|7f|[01][0-9a-f])/i;
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Segments between the slashes, decoded. Trailing slashes do not count, empty inner segments do. */
function splitPath(path: string): string[] {
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === 0x2f) end--;
  const segments = path.slice(1, end).split('/');
  if (!PLAIN_PATH.test(path)) decodeSegments(path, segments);
  if (path.includes('/.')) refuseDotSegments(segments);
  return segments;
}

/** An encoded dot was refused before: what is one now was one on the wire. */
function refuseDotSegments(segments: readonly string[]): void {
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
    let decoded: string;
    try {
      decoded = decodeURIComponent(segment);
    } catch {
      throw badRequest('the request path is not valid UTF-8 when decoded');
    }
    if (CONTROL.test(decoded)) throw badRequest('the request path must not contain control characters');
    // What still looks escaped would be decoded by the next program that handles the name (T-12m).
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
  parts: readonly string[],
  start: number,
  cluster: string | undefined,
  method: Method,
  query: Query,
): ResourceTarget | undefined {
  const root = parts[start];
  const grouped = root === 'apis';
  if (!grouped && root !== 'api') return undefined;
  let at = start + (grouped ? 3 : 2);
  if (parts.length <= at) return undefined;
  const group = grouped ? (parts[start + 1] ?? '') : '';
  const version = parts[at - 1] ?? '';
  if (version === '' || (grouped && group === '')) return undefined;

  const watchByPath = parts[at] === 'watch' && parts.length > at + 1;
  if (watchByPath) at++;

  let namespace = '';
  if (parts[at] === 'namespaces' && parts.length > at + 1) {
    const name = parts[at + 1] ?? '';
    if (name === '') return undefined;
    const next = parts[at + 2];
    if (next !== undefined && !NAMESPACE_SUBRESOURCES.has(next)) {
      namespace = name;
      at += 2;
    }
  }
  const resource = parts[at] ?? '';
  if (resource === '') return undefined;
  const name = parts[at + 1] ?? '';
  // Deeper paths than we serve stay one odd subresource, which nobody is granted and nothing answers to.
  const subresource = parts.length <= at + 3 ? (parts[at + 2] ?? '') : parts.slice(at + 2).join('/');
  const verb = watchByPath ? 'watch' : verbOf(method, name, query);
  return named(
    { verb, cluster, group, version, resource, subresource, namespace, name, alwaysPublic: false },
    watchByPath ? '' : selectedName(verb, name, query),
  );
}

const PUBLIC_SUBRESOURCES: ReadonlySet<string> = new Set(['kubeconfig', 'accounts']);

/** `/auth/v1/clusters`, and `kubeconfig` and `accounts` below `/auth/v1/clusters/{name}/` */
function publicTarget(segments: readonly string[], method: Method, query: Query): ResourceTarget | undefined {
  if (segments[0] !== 'auth' || segments[1] !== 'v1' || segments[2] !== 'clusters') return undefined;
  const [, , , name = '', subresource = '', ...more] = segments;
  if (more.length > 0) return undefined;
  const isList = name === '' && subresource === '';
  if (!isList && (name === '' || !PUBLIC_SUBRESOURCES.has(subresource))) return undefined;
  const verb = verbOf(method, name, query);
  const target: Target = {
    verb,
    cluster: undefined,
    group: CLUSTER_GROUP,
    version: REGISTRY_VERSION,
    resource: 'clusters',
    subresource,
    namespace: '',
    name,
    alwaysPublic: true,
  };
  const { question, ...rest } = named(target, selectedName(verb, name, query));
  // Both are for those who may use the cluster: they take the right to get its entry.
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

/** L-28: a list narrowed to one name is authorized as that name. */
const selectedName = (verb: Verb, name: string, query: Query): string =>
  name === '' && (verb === 'list' || verb === 'watch') ? nameBySelector(query) : '';

function named(target: Target, selected: string): ResourceTarget {
  const { verb, group, resource, subresource } = target;
  const name = target.name === '' ? selected : target.name;
  return {
    type: 'resource',
    target,
    question: {
      verb,
      group,
      resource,
      subresource,
      namespace: namespaceAskedAbout(target),
      name,
      cluster: clusterAskedAbout({ group, resource, name }, target.cluster),
    },
  };
}
