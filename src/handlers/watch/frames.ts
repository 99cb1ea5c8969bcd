import { toJson } from '../../api/codec/encode.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import type { Status } from '../../api/status.ts';
import type { ReadableEvent, ReadableObject } from '../../objects/readable.ts';
import { type Representation, renderBookmark, renderItem, renderTombstone, viewKey } from '../representation.ts';
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

/** One frame in pieces: the object's bytes are those of the cache, and are copied once, into the chunk that is sent. */
export type Frame = readonly Uint8Array[];

/**
 * Yielded for an object or event that this watch does not show, so that a long search can pause between two of them.
 */
export const NO_FRAME: Frame = [];

const frame = (type: keyof typeof HEADS, object: Uint8Array): Frame => [HEADS[type], object, TAIL];

/** The frame of an object, in a stream whose columns are named from then on. */
function objectFrame({ streamed }: Representation, type: keyof typeof HEADS, render: () => Uint8Array): Frame {
  const made = frame(type, render());
  if (streamed !== undefined) streamed.namesColumns = false;
  return made;
}

export const errorFrame = (status: Status): Buffer => Buffer.concat(frame('ERROR', Buffer.from(toJson(status))));

export const bookmarkFrame = (representation: Representation, revision: number, metadata?: ObjectMeta): Frame =>
  objectFrame(representation, 'BOOKMARK', () => renderBookmark(representation, revision, metadata));

export const addedFrame = (representation: Representation, entry: ReadableObject): Frame =>
  objectFrame(representation, 'ADDED', () => renderItem(representation, entry));

/** DELETED for an object that the caller may no longer see: only its name, not its content. */
export const hiddenFrame = (representation: Representation, entry: ReadableObject, revision: number): Frame =>
  objectFrame(representation, 'DELETED', () => renderTombstone(representation, entry, revision));

/** What an event is in a selection. */
interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly entry: ReadableObject;
  /** The caller may not see the object (any more). */
  readonly isHidden: boolean;
}

/** V-13: undefined when the event is not in the selection. */
function changeIn(selection: Selection, { before, after }: ReadableEvent, clientAddress: string): Change | undefined {
  const was = before !== undefined && includes(selection, before);
  if (after !== undefined && includes(selection, after)) {
    if (!was) return { type: 'ADDED', entry: after, isHidden: false };
    // CP-63: a change of the source that a projection does not show is no event.
    if (after.showsSameAs(before, clientAddress)) return undefined;
    return { type: 'MODIFIED', entry: after, isHidden: false };
  }
  if (!was) return undefined;
  // Deleted, or no longer selected: the last content that the caller knew, with the revision of this event.
  const isHidden = after !== undefined && !isVisible(selection, after);
  return { type: 'DELETED', entry: isHidden ? after : before, isHidden };
}

function frameOf(representation: Representation, { type, entry, isHidden }: Change, revision: number): Frame {
  if (isHidden) return hiddenFrame(representation, entry, revision);
  const shown = type === 'DELETED' ? entry.withRevision(revision) : entry;
  return objectFrame(representation, type, () => renderItem(representation, shown));
}

/** The frame of an event for one watch; undefined when it does not show the event. See `changeIn`. */
export function frameFor(
  selection: Selection,
  representation: Representation,
  event: ReadableEvent,
): Frame | undefined {
  const change = changeIn(selection, event, representation.clientAddress);
  return change && frameOf(representation, change, event.revision);
}

/**
 * The frames of one event for a selection, made once for all groups that show the same view of it, whatever their
 * selectors are. Undefined when the event is not in the selection. A frame of more than `maxBytes` is cut into parts,
 * which are written one by one.
 */
export function createEventFrames(event: ReadableEvent, maxBytes: number, nextId: () => number) {
  const made = new Map<string, readonly SharedFrames[]>();

  function inParts(pieces: Frame): SharedFrames[] {
    const whole = Buffer.concat(pieces);
    const parts: SharedFrames[] = [];
    for (let at = 0; at < whole.length; at += maxBytes) {
      const part = whole.subarray(at, at + maxBytes);
      parts.push(new SharedFrames(nextId(), part, at + part.length === whole.length ? 1 : 0));
    }
    return parts;
  }

  return (selection: Selection, representation: Representation): readonly SharedFrames[] | undefined => {
    const change = changeIn(selection, event, representation.clientAddress);
    if (change === undefined) return undefined;
    const { streamed } = representation;
    const key = `${change.type} ${change.isHidden} ${viewKey(representation, change.entry)}`;
    const frames = made.get(key) ?? inParts(frameOf(representation, change, event.revision));
    made.set(key, frames);
    if (streamed !== undefined) streamed.namesColumns = false;
    return frames;
  };
}
