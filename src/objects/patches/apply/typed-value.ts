import { type MapShape, type Shape, type StructShape, UNKNOWN_SHAPE } from '../../../api/codec/shape.ts';
import type { JsonMap, JsonValue } from '../../../lib/json.ts';
import { isJsonObject } from '../../../lib/json.ts';
import { fieldElement } from './fields-v1.ts';

/** Questions of the structured merge to a schema: which values are atomic, and which have members with owners. */

/** A value without parts: a scalar, an atomic list or an atomic object. */
export function isLeaf(shape: Shape): boolean {
  switch (shape.type) {
    case 'struct':
    case 'map':
      return shape.isAtomic;
    case 'array':
      return shape.listType === 'atomic';
    default:
      return true;
  }
}

/** The schema of a member. A member that the schema does not have is one value. */
export const memberShape = (shape: StructShape | MapShape, key: string): Shape =>
  shape.type === 'map' ? shape.values : (shape.byName.get(key)?.shape ?? UNKNOWN_SHAPE);

export const memberElement = (shape: StructShape | MapShape, key: string): string =>
  (shape.type === 'struct' ? shape.byName.get(key)?.element : undefined) ?? fieldElement(key);

/** A field of the schema, not a key of a map such as a label. */
export const isDeclared = (shape: StructShape | MapShape, key: string): boolean =>
  shape.type === 'struct' && shape.byName.has(key);

/** The members of an object or map; none for null and for other values. */
export const membersOf = (value: JsonValue | undefined): JsonMap | undefined =>
  isJsonObject(value) ? value : undefined;

export const itemsOf = (value: JsonValue | undefined): readonly JsonValue[] | undefined =>
  Array.isArray(value) ? value : undefined;

/** Absent, null or empty on both sides: such a value is compared and merged like an atomic one. */
export function areEmpty(a: JsonValue | undefined, b: JsonValue | undefined, shape: Shape): boolean {
  const size = (value: JsonValue | undefined): number =>
    shape.type === 'array' ? (itemsOf(value)?.length ?? 0) : Object.keys(membersOf(value) ?? {}).length;
  return size(a) === 0 && size(b) === 0;
}
