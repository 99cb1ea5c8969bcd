import { type Authorizer, isFilteredList } from '../api/authorization.ts';
import type { Caller } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { collectionPrefix, type Kind, storedKindOf } from '../api/kind.ts';
import { PASS_APPROVAL_LABEL } from '../api/kinds/pass-spec.ts';
import type { ApiRequest, Query, Target } from '../api/request.ts';
import { ApiError, badRequest } from '../api/status.ts';
import { type ClusterVisibility, NONE_VISIBLE, type TimeSpan, type VisibilityRule } from '../api/visibility.ts';
import type { ListOptions } from './options/list-options.ts';
import type { IncludeObject, Representation } from './representation.ts';
import { allOrRequested, visibleRequests } from './requester.ts';
import type { Selection } from './selection.ts';

/** Decides for get, list and watch which objects of a kind a caller sees, and how much of each. */
export interface Views {
  /** Whether everyone may list this kind, and sees only some of its objects. */
  isFiltered(kind: Kind): boolean;
  /** Which objects; undefined for kinds that are allowed or not as a whole. */
  rule(kind: Kind, caller: Caller, verb: 'list' | 'watch'): VisibilityRule | undefined;
  /** How much of each object at this path: see `Representation.whole`. */
  whole(kind: Kind, caller: Caller, path: Pick<Target, 'alwaysPublic'>): VisibilityRule | undefined;
  /** The revision of the last change that may have changed what the caller sees; see `ClusterVisibility`. */
  changedAt(kind: Kind, caller: Caller): number;
  spanOf(caller: Caller): TimeSpan;
  /** Epoch milliseconds: tables show ages. */
  now(): number;
}

export function createViews(
  catalog: Catalog,
  visibility: ClusterVisibility & Pick<Authorizer, 'decide'>,
  /** The revision of the last change of a cluster's labels, which decide about approvals by label. */
  labelsChangedAt: () => number,
  now = Date.now,
): Views {
  const { clusters, issuedTokens, accessRequests, passes } = catalog;
  const needsReview = (labels: Readonly<Record<string, string>> | undefined): boolean =>
    labels?.[PASS_APPROVAL_LABEL] === 'review';
  const rule: Views['rule'] = (kind, caller, verb) => {
    if (storedKindOf(kind) === clusters) return visibility.ruleFor(caller, verb);
    if (kind === accessRequests) return visibleRequests(kind, visibility, caller, verb);
    if (kind === passes) return visibleRequests(kind, visibility, caller, verb, needsReview);
    return kind === issuedTokens ? allOrRequested(kind, visibility, caller, verb) : undefined;
  };
  const isApprovable = (kind: Kind): boolean => kind === accessRequests || kind === passes;
  const isFiltered = (kind: Kind): boolean =>
    storedKindOf(kind) === clusters || kind === issuedTokens || isApprovable(kind);
  const changedAt = (kind: Kind, caller: Caller): number => {
    const revision = visibility.changedAt(caller);
    const followsLabels = isApprovable(kind) && rule(kind, caller, 'list')?.changesWith !== undefined;
    return followsLabels ? Math.max(revision, labelsChangedAt()) : revision;
  };
  return {
    isFiltered,
    rule,
    whole: (kind, caller, { alwaysPublic }) => {
      if (kind !== clusters) return undefined;
      return alwaysPublic ? NONE_VISIBLE : visibility.ruleFor(caller, 'update');
    },
    changedAt,
    spanOf: (caller) => visibility.spanOf(caller),
    now,
  };
}

/**
 * The rule for a list of a past state: it must allow the caller to see a cluster as it was and as it is. A cluster that
 * was deleted since is judged by its past state only.
 */
export function inBothStates(
  rule: VisibilityRule | undefined,
  present: (name: string) => { readonly labels: Readonly<Record<string, string>> | undefined } | undefined,
): VisibilityRule | undefined {
  if (rule === undefined || rule.none || rule.all) return rule;
  return {
    fingerprint: `${rule.fingerprint} in both states`,
    all: false,
    none: false,
    candidates: rule.candidates,
    admits: (name, labels) => {
      if (!rule.admits(name, labels)) return false;
      const entry = present(name);
      return entry === undefined || rule.admits(name, entry.labels);
    },
  };
}

export function selectionFor(request: ApiRequest, kind: Kind, options: ListOptions, views: Views): Selection {
  const { cluster = '', namespace, verb } = request.target;
  const rule = views.rule(kind, request.caller, verb === 'watch' ? 'watch' : 'list');
  // The pipeline has not authorized it, and without a rule all objects would be shown.
  if (rule === undefined && isFilteredList(request.target)) throw new Error(`no rule filters ${kind.resource}`);
  return {
    prefix: collectionPrefix(kind, kind.inCluster ? cluster : '', namespace),
    namesAreUnique: !kind.namespaced || namespace !== '',
    labels: options.labelSelector,
    fields: options.fieldSelector,
    rule,
    now: kind.expiresAt === undefined ? undefined : views.now,
  };
}

export function representationFor(request: ApiRequest, kind: Kind, views: Views): Representation {
  const { as } = request.accept;
  const form = as === 'partial-object-metadata-list' ? 'partial-object-metadata' : as;
  return {
    kind,
    form,
    includeObject: form === 'table' ? parseIncludeObject(request.query) : 'Metadata',
    whole: views.whole(kind, request.caller, request.target),
    clientAddress: kind.projection === undefined ? '' : request.clientAddress,
    now: views.now,
  };
}

/** B-06: `PartialObjectMetadata` is for one object, `PartialObjectMetadataList` for a list. */
export function assertFormFits({ accept }: ApiRequest, kind: Kind, answer: 'object' | 'list'): void {
  const isList = answer === 'list';
  if (accept.as !== (isList ? 'partial-object-metadata' : 'partial-object-metadata-list')) return;
  const [form, what] = isList ? ['PartialObjectMetadata', 'a list'] : ['PartialObjectMetadataList', 'not a list'];
  const message = `you requested ${form}, but the requested object is ${what} (${goTypeOf(kind, isList)})`;
  throw new ApiError(406, 'NotAcceptable', message);
}

/** The Go type of an object or a list of this kind, as kube-apiserver prints it. */
function goTypeOf({ style, group, kind, listKind }: Kind, isList: boolean): string {
  if (style === 'custom') return isList ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  return `*${group === '' ? 'core' : group.split('.', 1)[0]}.${isList ? listKind : kind}`;
}

/**
 * A write whose answer could not be rendered is refused before it is stored: a 400 after it would say that nothing has
 * changed, and the audit log would record the change as a rejected request.
 */
export function checkForm({ accept, query }: Pick<ApiRequest, 'accept' | 'query'>): void {
  if (accept.as === 'table') parseIncludeObject(query);
}

/** B-04 */
function parseIncludeObject(query: Query): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '' || value === 'Metadata') return 'Metadata';
  if (value === 'Object' || value === 'None') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${goQuote(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}
