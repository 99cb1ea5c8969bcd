import {
  type ArrayShape,
  type MapShape,
  type Shape,
  type StructShape,
  UNKNOWN_SHAPE,
} from '../../../api/codec/shape.ts';
import { equalJson, isJsonObject, type JsonMap, type JsonValue, memberOf } from '../../../lib/json.ts';
import { FieldSet, without } from './field-set.ts';
import { fieldElement } from './fields-v1.ts';
import { itemsByElement } from './list-items.ts';

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

const memberElement = (shape: StructShape | MapShape, key: string): string =>
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

/** AP-51: no path is in more than one of the sets. */
export interface Comparison {
  /** Every path of what only the new value has: containers and their parts. */
  readonly added: FieldSet;
  /** Leaves with another value. */
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export function compare(before: JsonValue, after: JsonValue, shape: Shape): Comparison {
  const result = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  visit(result, before, after, shape, []);
  return result;
}

export const excluding = ({ added, modified, removed }: Comparison, fields: FieldSet): Comparison => ({
  added: without(added, fields),
  modified: without(modified, fields),
  removed: without(removed, fields),
});

type Path = readonly string[];

/** Both are present. */
function visit(result: Comparison, before: JsonValue, after: JsonValue, shape: Shape, path: Path): void {
  if (before === after) return;
  if (isLeaf(shape) || areEmpty(before, after, shape)) {
    if (!equalJson(before, after)) insert(result.modified, path);
  } else if (shape.type === 'array') {
    visitItems(result, before, after, shape, path);
  } else if (shape.type === 'struct' || shape.type === 'map') {
    visitMembers(result, before, after, shape, path);
  }
}

/** The whole object has no path. */
const insert = (set: FieldSet, path: Path): void => void (path.length > 0 && set.insert(path));

function visitMembers(
  result: Comparison,
  before: JsonValue,
  after: JsonValue,
  shape: StructShape | MapShape,
  path: Path,
): void {
  const [left, right] = [membersOf(before) ?? {}, membersOf(after) ?? {}];
  const onlyIn = (set: FieldSet, key: string, value: JsonValue): void =>
    insertAll(set.descendAll(path), memberElement(shape, key), value, memberShape(shape, key));
  for (const key of Object.keys(left)) {
    const [old, now] = [left[key], memberOf(right, key)];
    if (old !== undefined && now !== undefined) {
      visit(result, old, now, memberShape(shape, key), [...path, memberElement(shape, key)]);
    } else if (old !== undefined) {
      onlyIn(result.removed, key, old);
    } else if (now !== undefined) {
      onlyIn(result.added, key, now);
    }
  }
  for (const key of Object.keys(right)) {
    const now = right[key];
    if (now !== undefined && !Object.hasOwn(left, key)) onlyIn(result.added, key, now);
  }
}

/** The element and every path below it. */
function insertAll(set: FieldSet, element: string, value: JsonValue, shape: Shape): void {
  const node = set.descend(element);
  node.isMember = true;
  if (isLeaf(shape)) return;
  if (shape.type === 'array') {
    for (const [key, items] of itemsByElement(itemsOf(value) ?? [], shape)) insertItem(node, key, items, shape);
  } else if (shape.type === 'struct' || shape.type === 'map') {
    const members = membersOf(value) ?? {};
    for (const key of Object.keys(members)) {
      const inner = members[key];
      if (inner !== undefined) insertAll(node, memberElement(shape, key), inner, memberShape(shape, key));
    }
  }
}

/** AP-30: stored items with the same key are one value. */
function insertItem(set: FieldSet, element: string, same: readonly JsonValue[], { items }: ArrayShape): void {
  if (same.length === 1) insertAll(set, element, same[0] ?? null, items);
  else set.descend(element).isMember = true;
}

function visitItems(result: Comparison, before: JsonValue, after: JsonValue, shape: ArrayShape, path: Path): void {
  const left = itemsByElement(itemsOf(before) ?? [], shape);
  const right = itemsByElement(itemsOf(after) ?? [], shape);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    visitItem(result, left.get(element) ?? [], right.get(element) ?? [], shape, [...path, element]);
  }
}

function visitItem(
  result: Comparison,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  shape: ArrayShape,
  path: Path,
): void {
  const { items } = shape;
  const [parent, element] = [path.slice(0, -1), path.at(-1) ?? ''];
  if (before.length === 1 && after.length === 1) {
    visit(result, before[0] ?? null, after[0] ?? null, items, path);
  } else if (before.length >= 2 && after.length >= 2) {
    if (!equalJson([...before], [...after])) insert(result.modified, path);
  } else {
    // One side has one item or none: a change between one item and several removes the one and adds the other.
    if (before.length > 0) insertItem(result.removed.descendAll(parent), element, before, shape);
    if (after.length > 0) insertItem(result.added.descendAll(parent), element, after, shape);
  }
}
