import type { ArrayShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { type JsonMap, type JsonValue, newJsonMap } from '../../../lib/json.ts';
import { difference, FieldSet, intersection, union } from './field-set.ts';
import { fieldSetOf, withDeclaredParents } from './field-set-of.ts';
import { fieldElement } from './fields-v1.ts';
import { elementOrNone } from './list-items.ts';
import { isLeaf, itemsOf, memberShape, membersOf } from './typed-value.ts';

const NOTHING = new FieldSet();

/**
 * Removes what the applier applied last time, does not apply now, and no manager owns. `last` is the set of the applier
 * before, `owned` everything that any manager owns now. A field of the schema counts as owned while anything below it
 * is.
 */
export function prune(merged: JsonValue, last: FieldSet, owned: FieldSet, shape: Shape): JsonValue {
  const [hadBefore, isOwned] = [withDeclaredParents(last, shape), withDeclaredParents(owned, shape)];
  if (difference(hadBefore, isOwned).isEmpty) return merged;
  const setIn = (value: JsonValue): FieldSet => withDeclaredParents(fieldSetOf(value, shape), shape);
  const all = setIn(merged);
  const keptFirst = setIn(remove(merged, hadBefore, shape));
  const kept = setIn(remove(merged, difference(all, union(keptFirst, isOwned)), shape));
  // What the applier did not own stays, even if no manager owns it.
  return remove(merged, intersection(difference(all, kept), hadBefore), shape);
}

/** The value without the paths of the set, and what is below them. A container that becomes empty stays as empty. */
function remove(value: JsonValue, paths: FieldSet, shape: Shape): JsonValue {
  if (paths.children.size === 0 || isLeaf(shape)) return value;
  if (shape.type === 'array') {
    const items = itemsOf(value);
    return items === undefined ? value : removeItems(items, paths, shape);
  }
  if (shape.type !== 'struct' && shape.type !== 'map') return value;
  const members = membersOf(value);
  return members === undefined ? value : removeMembers(members, paths, shape);
}

function removeMembers(members: JsonMap, paths: FieldSet, shape: StructShape | MapShape): JsonValue {
  const kept = newJsonMap();
  for (const key of Object.keys(members)) {
    const below = paths.children.get(fieldElement(key)) ?? NOTHING;
    if (!below.isMember) kept[key] = remove(members[key] ?? null, below, memberShape(shape, key));
  }
  return kept;
}

function removeItems(items: readonly JsonValue[], paths: FieldSet, shape: ArrayShape): JsonValue {
  const kept: JsonValue[] = [];
  for (const item of items) {
    const below = paths.children.get(elementOrNone(item, shape) ?? '') ?? NOTHING;
    if (!below.isMember) kept.push(remove(item, below, shape.items));
  }
  return kept;
}
