import type { Kind } from '../api/kind.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { StoredObject } from './stored-object.ts';

/** Tells of which kind each change is that the caches take in. */
export const countEvents = (count: (kind: Kind) => void): ReflectorListener<StoredObject> => ({
  onEvent({ before, after }) {
    const kind = (after ?? before)?.kind;
    if (kind !== undefined) count(kind);
  },
  onProgress: () => {},
  onReset: () => {},
});
