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
 * under the rules of the moment in which a frame is made: a slow client may lose a permission while it reads. `lacking`
 * has the keys of objects that it does not have for this reason, so that DELETED comes once (models/watch.pml).
 */

/** The state of `selection` as ADDED events, then the bookmark that ends the initial events, if one was asked for. */
export function* framesOfState(
  now: () => WatchView,
  snapshot: ReadableState,
  selection: Selection,
  lacking: Set<string>,
  bookmarkRevision: number | undefined,
): Generator<Frame> {
  for (const entry of candidatesFor(snapshot, selection)) {
    const present = now();
    const isSelected = includes(selection, entry);
    const isShown = isSelected && isVisible(present.selection, entry);
    if (isSelected && !isShown) lacking.add(entry.key);
    yield isShown && !hasExpired(present.selection, entry) ? addedFrame(present.representation, entry) : NO_FRAME;
  }
  if (bookmarkRevision !== undefined) yield initialEventsEndFrame(now().representation, bookmarkRevision);
}

/** The events up to a revision, under rules that did not change in between. */
export function* framesOfEvents(
  now: () => WatchView,
  events: readonly ReadableEvent[],
  upTo: number,
  selection: Selection,
  lacking: Set<string>,
): Generator<Frame> {
  for (const event of events) {
    if (event.revision > upTo) return;
    const { before, after } = event;
    const key = (after ?? before)?.key ?? '';
    const present = now();
    const isLacking = lacking.has(key) || before === undefined || !includes(selection, before);
    const isSelected = after !== undefined && includes(selection, after);
    const isShown = isSelected && isVisible(present.selection, after);
    if (isShown) lacking.delete(key);
    else if (isSelected || !isLacking) lacking.add(key);
    if (!isLacking) yield frameFor(selection, present.representation, event, present.selection) ?? NO_FRAME;
    else yield isShown ? addedFrame(present.representation, after) : NO_FRAME;
  }
}

/**
 * The frames of a permission change. They carry revisions from before the change: a client that loses its connection
 * between them comes back with such a revision, and has to list again.
 */
export function* framesOfChange(
  now: () => WatchView,
  change: ViewChange,
  lacking: Set<string>,
  changedAt: number,
): Generator<Frame> {
  for (const difference of change.differences()) {
    if (difference === undefined) {
      yield NO_FRAME;
      continue;
    }
    const { selection, representation } = now();
    const { entry, isShown } = difference;
    const isLacking = isShown || lacking.has(entry.key);
    if (isShown && isVisible(selection, entry)) {
      lacking.delete(entry.key);
      yield addedFrame(representation, entry);
    } else {
      lacking.add(entry.key);
      yield isLacking ? NO_FRAME : hiddenFrame(representation, entry, changedAt - 1);
    }
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
