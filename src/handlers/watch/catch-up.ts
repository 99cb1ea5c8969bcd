import type { ReadableEvent, ReadableState } from '../../objects/readable.ts';
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
import type { WatchView } from './watch-view.ts';

/**
 * The frames of a watch that is not live yet. They are made one by one, as fast as the client reads. `now` is the view
 * under the rules of the moment in which a frame is made: a slow client may lose a permission while it reads.
 */

/** The state of `selection` as ADDED events, then the bookmark that ends the initial events, if one was asked for. */
export function* framesOfState(
  now: () => WatchView,
  snapshot: ReadableState,
  selection: Selection,
  bookmarkRevision: number | undefined,
): Generator<Frame> {
  for (const entry of candidatesFor(snapshot, selection)) {
    const present = now();
    const isVisibleNow = isVisible(present.selection, entry) && !hasExpired(present.selection, entry);
    yield isVisibleNow && includes(selection, entry) ? addedFrame(present.representation, entry) : NO_FRAME;
  }
  if (bookmarkRevision !== undefined) yield initialEventsEndFrame(now().representation, bookmarkRevision);
}

/** The events up to a revision, under rules that did not change in between. */
export function* framesOfEvents(
  now: () => WatchView,
  events: readonly ReadableEvent[],
  upTo: number,
  selection: Selection,
): Generator<Frame> {
  for (const event of events) {
    if (event.revision > upTo) return;
    const present = now();
    yield frameFor(selection, present.representation, event, present.selection) ?? NO_FRAME;
  }
}

/**
 * The frames of a permission change. They carry revisions from before the change: a client that loses its connection
 * between them comes back with such a revision, and has to list again.
 */
export function* framesOfChange(now: () => WatchView, change: ViewChange, changedAt: number): Generator<Frame> {
  for (const difference of change.differences()) {
    if (difference === undefined) {
      yield NO_FRAME;
      continue;
    }
    const { selection, representation } = now();
    const { entry, isShown } = difference;
    if (isShown && isVisible(selection, entry)) yield addedFrame(representation, entry);
    else yield hiddenFrame(representation, entry, changedAt - 1);
  }
}

/** Objects that became visible carry older versions: a bookmark at the end moves the client on to `revision`. */
export function* withBookmark(now: () => WatchView, frames: Iterable<Frame>, revision: number): Generator<Frame> {
  let hasFrames = false;
  for (const frame of frames) {
    hasFrames ||= frame !== NO_FRAME;
    yield frame;
  }
  if (hasFrames) yield bookmarkFrame(now().representation, revision);
}
