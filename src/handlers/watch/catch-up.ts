import type { ReadableEvent, ReadableState } from '../../objects/readable.ts';
import { INITIAL_EVENTS_END } from '../representation.ts';
import { candidatesFor, hasExpired, includes } from '../selection.ts';
import { addedFrame, bookmarkFrame, type Frame, frameFor, hiddenFrame, NO_FRAME } from './frames.ts';
import type { ViewChange } from './view-change.ts';
import type { WatchView } from './watch-view.ts';

/**
 * The frames of a watch that is not live yet. They are made one by one, as fast as the client reads, under one view: a
 * watch whose view changes meanwhile ends (models/watch.pml).
 */

/** The state as ADDED events, then the bookmark that ends the initial events, if one was asked for. */
export function* framesOfState(
  { selection, representation }: WatchView,
  snapshot: ReadableState,
  bookmarkRevision: number | undefined,
): Generator<Frame> {
  for (const entry of candidatesFor(snapshot, selection)) {
    const isShown = includes(selection, entry) && !hasExpired(selection, entry);
    yield isShown ? addedFrame(representation, entry) : NO_FRAME;
  }
  if (bookmarkRevision !== undefined) yield bookmarkFrame(representation, bookmarkRevision, INITIAL_EVENTS_END);
}

/** The events up to a revision, under rules that did not change in between. */
export function* framesOfEvents(
  { selection, representation }: WatchView,
  events: readonly ReadableEvent[],
  upTo: number,
): Generator<Frame> {
  for (const event of events) {
    if (event.revision > upTo) return;
    yield frameFor(selection, representation, event) ?? NO_FRAME;
  }
}

/**
 * The frames of a permission change. They carry revisions from before the change: a client that loses its connection
 * between them comes back with such a revision, and has to list again.
 */
export function* framesOfChange(
  { representation }: WatchView,
  change: ViewChange,
  changedAt: number,
): Generator<Frame> {
  for (const difference of change.differences()) {
    if (difference === undefined) yield NO_FRAME;
    else if (difference.isShown) yield addedFrame(representation, difference.entry);
    else yield hiddenFrame(representation, difference.entry, changedAt - 1);
  }
}

/** Objects that became visible carry older versions: a bookmark at the end moves the client on to `revision`. */
export function* withBookmark(
  { representation }: WatchView,
  frames: Iterable<Frame>,
  revision: number,
): Generator<Frame> {
  let hasFrames = false;
  for (const frame of frames) {
    hasFrames ||= frame !== NO_FRAME;
    yield frame;
  }
  if (hasFrames) yield bookmarkFrame(representation, revision);
}
