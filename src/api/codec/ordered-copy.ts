import { sortByBytes } from './go-text/go-json-text.ts';
import type { Shape } from './shape.ts';

/** The value can not be put in order this way. */
export const UNORDERABLE = Symbol('unorderable');

/** Under `any` Go has maps, and sorts them. */
export const SORTED: Shape = { type: 'any', goType: 'interface {}' };

/**
 * A copy with the keys of every object in the order in which they are to be written, so that the engine's own
 * JSON.stringify writes them so: that is several times faster than to put texts together. Not possible where an object
 * would not keep the order (keys that begin with a digit may be indexes, which come first) or would not keep the key
 * (`__proto__`).
 */
export function orderedCopy(value: unknown, shape: Shape | undefined): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : UNORDERABLE;
    case 'object':
      if (value === null) return value;
      return Array.isArray(value)
        ? copyOfArray(value, itemsOf(shape))
        : copyOfObject(value as Readonly<Record<string, unknown>>, shape);
    default:
      return UNORDERABLE;
  }
}

/** What the items of an array are, where that is known. */
export function itemsOf(shape: Shape | undefined): Shape | undefined {
  return shape?.type === 'array' ? shape.items : shape?.type === 'any' ? shape : undefined;
}

/**
 * The members of an object in their order, with what they are: fields in the order of the schema, and those it does not
 * know behind them in the object's own order; maps sorted; without a schema the object's own order.
 */
export function eachMember(
  object: Readonly<Record<string, unknown>>,
  shape: Shape | undefined,
  visit: (key: string, shape: Shape | undefined) => boolean,
): boolean {
  if (shape?.type === 'struct') {
    for (const { name, shape: inner } of shape.fields) {
      if (Object.hasOwn(object, name) && !visit(name, inner)) return false;
    }
    for (const key in object)
      if (Object.hasOwn(object, key) && !shape.byName.has(key) && !visit(key, undefined)) return false;
    return true;
  }
  const keys = Object.keys(object);
  const inner = shape === undefined ? undefined : shape.type === 'map' ? shape.values : SORTED;
  if (shape !== undefined) sortByBytes(keys);
  return keys.every((key) => visit(key, inner));
}

function copyOfArray(items: readonly unknown[], shape: Shape | undefined): unknown {
  const copy: unknown[] = [];
  for (const item of items) {
    const inner = orderedCopy(item ?? null, shape);
    if (inner === UNORDERABLE) return UNORDERABLE;
    copy.push(inner);
  }
  return copy;
}

function copyOfObject(object: Readonly<Record<string, unknown>>, shape: Shape | undefined): unknown {
  const copy: Record<string, unknown> = {};
  const whole = eachMember(object, shape, (key, inner) => {
    const value = object[key];
    if (value === undefined) return true;
    const first = key.charCodeAt(0);
    if ((first >= 0x30 && first <= 0x39) || key === '__proto__') return false;
    const inOrder = orderedCopy(value, inner);
    if (inOrder === UNORDERABLE) return false;
    copy[key] = inOrder;
    return true;
  });
  return whole ? copy : UNORDERABLE;
}
