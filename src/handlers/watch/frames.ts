import { toJson } from '../../api/codec/encode.ts';
import type { Status } from '../../api/status.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { CacheEvent } from '../../storage/watch-cache.ts';
import { type Representation, renderBookmark, renderItem, renderTombstone } from '../representation.ts';
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

/** One frame for one watcher, in the pieces that are at hand. */
export type Told = readonly Uint8Array[];

/** In place of one, where a step of telling has nothing to tell: whoever goes through many may pause between steps. */
export const NOTHING: Told = [];

export const errorFrame = (status: Status): Buffer => frame('ERROR', Buffer.from(toJson(status)));

export const bookmarkFrame = (representation: Representation, revision: number, endOfInitial = false): Buffer =>
  frame('BOOKMARK', renderBookmark(representation, revision, endOfInitial));

export const tellAdded = (representation: Representation, entry: StoredObject): Told => [
  HEADS.ADDED,
  renderItem(representation, entry),
  TAIL,
];

/** It was there and is gone for this caller, who is told no more than its name. */
export const hiddenFrame = (representation: Representation, name: string, revision: number): Buffer =>
  frame('DELETED', renderTombstone(representation, name, revision));

/**
 * V-13: what an event is to someone who watches this selection; undefined when it is nothing. When the past
 * is told, `selection` is that of then and `now` that of today: what is hidden today is not shown once more,
 * only taken back by its name.
 */
export function frameFor(
  selection: Selection,
  representation: Representation,
  { before, after, revision }: CacheEvent<StoredObject>,
  now: Selection = selection,
): Buffer | undefined {
  const was = before !== undefined && includes(selection, before);
  const is = after !== undefined && includes(selection, after);
  if (!was && !is) return undefined;
  const known = after ?? before;
  const hidden = (is ? [after] : [before, after]).some((entry) => entry !== undefined && !isVisible(now, entry));
  if (hidden && known !== undefined) return hiddenFrame(representation, known.name, revision);
  if (is) return frame(was ? 'MODIFIED' : 'ADDED', renderItem(representation, after));
  // Deleted, or left the selection: the last content the caller knew, under the revision of what happened.
  return was ? frame('DELETED', renderItem(representation, before.withRevision(revision))) : undefined;
}
