import { isJsonObject } from '../../lib/json-object.ts';
import { guardDepth, type JsonValue, member, newJsonObject } from './json-value.ts';

/**
 * RFC 7386: members of the patch replace those of the target, objects are merged member by member, `null` removes, and
 * arrays are replaced whole. A patch that is not an object replaces everything; the caller decides whether to allow
 * that.
 *
 * Neither argument is modified. The result shares parts with both, so it must not be modified.
 *
 * @throws ApiError 400 when the values nest too deep.
 */
export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  return merge(target, patch, 0);
}

function merge(target: JsonValue | undefined, patch: JsonValue, depth: number): JsonValue {
  if (!isJsonObject(patch)) return patch;
  guardDepth(depth);
  const merged = newJsonObject();
  // Members of the target keep their order; new ones follow.
  if (isJsonObject(target)) {
    for (const key of Object.keys(target)) {
      const change = member(patch, key);
      if (change === undefined) merged[key] = target[key] as JsonValue;
      else if (change !== null) merged[key] = merge(target[key], change, depth + 1);
    }
  }
  for (const [key, change] of Object.entries(patch)) {
    if (change !== null && !Object.hasOwn(merged, key)) merged[key] = merge(undefined, change, depth + 1);
  }
  return merged;
}
