import { type ApiError, gone } from '../../api/status.ts';
import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Snapshot } from '../../storage/snapshot.ts';
import { candidatesFor, includes, isOver, isVisible, type Selection } from '../selection.ts';
import { bookmarkFrame, NOTHING, type Told, tellAdded } from './frames.ts';
import { replay, type Turn, type WatchView } from './replay.ts';

/** What a watcher that is not live has yet to be told: made bit by bit, as its client takes it. */
export interface CatchUpParts {
  readonly cache: ObjectCache;
  /** The view under the rules in force now; the same object while nothing changed. */
  readonly currentView: () => WatchView;
  /** What the caller could see after one revision, up to another. Throws a 410 when that is no longer known. */
  readonly turns: (from: number, upTo: number) => readonly Turn[];
  readonly bookmarks: boolean;
}

/** All that could be seen when it began, as ADDED events; then a mark that it was all, if one is wanted. */
export function* framesOfState(
  { currentView }: CatchUpParts,
  snapshot: Snapshot<StoredObject>,
  then: Selection,
  markedRevision: number | undefined,
): Generator<Told> {
  for (const entry of candidatesFor(snapshot, then)) {
    // A slow client may still be reading this when it is no longer allowed to.
    const { selection, representation } = currentView();
    const isShown = includes(then, entry) && isVisible(selection, entry) && !isOver(selection, entry);
    yield isShown ? tellAdded(representation, entry) : NOTHING;
  }
  if (markedRevision !== undefined) yield [bookmarkFrame(currentView().representation, markedRevision, true)];
}

/** What happened after one revision, up to another. Throws a 410 at once when that is no longer known. */
export function framesBetween(parts: CatchUpParts, from: number, upTo: number): Iterator<Told> {
  const { cache, turns, currentView } = parts;
  const tooOld = (): ApiError => gone(`too old resource version: ${from} (${cache.windowStart})`);
  const events = cache.eventsAfter(from);
  if (events === undefined) throw tooOld();
  const firstState = (): Snapshot<StoredObject> => {
    const state = cache.at(from);
    if (state === undefined) throw tooOld();
    return state.copy();
  };
  const past = { events, turns: turns(from, upTo), upTo, firstState };
  const frames = replay(past, currentView);
  return past.turns.length === 1 ? frames : thenBookmark(parts, frames, upTo);
}

/** Objects that became visible carry versions of their own; a bookmark moves the client on to where it is. */
export function* thenBookmark(
  { bookmarks, currentView }: CatchUpParts,
  frames: Iterable<Told>,
  revision: number,
): Generator<Told> {
  let any = false;
  for (const frame of frames) {
    any ||= frame !== NOTHING;
    yield frame;
  }
  if (any && bookmarks) yield [bookmarkFrame(currentView().representation, revision)];
}
