import type { ArrayShape } from '../../../api/codec/shape.ts';
import { isJsonObject, type JsonMap, type JsonValue, memberOf, newJsonMap } from '../../../lib/json.ts';
import { keyElement, valueElement } from './fields-v1.ts';

/** An item that has no place in a list map or a set. The message is that of structured-merge-diff. */
export class ListItemError extends Error {
  override readonly name = 'ListItemError';
}

/** The path element of an item of a list map or a set. */
export function itemElement(item: JsonValue, { listType, keys, keyDefaults }: ArrayShape): string {
  if (listType !== 'map') {
    if (isJsonObject(item)) throw new ListItemError("associative list without keys has an element that's a map type");
    if (Array.isArray(item)) throw new ListItemError('not supported: associative list with lists as elements');
    if (item === null) throw new ListItemError("associative list without keys has an element that's an explicit null");
    return valueElement(item);
  }
  if (item === null) throw new ListItemError('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new ListItemError('associative list with keys may not have non-map elements');
  const values: JsonMap = newJsonMap();
  for (const key of keys) {
    // AP-47: a missing key counts as its default.
    const value = memberOf(item, key) ?? keyDefaults.get(key);
    if (value !== undefined) values[key] = value;
  }
  if (Object.keys(values).length > 0) return keyElement(values);
  const names = keys.map((key) => JSON.stringify(key)).join(' ');
  throw new ListItemError(
    `associative list with keys has an element that omits all key fields [${names}] ` +
      "(and doesn't have default values for any key fields)",
  );
}

/** The items of a stored list by their elements. Items that fit no key, which only old data can have, are left out. */
export function itemsByElement(items: readonly JsonValue[], shape: ArrayShape): Map<string, JsonValue[]> {
  const found = new Map<string, JsonValue[]>();
  for (const item of items) {
    const element = elementOrNone(item, shape);
    if (element === undefined) continue;
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
  }
  return found;
}

/** Undefined for an item that fits no key. */
export function elementOrNone(item: JsonValue, shape: ArrayShape): string | undefined {
  try {
    return itemElement(item, shape);
  } catch (error) {
    if (error instanceof ListItemError) return undefined;
    throw error;
  }
}
