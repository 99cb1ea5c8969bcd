import { isJsonObject, type JsonValue, memberOf, newJsonMap } from '../../lib/json.ts';

/**
 * RFC 7386: members of the patch replace those of the target, objects are merged member by member, `null` removes, and
 * arrays are replaced whole. A patch that is not an object replaces everything; the caller decides whether to allow
 * that.
 *
 * Neither argument is modified. The result shares parts with both, so it must not be modified.
 */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const merged = newJsonMap();
  // Members of the target keep their order; new ones follow.
  if (isJsonObject(target)) {
    for (const key of Object.keys(target)) {
      const change = memberOf(patch, key);
      if (change === undefined) merged[key] = target[key] as JsonValue;
      else if (change !== null) merged[key] = applyMergePatch(target[key], change);
    }
  }
  for (const [key, change] of Object.entries(patch)) {
    if (change !== null && !Object.hasOwn(merged, key)) merged[key] = applyMergePatch(undefined, change);
  }
  return merged;
}
