import { toJson } from '../../api/codec/encode.ts';
import type { Status } from '../../api/status.ts';
import type { ReadableEvent, ReadableObject } from '../../objects/readable.ts';
import {
  INITIAL_EVENTS_END,
  type Representation,
  renderBookmark,
  renderItem,
  renderTombstone,
} from '../representation.ts';
import { includes, isVisible, type Selection } from '../selection.ts';

/** V-02: one line per event, `type` before `object`. */
const HEADS = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
} as const;
const TAIL = Buffer.from('}\n');

const frame = (type: keyof typeof HEADS, object: Uint8Array): Buffer => Buffer.concat([HEADS[type], object, TAIL]);

/** One frame in pieces: the object's bytes are those of the cache, and are copied once, into the chunk that is sent. */
export type Frame = readonly Uint8Array[];

/**
 * Yielded for an object or event that this watch does not show, so that a long search can pause between two of them.
 */
export const NO_FRAME: Frame = [];

export const errorFrame = (status: Status): Buffer => frame('ERROR', Buffer.from(toJson(status)));

export const bookmarkFrame = (representation: Representation, revision: number): Buffer =>
  frame('BOOKMARK', renderBookmark(representation, revision));

/** V-08: the bookmark after the initial events. */
export const initialEventsEndFrame = (representation: Representation, revision: number): Buffer =>
  frame('BOOKMARK', renderBookmark(representation, revision, INITIAL_EVENTS_END));

export const addedFrame = (representation: Representation, entry: ReadableObject): Frame => [
  HEADS.ADDED,
  renderItem(representation, entry),
  TAIL,
];

/** DELETED for an object that the caller may no longer see: only its name, not its content. */
export const hiddenFrame = (representation: Representation, entry: ReadableObject, revision: number): Buffer =>
  frame('DELETED', renderTombstone(representation, entry, revision));

/**
 * V-13: the frame of an event in this selection; undefined when the event is not in it. For past events, `now` is the
 * present selection: an object that is hidden by now is shown as DELETED, without its content.
 */
export function frameFor(
  selection: Selection,
  representation: Representation,
  { before, after, revision }: ReadableEvent,
  now: Selection = selection,
): Buffer | undefined {
  const was = before !== undefined && includes(selection, before);
  const is = after !== undefined && includes(selection, after);
  if (is) {
    if (!isVisible(now, after)) return hiddenFrame(representation, after, revision);
    if (!was) return frame('ADDED', renderItem(representation, after));
    // CP-63: a change of the source that a projection does not show is no event.
    if (after.showsSameAs(before, representation.clientAddress)) return undefined;
    return frame('MODIFIED', renderItem(representation, after));
  }
  if (!was) return undefined;
  // Deleted, or no longer selected: the last content that the caller knew, with the revision of this event.
  const isHidden = !isVisible(now, before) || (after !== undefined && !isVisible(now, after));
  if (isHidden) return hiddenFrame(representation, after ?? before, revision);
  return frame('DELETED', renderItem(representation, before.withRevision(revision)));
}
