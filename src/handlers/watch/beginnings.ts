import type { ObjectCache } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Snapshot } from '../../storage/cache/snapshot.ts';

/** Longer beginnings are read at the pace of each client, and are better not held for all of them. */
const MAX_BYTES = 64 * 1024;
/** How many callers who see different things are remembered between two changes. */
const MAX_KEPT = 16;

interface Beginnings {
  readonly state: Snapshot<StoredObject>;
  /** Undefined for those that are too long. */
  readonly bytes: Map<string, Buffer | undefined>;
}

const known = new WeakMap<ObjectCache, Beginnings>();

/**
 * The state that watches begin with, as the bytes of all who see the same: clients that come and go would otherwise have
 * it put together anew each time, and V8's collector, which is told of each copy, run for it every second. Undefined when
 * it is too long; only that of the newest state is kept.
 */
export function sharedBeginning(
  cache: ObjectCache,
  state: Snapshot<StoredObject>,
  who: string,
  frames: () => Iterable<Buffer>,
): Buffer | undefined {
  let beginnings = known.get(cache);
  if (beginnings?.state !== state) {
    beginnings = { state, bytes: new Map() };
    known.set(cache, beginnings);
  }
  const { bytes } = beginnings;
  if (bytes.has(who)) return bytes.get(who);
  const made = joined(frames());
  if (bytes.size >= MAX_KEPT) bytes.clear();
  bytes.set(who, made);
  return made;
}

function joined(frames: Iterable<Buffer>): Buffer | undefined {
  const parts: Buffer[] = [];
  let size = 0;
  for (const frame of frames) {
    size += frame.length;
    if (size > MAX_BYTES) return undefined;
    parts.push(frame);
  }
  return Buffer.concat(parts, size);
}
