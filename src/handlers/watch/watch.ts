import type { Kind } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse, WatchSink } from '../../api/request.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { FieldSelector } from '../../objects/selectors/field-selector.ts';
import { warmingUp } from '../../objects/storage-errors.ts';
import type { Trace } from '../../observability/protocol-trace.ts';
import type { ListParts } from '../list.ts';
import type { ListOptions } from '../options/list-options.ts';
import { assertFormFits } from '../views.ts';
import type { Broadcaster } from './broadcaster.ts';
import { errorFrame } from './frames.ts';
import { tracedSink } from './traced-sink.ts';
import { createWatchViews, type WatchViews } from './watch-view.ts';
import { Watcher } from './watcher.ts';

export interface WatchParts extends Pick<ListParts, 'reader' | 'views' | 'hasChangedSince'> {
  readonly broadcaster: Broadcaster;
  /** For kinds that are allowed or not as a whole: the error when the caller may no longer watch this. */
  readonly refusal: (request: ApiRequest, kind: Kind) => ApiError | undefined;
  readonly now: () => number;
  /** In [0, 1): spreads the ends of watches. */
  readonly random: () => number;
  readonly trace?: Trace | undefined;
}

/** V-04: without timeoutSeconds a watch lasts between half an hour and an hour. */
const MIN_DURATION_MS = 1_800_000;

export async function watchObjects(
  parts: WatchParts,
  request: ApiRequest,
  kind: Kind,
  listOptions: ListOptions,
): Promise<ApiResponse> {
  const { reader, views, broadcaster } = parts;
  assertFormFits(request, kind, 'object');
  const options = { ...listOptions, fieldSelector: narrowToName(listOptions.fieldSelector, request.target.name) };
  const watchViews = createWatchViews({ views, watchId: broadcaster.nextId() }, request, kind, options);
  reader.assertReady();
  const { resourceVersion } = options;
  // V-12: failures from here on are ERROR events of a stream with status 200.
  let failure: ApiError | undefined;
  try {
    if (resourceVersion === undefined) await reader.catchUp();
    else if (options.sendInitialEvents === true) await reader.waitFor(resourceVersion);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    failure = error;
  }
  return {
    type: 'watch',
    start: (sink) => {
      if (failure === undefined) start(parts, request, kind, options, watchViews, sink);
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
  const { reader, broadcaster, trace } = parts;
  const { sendInitialEvents, timeoutSeconds, resourceVersion = 0, allowWatchBookmarks } = options;
  const startsWithState = sendInitialEvents ?? resourceVersion === 0;
  const cache = reader.readable(kind);
  if (!reader.ready) {
    fail(sink, warmingUp());
    return;
  }
  const watch = broadcaster.nextId();
  trace?.('watches', { watch, after: startsWithState ? undefined : resourceVersion, resource: kind.resource });
  const watcher = new Watcher({
    broadcaster,
    cache,
    sink: trace === undefined ? sink : tracedSink(sink, trace, watch),
    caller: request.caller,
    views,
    refusal: () => parts.refusal(request, kind),
    hasChangedSince: (revision) => parts.hasChangedSince(request, kind, revision),
    bookmarks: allowWatchBookmarks,
    timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : MIN_DURATION_MS * (1 + parts.random()),
    now: parts.now,
  });
  // The rules may have changed since the request was authorized, because it waited for the caches.
  if (watcher.endIfRefused()) return;
  // V-05: without a resourceVersion, or from 0, a watch starts with the state, unless V-09 says otherwise.
  if (startsWithState) {
    const marksEnd = sendInitialEvents === true && allowWatchBookmarks;
    watcher.startWithState(cache.snapshot, broadcaster.revision, { marksEnd });
  } else {
    const { prefix } = watcher.view.selection;
    const resumed = (): number => cache.resumeAfter?.(resourceVersion, prefix) ?? resourceVersion;
    watcher.startAfter(resourceVersion === 0 ? broadcaster.revision : resumed());
  }
}

function fail(sink: WatchSink, error: ApiError): void {
  sink.write(errorFrame(error.status));
  sink.end();
}
