import type { ClusterRule } from '../api/authorization.ts';
import { apiVersionOf, type Kind } from '../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { gone } from '../api/status.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Snapshot } from '../storage/snapshot.ts';
import type { ContinueState, ContinueTokens } from './continue-token.ts';
import type { ListOptions } from './options/list-options.ts';
import { columnsOf, type Representation, renderItems, TABLE } from './representation.ts';
import { selectPage } from './selection.ts';
import { assertFormFits, representationFor, selectionFor, stillHolding, type Views } from './views.ts';

export interface ListParts {
  readonly reader: ObjectReader;
  readonly views: Views;
  readonly continueTokens: ContinueTokens;
}

/** The state a list is served from. */
interface Source {
  readonly snapshot: Snapshot<StoredObject>;
  readonly revision: number;
  /** 0: no limit. */
  readonly limit: number;
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';
const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted ' +
  'between the time the first chunk was returned and now may show up in the list.';

/** Operation 2, and the list of every other kind. */
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
  await reach(reader, options, state);
  // Nothing waits until all of them are known: the objects, the revision and the rules are those of one moment.
  const source = sourceOf(parts, kind, options, scope, state);
  const asked = selectionFor(request, kind, options, views);
  const inForce = (rule: ClusterRule | undefined): ClusterRule | undefined =>
    source.revision === reader.revision
      ? rule
      : stillHolding(rule, (name) => reader.find(kind, { cluster: '', namespace: '', name }));
  const selection = { ...asked, rule: inForce(asked.rule) };
  const seen = representationFor(request, kind, views);
  const representation = { ...seen, whole: inForce(seen.whole) };
  const isPaged = source.limit > 0 || state !== undefined;
  const policyRevision = isPaged ? views.changedAt(kind, request.caller) : 0;
  // What is left of a list depends on the rules, where they ask for labels also on today's labels, and where objects
  // end by themselves on the time.
  const countHolds =
    state?.remaining !== undefined &&
    state.policyRevision === policyRevision &&
    state.revision !== -1 &&
    asked.now === undefined &&
    (asked.rule === undefined || asked.rule.all);
  const wanted = {
    limit: source.limit,
    ...(state === undefined ? {} : { after: state.after }),
    ...(countHolds ? { left: state.remaining as number } : {}),
  };
  const turn = new TimeSlice(request);
  const page = await selectPage(source.snapshot, selection, wanted, turn);
  const last = page.items.at(-1);
  let token = '';
  if (page.remaining > 0 && last !== undefined) {
    // If the cache has gone on meanwhile, it can still tell what was.
    if (source.revision === reader.revision) reader.cache(kind).pin();
    const { remaining } = page;
    token = continueTokens.seal({ revision: source.revision, after: last.key, remaining, policyRevision }, scope());
  }
  const items = await renderItems(representation, page.items, turn);
  return respond(representation, items, {
    continue: token,
    remaining: page.remaining,
    revision: source.revision,
    path: request.path,
  });
}

/** What a continue token is good for: this list, of this caller, and no other. */
const scopeOf = ({ path, caller }: ApiRequest, { labelSelector, fieldSelector }: ListOptions): string =>
  JSON.stringify([path, labelSelector.toString(), fieldSelector.toString(), caller.key]);

/** Waits until the cache is as fresh as was asked for. */
async function reach(
  reader: ObjectReader,
  { resourceVersion }: ListOptions,
  state: ContinueState | undefined,
): Promise<void> {
  // Of a token too: another replica may have served the page before, and be ahead.
  const wanted = state === undefined ? resourceVersion : state.revision === -1 ? undefined : state.revision;
  if (wanted === undefined) await reader.catchUp();
  else if (wanted === 0) reader.assertReady();
  else await reader.waitFor(wanted);
}

/** Which state answers which combination of resourceVersion, match, limit and continue. */
function sourceOf(
  { reader, continueTokens }: ListParts,
  kind: Kind,
  { limit, resourceVersion, resourceVersionMatch }: ListOptions,
  scope: () => string,
  state: ContinueState | undefined,
): Source {
  const cache = reader.cache(kind);
  const present = { snapshot: cache.current, revision: reader.revision, limit };
  if (state !== undefined) {
    if (state.revision === -1) return present;
    const snapshot = cache.at(state.revision);
    if (snapshot !== undefined) return { snapshot, revision: state.revision, limit };
    throw gone(CONTINUE_TOO_OLD, continueTokens.seal({ revision: -1, after: state.after }, scope()));
  }
  if (resourceVersion === undefined) return present;
  // L-26: whatever is at hand comes in one piece.
  if (resourceVersion === 0) return { ...present, limit: 0 };
  const exact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0);
  if (!exact) return present;
  const snapshot = cache.at(resourceVersion);
  if (snapshot === undefined) throw gone(TOO_OLD);
  return { snapshot, revision: resourceVersion, limit };
}

interface ListFacts {
  readonly continue: string;
  readonly remaining: number;
  readonly revision: number;
  readonly path: string;
}

function respond(
  { kind, form }: Representation,
  items: readonly Uint8Array[],
  { continue: token, remaining, revision, path }: ListFacts,
): ApiResponse {
  const resourceVersion = String(revision);
  const paging = remaining > 0 ? { continue: token, remainingItemCount: remaining } : {};
  const metadata = { resourceVersion, ...paging };
  if (form === 'table') {
    return { type: 'list', ...TABLE, metadata, columns: columnsOf(kind), items, style: 'builtin' };
  }
  if (form === 'partial-object-metadata') {
    const kind = 'PartialObjectMetadataList';
    return { type: 'list', apiVersion: 'meta.k8s.io/v1', kind, metadata, items, style: 'builtin' };
  }
  return {
    type: 'list',
    apiVersion: apiVersionOf(kind),
    kind: kind.listKind,
    // The interface of the list of clusters names these members; the built-in kinds leave empty ones out as
    // Kubernetes does.
    metadata: kind.style === 'custom' ? { continue: '', ...paging, resourceVersion, selfLink: path } : metadata,
    items,
    style: kind.style,
  };
}
