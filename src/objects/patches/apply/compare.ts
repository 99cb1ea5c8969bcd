import type { ArrayShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { equalJson, type JsonValue, memberOf } from '../../../lib/json.ts';
import { FieldSet, without } from './field-set.ts';
import { itemsByElement } from './list-items.ts';
import { areEmpty, isLeaf, itemsOf, memberElement, memberShape, membersOf } from './typed-value.ts';

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
