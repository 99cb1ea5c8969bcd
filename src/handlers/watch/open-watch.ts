import type { ClusterRule } from '../../api/authorization.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse, WatchSink } from '../../api/request.ts';
import { ApiError, badRequest, gone } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { FieldSelector } from '../../objects/selectors/field-selector.ts';
import { warmingUp } from '../../objects/storage-errors.ts';
import { selectionFor } from '../list.ts';
import type { ListOptions } from '../options/list-options.ts';
import { once, type Representation } from '../representation.ts';
import { assertFormFits, representationFor, type Views } from '../views.ts';
import type { Broadcaster } from './broadcaster.ts';
import { errorFrame } from './frames.ts';
import type { Turn, WatchView } from './replay.ts';
import { Watcher } from './watcher.ts';

export interface WatchParts {
  readonly reader: ObjectReader;
  readonly views: Views;
  readonly broadcaster: Broadcaster;
  /** An error when the caller may not watch this any more; for kinds that are allowed or not as a whole. */
  readonly refusal: (request: ApiRequest, kind: Kind) => ApiError | undefined;
  readonly now: () => number;
  /** In [0, 1): spreads the ends of watches. */
  readonly random: () => number;
}

/** V-04: without a wish for it, a watch lasts between half an hour and an hour. */
const MIN_DURATION_MS = 1_800_000;

export async function watchObjects(
  parts: WatchParts,
  request: ApiRequest,
  kind: Kind,
  options: ListOptions,
): Promise<ApiResponse> {
  const { reader } = parts;
  assertFormFits(request, kind, 'object');
  const wanted = { ...options, fieldSelector: narrowToName(options.fieldSelector, request.target.name) };
  const views = watchViews(parts, request, kind, wanted);
  reader.assertReady();
  const { resourceVersion } = wanted;
  // Failures from here on are ERROR events in a stream that began well (V-12).
  let failure: ApiError | undefined;
  try {
    if (resourceVersion === undefined) await reader.catchUp();
    else if (wanted.sendInitialEvents === true) await reader.waitFor(resourceVersion);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    failure = error;
  }
  return {
    type: 'watch',
    start: (sink) => {
      if (failure === undefined) start(parts, request, kind, wanted, views, sink);
      else fail(sink, failure);
    },
  };
}

/** V-16, L-28: a path that names one object selects it by its name. */
function narrowToName(selector: FieldSelector, name: string): FieldSelector {
  if (name === '') return selector;
  if (selector.isEmpty) return new FieldSelector([{ field: 'metadata.name', operator: '=', value: name }]);
  if (selector.exactValue('metadata.name') === name) return selector;
  throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

function start(
  parts: WatchParts,
  request: ApiRequest,
  kind: Kind,
  options: ListOptions,
  views: WatchViews,
  sink: WatchSink,
): void {
  const { reader, broadcaster } = parts;
  const { sendInitialEvents, timeoutSeconds, resourceVersion = 0, allowWatchBookmarks } = options;
  const cache = reader.cache(kind);
  if (!reader.ready) {
    fail(sink, warmingUp());
    return;
  }
  const watcher = new Watcher({
    broadcaster,
    cache,
    sink,
    caller: request.caller,
    currentView: views.current,
    turns: views.turns,
    groupIdOf,
    refused: () => parts.refusal(request, kind),
    bookmarks: allowWatchBookmarks,
    timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : MIN_DURATION_MS * (1 + parts.random()),
    now: parts.now,
  });
  // The rules may have changed since the request was allowed: it has waited for the caches.
  if (watcher.checkAllowed()) return;
  // V-05: from nowhere in particular means with what there is, unless V-09 says otherwise.
  if (sendInitialEvents ?? resourceVersion === 0) {
    const marked = sendInitialEvents === true && allowWatchBookmarks;
    watcher.startWithState(cache.snapshot, broadcaster.revision, marked);
  } else {
    watcher.startAfter(resourceVersion === 0 ? broadcaster.revision : resourceVersion);
  }
}

function fail(sink: WatchSink, error: ApiError): void {
  sink.write(errorFrame(error.status));
  sink.end();
}

interface WatchViews {
  readonly current: () => WatchView;
  readonly turns: (from: number, upTo: number) => readonly Turn[];
}

/**
 * To tell what the rules were at one moment, all of them are read. A client that has missed more changes than
 * this is better served by a new list.
 */
const MAX_TURNS = 8;

/** Views under the rules of now and then; the same object as long as the rules are the same. */
function watchViews(parts: WatchParts, request: ApiRequest, kind: Kind, options: ListOptions): WatchViews {
  const { views, broadcaster } = parts;
  const { caller, target } = request;
  const base = selectionFor(request, kind, options, views);
  const form = representationFor(request, kind, views);
  const streamed: Representation = form.form === 'table' ? { ...form, namesColumns: once() } : form;
  let current: WatchView = { selection: base, representation: streamed };
  return {
    current: () => {
      const rule = views.rule(kind, caller, 'watch');
      const whole = views.whole(kind, caller, target.alwaysPublic);
      if (rule !== current.selection.rule || whole !== current.representation.whole) {
        current = { selection: { ...base, rule }, representation: { ...streamed, whole } };
      }
      return current;
    },
    turns: (from, upTo) => {
      const changes = views.changedAt(kind, caller) <= from ? [] : broadcaster.policyChangesBetween(from, upTo);
      if (changes === undefined || changes.length > MAX_TURNS) {
        throw gone(`too old resource version: ${from} (${changes?.at(-MAX_TURNS) ?? upTo})`);
      }
      return [from, ...changes].map((revision) => ({
        revision,
        selection: { ...base, rule: views.ruleAt(kind, caller, 'watch', revision) },
      }));
    },
  };
}

const ids = new WeakMap<object, number>();
let lastId = 0;

/** A number for an object, the same as long as it lives. */
function idOf(object: ClusterRule | Representation | undefined): number {
  if (object === undefined) return 0;
  const known = ids.get(object);
  if (known !== undefined) return known;
  ids.set(object, ++lastId);
  return lastId;
}

/** Equal for views that show the same bytes. A table remembers what it has sent, so it shares with nobody. */
function groupIdOf({ selection, representation }: WatchView): string {
  const { prefix, labels, fields, rule } = selection;
  const { form, whole } = representation;
  const own = form === 'table' ? idOf(representation) : 0;
  return [prefix, labels, fields, idOf(rule), idOf(whole), form, own].join('\n');
}
