import { type ApiError, badRequest } from '../../api/status.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/**
 * Objects made here have no prototype: `__proto__` and `constructor` are keys like any other in them,
 * for reading as for writing.
 */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** As deep as a body may nest. Patches can nest deeper than any body, and recursion must end somewhere. */
const MAX_JSON_DEPTH = 64;

const tooDeep = (): ApiError => badRequest(`the patch nests values more than ${MAX_JSON_DEPTH} levels deep`);

/** Called before stepping into a container that `depth` others surround. */
export function guardDepth(depth: number): void {
  if (depth >= MAX_JSON_DEPTH) throw tooDeep();
}

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const newJsonObject = (): JsonObject => Object.create(null) as JsonObject;

/** An own member, never an inherited one. */
export const member = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Sees the approximate size of each piece in bytes of JSON before it is copied, and may throw. */
export type SizeMeter = (bytes: number) => void;

/** A deep copy that shares nothing with the original. `depth` counts the containers around the value. */
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
