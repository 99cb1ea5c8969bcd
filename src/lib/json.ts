/** A value of JSON, as programs handle it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonMap;

/** Objects made here have no prototype, so `__proto__` and `constructor` are ordinary keys. */
export interface JsonMap {
  [key: string]: JsonValue;
}

/** An object of parsed JSON whose members are not known. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An empty object in place of any other value. */
export const asJsonObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const newJsonMap = (): JsonMap => Object.create(null) as JsonMap;

/** An object without the members that are undefined. */
export const defined = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;

/** The member at a path of names in a value that may be anything: own members, never inherited ones. */
export function memberOf(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined;
export function memberOf(value: unknown, ...path: string[]): unknown;
export function memberOf(value: unknown, ...path: string[]): unknown {
  let at = value;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}

/** The value of a text; undefined for a text that is no JSON. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Called with the approximate JSON size of each piece and its depth, before it is copied; may throw. */
type CopyMeter = (bytes: number, depth: number) => void;

/** A deep copy. */
export function cloneJson(value: JsonValue, meter?: CopyMeter, depth = 0): JsonValue {
  if (typeof value !== 'object' || value === null) {
    meter?.(typeof value === 'string' ? value.length + 2 : 4, depth);
    return value;
  }
  meter?.(2, depth + 1);
  if (Array.isArray(value)) return value.map((item) => cloneJson(item, meter, depth + 1));
  const copy = newJsonMap();
  for (const key of Object.keys(value)) {
    meter?.(key.length + 3, depth);
    copy[key] = cloneJson(value[key] as JsonValue, meter, depth + 1);
  }
  return copy;
}

/** Equality of RFC 6902 section 4.6: order counts in arrays, not in objects. */
export function equalJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalJson(item, b[index] ?? null));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key] as JsonValue, b[key] as JsonValue));
}
