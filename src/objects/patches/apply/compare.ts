import type { ArrayShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { equalJson, type JsonValue, member } from '../json-value.ts';
import { FieldSet, without } from './field-set.ts';
import { fieldElement } from './fields-v1.ts';
import { itemsByElement } from './list-items.ts';
import { areEmpty, isLeaf, itemsOf, memberShape, membersOf } from './typed-value.ts';

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

/** At least one of the two is present. */
function visit(
  result: Comparison,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  shape: Shape,
  path: Path,
): void {
  if (before === after) return;
  if (isLeaf(shape) || areEmpty(before, after, shape)) {
    if (before !== undefined && after !== undefined) {
      if (!equalJson(before, after)) insert(result.modified, path);
      return;
    }
  } else if (shape.type === 'array') {
    visitItems(result, before, after, shape, path);
  } else if (shape.type === 'struct' || shape.type === 'map') {
    visitMembers(result, before, after, shape, path);
  }
  if (before === undefined) insert(result.added, path);
  else if (after === undefined) insert(result.removed, path);
}

/** The whole object has no path. */
const insert = (set: FieldSet, path: Path): void => void (path.length > 0 && set.insert(path));

function visitMembers(
  result: Comparison,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  shape: StructShape | MapShape,
  path: Path,
): void {
  const [left, right] = [membersOf(before) ?? {}, membersOf(after) ?? {}];
  const visitKey = (key: string): void =>
    visit(result, member(left, key), member(right, key), memberShape(shape, key), [...path, fieldElement(key)]);
  for (const key of Object.keys(left)) visitKey(key);
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key)) visitKey(key);
}

function visitItems(
  result: Comparison,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  shape: ArrayShape,
  path: Path,
): void {
  const left = itemsByElement(itemsOf(before) ?? [], shape);
  const right = itemsByElement(itemsOf(after) ?? [], shape);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    visitItem(result, left.get(element) ?? [], right.get(element) ?? [], shape, [...path, element]);
  }
}

/** AP-30: stored items with the same key are one value. */
function visitItem(
  result: Comparison,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  { items }: ArrayShape,
  path: Path,
): void {
  if (before.length <= 1 && after.length <= 1) {
    visit(result, before[0], after[0], items, path);
  } else if (before.length >= 2 && after.length >= 2) {
    if (!equalJson([...before], [...after])) insert(result.modified, path);
  } else if (before.length >= 2) {
    if (after.length > 0) visit(result, undefined, after[0], items, path);
    insert(result.removed, path);
  } else {
    if (before.length > 0) visit(result, before[0], undefined, items, path);
    insert(result.added, path);
  }
}
