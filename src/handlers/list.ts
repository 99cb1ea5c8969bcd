import { apiVersionOf, fleetKey, type Kind, storedKindOf } from '../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { type ApiError, gone } from '../api/status.ts';
import { defined } from '../lib/json.ts';
import type { ReadableState } from '../objects/readable.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ContinueState, ContinueTokens } from './continue-token.ts';
import type { GetParts } from './get.ts';
import type { ListOptions } from './options/list-options.ts';
import { columnsOf, type Representation, renderItems, TABLE } from './representation.ts';
import { type Page, type Selection, selectPage } from './selection.ts';
import { assertFormFits, inBothStates, representationFor, selectionFor } from './views.ts';

export interface ListParts extends GetParts {
  readonly continueTokens: ContinueTokens;
  /** Whether what the caller may see may have changed after a revision; see `createChangeCheck`. */
  readonly hasChangedSince: (request: ApiRequest, kind: Kind, revision: number) => boolean;
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';
const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted ' +
  'between the time the first chunk was returned and now may show up in the list.';

/** `GET /apis/clusterregistry.k8s.io/v1alpha1/clusters`, and the list of every other kind. */
export async function listObjects(
  parts: ListParts,
  request: ApiRequest,
  kind: Kind,
  options: ListOptions,
): Promise<ApiResponse> {
  const { reader, views, continueTokens } = parts;
  assertFormFits(request, kind, 'list');
  const scope = (): string => scopeOf(request, options);
  const state = options.continue === '' ? undefined : continueTokens.open(options.continue, scope());
  await reader.reach(state === undefined ? options.resourceVersion : versionOf(state));
  await request.work.turn();
  // No await from here to `selectPage`: objects, revision and rules must be of one moment.
  const source = sourceOf(parts, kind, options, scope, state);
  const present = {
    selection: selectionFor(request, kind, options, views),
    representation: representationFor(request, kind, views),
  };
  const isPast = source.revision !== reader.revision;
  if (isPast && parts.hasChangedSince(request, kind, source.revision)) throw tooOld(parts, scope, state);
  const { selection, representation } = isPast ? inPastState(parts, kind, present) : present;
  const pageRequest = defined({ limit: source.limit, after: state?.after });
  const page = await selectPage(source.snapshot, selection, pageRequest, request.work);
  const next = nextPageOf(page, source.revision);
  // The next page needs this state. If the cache has advanced meanwhile, its history still has it.
  if (next !== undefined && source.revision === reader.revision) reader.readable(kind).pin();
  const token = next === undefined ? '' : continueTokens.seal(next, scope());
  const items = await renderItems(representation, page.items, request.work);
  return listResponse(representation, items, {
    continue: token,
    remaining: page.remaining,
    revision: source.revision,
    path: request.path,
  });
}

/** Where the next page starts; undefined when this is the last one. */
function nextPageOf({ items, remaining }: Page, revision: number): ContinueState | undefined {
  const last = items.at(-1);
  return remaining > 0 && last !== undefined ? { revision, after: last.key } : undefined;
}

/** A continue token is valid for this list and this caller only. */
const scopeOf = ({ path, caller }: ApiRequest, { labelSelector, fieldSelector }: ListOptions): string =>
  JSON.stringify([path, labelSelector.toString(), fieldSelector.toString(), caller.key]);

/** The version of a continued list. The cache may be behind it: another replica may have served the page before. */
const versionOf = ({ revision }: ContinueState): number | undefined => (revision === -1 ? undefined : revision);

/** The 410 for a state that is no longer known. */
function tooOld(
  { continueTokens }: Pick<ListParts, 'continueTokens'>,
  scope: () => string,
  state: ContinueState | undefined,
): ApiError {
  if (state === undefined) return gone(TOO_OLD);
  return gone(CONTINUE_TOO_OLD, continueTokens.seal({ revision: -1, after: state.after }, scope()));
}

interface View {
  readonly selection: Selection;
  readonly representation: Representation;
}

/** The view of a past state under the present rules, which are those of then. */
function inPastState({ reader }: ListParts, kind: Kind, { selection, representation }: View): View {
  const present = (name: string): StoredObject | undefined => reader.find(storedKindOf(kind), fleetKey(name));
  return {
    selection: { ...selection, rule: inBothStates(selection.rule, present) },
    representation: { ...representation, whole: inBothStates(representation.whole, present) },
  };
}

/** The state that resourceVersion, resourceVersionMatch, limit and continue ask for. Limit 0: no limit. */
function sourceOf(
  { reader, continueTokens }: ListParts,
  kind: Kind,
  { limit, resourceVersion, resourceVersionMatch }: ListOptions,
  scope: () => string,
  state: ContinueState | undefined,
): { readonly snapshot: ReadableState; readonly revision: number; readonly limit: number } {
  const cache = reader.readable(kind);
  const present = { snapshot: cache.current, revision: reader.revision, limit };
  if (state !== undefined) {
    if (state.revision === -1) return present;
    const snapshot = cache.at(state.revision);
    if (snapshot !== undefined) return { snapshot, revision: state.revision, limit };
    throw tooOld({ continueTokens }, scope, state);
  }
  if (resourceVersion === undefined) return present;
  // L-26: a list at resourceVersion 0 ignores the limit.
  if (resourceVersion === 0) return { ...present, limit: 0 };
  const exact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0);
  if (!exact) return present;
  const snapshot = cache.at(resourceVersion);
  if (snapshot === undefined) throw tooOld({ continueTokens }, scope, state);
  return { snapshot, revision: resourceVersion, limit };
}

export function listResponse(
  { kind, form }: Representation,
  items: readonly Uint8Array[],
  facts: { readonly continue: string; readonly remaining: number; readonly revision: number; readonly path: string },
): ApiResponse {
  const { continue: token, remaining, revision, path } = facts;
  const resourceVersion = String(revision);
  const paging = remaining > 0 ? { continue: token, remainingItemCount: remaining } : {};
  const metadata = { resourceVersion, ...paging };
  if (form === 'table') {
    return { type: 'list', ...TABLE, metadata, columns: columnsOf(kind), items, style: 'builtin', ownsItems: true };
  }
  if (form === 'partial-object-metadata') {
    const kind = 'PartialObjectMetadataList';
    return { type: 'list', apiVersion: 'meta.k8s.io/v1', kind, metadata, items, style: 'builtin', ownsItems: true };
  }
  return {
    type: 'list',
    apiVersion: apiVersionOf(kind),
    kind: kind.listKind,
    // The interface names these fields for the list of clusters; built-in kinds omit empty ones, as Kubernetes does.
    metadata: kind.style === 'custom' ? { continue: '', ...paging, resourceVersion, selfLink: path } : metadata,
    items,
    style: kind.style,
  };
}
