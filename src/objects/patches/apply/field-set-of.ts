import type { Shape } from '../../../api/codec/shape.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { isDeclared, isLeaf, itemsOf, memberShape, membersOf } from './compare.ts';
import { FieldSet } from './field-set.ts';
import { fieldElement } from './fields-v1.ts';
import { itemsByElement } from './list-items.ts';

/**
 * AP-50: the paths that an applied value claims. Containers are not claimed, only what is in them, with two exceptions:
 * an empty or null object, and each item of a list map or set.
 */
export function fieldSetOf(value: JsonValue, shape: Shape): FieldSet {
  const set = new FieldSet();
  claim(set, value, shape);
  set.isMember = false;
  return set;
}

function claim(set: FieldSet, value: JsonValue, shape: Shape): void {
  if (isLeaf(shape)) {
    set.isMember = true;
    return;
  }
  if (shape.type === 'array') {
    for (const [element, items] of itemsByElement(itemsOf(value) ?? [], shape)) {
      const child = set.descend(element);
      // Items with the same key are owned as one.
      if (items.length === 1) claim(child, items[0] ?? null, shape.items);
      child.isMember = true;
    }
    return;
  }
  if (shape.type !== 'struct' && shape.type !== 'map') return;
  const members = membersOf(value) ?? {};
  for (const key of Object.keys(members)) {
    const inner = members[key] ?? null;
    const child = new FieldSet();
    claim(child, inner, memberShape(shape, key));
    const isEmpty = inner === null || Object.keys(membersOf(inner) ?? { some: '' }).length === 0;
    if (isEmpty || !isDeclared(shape, key)) child.isMember = true;
    set.attach(fieldElement(key), child);
  }
}

/** The set with each field of the schema that has a path of the set below it. Keys of maps are not added. */
export function withDeclaredParents(set: FieldSet, shape: Shape): FieldSet {
  const result = new FieldSet();
  result.isMember = set.isMember;
  for (const [element, child] of set.children) {
    const inner = elementShape(shape, element);
    const extended = inner === undefined ? child : withDeclaredParents(child, inner);
    const isField = shape.type === 'struct' && element.startsWith('f:') && shape.byName.has(element.slice(2));
    if (isField && !extended.isMember) {
      const owned = new FieldSet();
      owned.isMember = true;
      for (const [below, grandchild] of extended.children) owned.attach(below, grandchild);
      result.attach(element, owned);
    } else {
      result.attach(element, extended);
    }
  }
  return result;
}

function elementShape(shape: Shape, element: string): Shape | undefined {
  if (shape.type === 'array') return shape.items;
  if (shape.type !== 'struct' && shape.type !== 'map') return undefined;
  return element.startsWith('f:') ? memberShape(shape, element.slice(2)) : undefined;
}
