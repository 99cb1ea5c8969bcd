import { type ApiError, badRequest } from '../../api/status.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** Objects created here have no prototype, so `__proto__` and `constructor` are ordinary keys. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The limit of request bodies. A patch could nest deeper than any body, and the recursion must end. */
const MAX_JSON_DEPTH = 64;

const tooDeep = (): ApiError => badRequest(`the patch nests values more than ${MAX_JSON_DEPTH} levels deep`);

/** Called before entering a container that is nested in `depth` others. */
export function guardDepth(depth: number): void {
  if (depth >= MAX_JSON_DEPTH) throw tooDeep();
}

export const newJsonObject = (): JsonObject => Object.create(null) as JsonObject;

/** An own member, never an inherited one. */
export const member = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Called with the approximate JSON size of each piece before it is copied; may throw. */
type SizeMeter = (bytes: number) => void;

/** A deep copy. `depth` counts the containers around the value. */
export function cloneJson(value: JsonValue, depth = 0, meter?: SizeMeter): JsonValue {
  if (typeof value !== 'object' || value === null) {
    meter?.(typeof value === 'string' ? value.length + 2 : 4);
    return value;
  }
  guardDepth(depth);
  meter?.(2);
  if (Array.isArray(value)) return value.map((item) => cloneJson(item, depth + 1, meter));
  const copy = newJsonObject();
  for (const key of Object.keys(value)) {
    meter?.(key.length + 3);
    copy[key] = cloneJson(value[key] as JsonValue, depth + 1, meter);
  }
  return copy;
}

/** Throws when containers nest too deep. */
export function checkDepth(value: JsonValue, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  guardDepth(depth);
  for (const item of Array.isArray(value) ? value : Object.values(value)) checkDepth(item, depth + 1);
}

/** Equality of RFC 6902 section 4.6: order counts in arrays, not in objects. */
export function equalJson(a: JsonValue, b: JsonValue, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  guardDepth(depth);
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalJson(item, b[index] ?? null, depth + 1));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !equalJson(a[key] as JsonValue, b[key] as JsonValue, depth + 1)) return false;
  }
  return true;
}
