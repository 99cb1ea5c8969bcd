import { type ApiError, gone } from '../../api/status.ts';
import { type PolicyMoment, revisionBefore } from '../../api/visibility.ts';
import type { ReadableCache, ReadableEvent, ReadableState, ReplayedState } from '../../objects/readable.ts';
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
import { ViewChange } from './view-change.ts';
import type { PolicyInterval, WatchView, WatchViews } from './watch-view.ts';

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

/** The events after one revision, up to another. Throws a 410 at once when they are no longer known. */
export function framesBetween(parts: CatchUpParts, from: number, upTo: number): Iterator<Frame> {
  const { cache, views } = parts;
  const tooOld = (): ApiError => gone(`too old resource version: ${from} (${cache.windowStart})`);
  const events = cache.eventsAfter(from);
  if (events === undefined) throw tooOld();
  const intervals = views.intervals(from, upTo);
  if (intervals.length === 1) return replay({ events, intervals, upTo, state: undefined }, views.current);
  const state = cache.at(from);
  if (state === undefined) throw tooOld();
  const frames = replay({ events, intervals, upTo, state: state.copy() }, views.current);
  return withBookmark(parts, frames, upTo);
}

interface Past {
  /** In order; may go on beyond `upTo`. */
  readonly events: readonly ReadableEvent[];
  readonly intervals: readonly PolicyInterval[];
  readonly upTo: number;
  /** A copy of the state at the beginning of the first interval; needed when there are several. */
  readonly state: ReplayedState | undefined;
}

/**
 * What a watch that was open all the time would have been sent. Every interval is replayed, not only the difference
 * between the first and the last: objects that became visible carry older versions, so a client may come back with a
 * version that is older than its state, and needs every deletion since then. The view of the moment in which a frame is
 * made decides how much of an object it shows.
 */
function* replay({ events, intervals, upTo, state }: Past, now: () => WatchView): Generator<Frame> {
  let next = 0;
  for (const [index, { from, selection }] of intervals.entries()) {
    const before = intervals[index - 1]?.selection;
    if (before !== undefined && state !== undefined) {
      yield* framesOfChange(new ViewChange(state, before, selection), from, now);
    }
    const end = intervals[index + 1]?.from.revision ?? upTo;
    for (let event = events[next]; event !== undefined && event.revision <= end; event = events[++next]) {
      const view = now();
      const frame = frameFor(selection, view.representation, event, view.selection);
      yield frame === undefined ? NO_FRAME : [frame];
      state?.apply(event);
    }
  }
}

/**
 * The frames of a permission change. They carry revisions from before the change: a client that loses its connection
 * between them comes back with such a revision, and gets all of them again.
 */
export function* framesOfChange(change: ViewChange, changedAt: PolicyMoment, now: () => WatchView): Generator<Frame> {
  const revision = revisionBefore(changedAt);
  for (const difference of change.differences()) {
    if (difference === undefined) {
      yield NO_FRAME;
      continue;
    }
    const { selection, representation } = now();
    const { entry, isShown } = difference;
    if (isShown && isVisible(selection, entry)) yield addedFrame(representation, entry);
    else yield [hiddenFrame(representation, entry, revision)];
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
