import { gone } from '../../api/status.ts';
import type { ReadableCache, ReadableEvent, ReadableState } from '../../objects/readable.ts';
import { candidatesFor, hasExpired, includes, isVisible, type Selection } from '../selection.ts';
import {
  addedFrame,
  bookmarkFrame,
  type Frame,
  frameFor,
  hiddenFrame,
  initialEventsEndFrame,
  NO_FRAME,
} from './frames.ts';
import type { ViewChange } from './view-change.ts';
import type { WatchView, WatchViews } from './watch-view.ts';

/** The frames of a watch that is not live yet. They are made one by one, as fast as the client reads. */
export interface CatchUpParts {
  readonly cache: ReadableCache;
  readonly views: WatchViews;
  /** `allowWatchBookmarks`. */
  readonly bookmarks: boolean;
}

/** The state of `selection` as ADDED events, then the bookmark that ends the initial events, if one was asked for. */
export function* framesOfState(
  { views }: CatchUpParts,
  snapshot: ReadableState,
  selection: Selection,
  bookmarkRevision: number | undefined,
): Generator<Frame> {
  for (const entry of candidatesFor(snapshot, selection)) {
    // A slow client may lose a permission while it reads, so the present view decides as well.
    const now = views.current();
    const isShown = includes(selection, entry) && isVisible(now.selection, entry) && !hasExpired(now.selection, entry);
    yield isShown ? addedFrame(now.representation, entry) : NO_FRAME;
  }
  if (bookmarkRevision !== undefined) {
    yield [initialEventsEndFrame(views.current().representation, bookmarkRevision)];
  }
}

/**
 * The events after one revision, up to another, under rules that did not change in between. Throws a 410 at once when
 * they are no longer known. The view of the moment in which a frame is made decides how much of an object it shows.
 */
export function framesBetween(
  { cache, views }: CatchUpParts,
  from: number,
  upTo: number,
  selection: Selection,
): Iterable<Frame> {
  const events = cache.eventsAfter(from);
  if (events === undefined) throw gone(`too old resource version: ${from} (${cache.windowStart})`);
  return framesOf(events, upTo, selection, views.current);
}

function* framesOf(
  events: readonly ReadableEvent[],
  upTo: number,
  selection: Selection,
  now: () => WatchView,
): Generator<Frame> {
  for (const event of events) {
    if (event.revision > upTo) return;
    const view = now();
    const frame = frameFor(selection, view.representation, event, view.selection);
    yield frame === undefined ? NO_FRAME : [frame];
  }
}

/**
 * The frames of a permission change. They carry revisions from before the change: a client that loses its connection
 * between them comes back with such a revision, and has to list again.
 */
export function* framesOfChange(change: ViewChange, changedAt: number, now: () => WatchView): Generator<Frame> {
  for (const difference of change.differences()) {
    if (difference === undefined) {
      yield NO_FRAME;
      continue;
    }
    const { selection, representation } = now();
    const { entry, isShown } = difference;
    if (isShown && isVisible(selection, entry)) yield addedFrame(representation, entry);
    else yield [hiddenFrame(representation, entry, changedAt - 1)];
  }
}

/** Objects that became visible carry older versions: a bookmark at the end moves the client on to `revision`. */
export function* withBookmark(
  { bookmarks, views }: CatchUpParts,
  frames: Iterable<Frame>,
  revision: number,
): Generator<Frame> {
  let hasFrames = false;
  for (const frame of frames) {
    hasFrames ||= frame !== NO_FRAME;
    yield frame;
  }
  if (hasFrames && bookmarks) yield [bookmarkFrame(views.current().representation, revision)];
}
