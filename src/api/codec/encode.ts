import { goEscape, goString, sortByBytes } from './go-text/go-json-text.ts';
import type { BodyStyle, Shape } from './shape.ts';

/** Compact JSON in the value's own key order, without the newline that ends a body (F-13). */
export function toJson(value: unknown): string {
  return goEscape(stringified(JSON.stringify(value)));
}

function stringified(json: string | undefined): string {
  if (json === undefined) throw new TypeError('a function or undefined has no JSON');
  return json;
}

/**
 * Compact JSON in the order of the style: `builtin` writes fields in the order of the shape and maps sorted, `custom`
 * sorts every key. Undefined members are left out, nulls are written. Fields that the shape does not have follow in the
 * value's own order; without a shape that is the whole order.
 */
export function encodeValue(value: unknown, shape: Shape | undefined, style: BodyStyle): string {
  const order = style === 'custom' ? SORTED : shape;
  const ordered = orderedCopy(value, order);
  return ordered === UNORDERABLE ? write(value, order) : toJson(ordered);
}

/** The shape of what Go would hold in a map: keys sorted, at every level. */
const SORTED: Shape = { type: 'any', maxLength: Number.POSITIVE_INFINITY, goType: 'interface {}' };

/** The value cannot be copied in this order; `write` takes it. */
const UNORDERABLE = Symbol('unorderable');

/**
 * A copy with the keys of every object in the order in which they are to be written, for JSON.stringify: that is
 * several times faster than `write`. Not possible where an object would not keep the order (keys that begin with a
 * digit may be array indexes, which come first) or the key (`__proto__`).
 */
function orderedCopy(value: unknown, shape: Shape | undefined): unknown {
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
  const isComplete = eachMember(object, shape, (key, inner) => {
    const value = object[key];
    if (value === undefined) return true;
    const first = key.charCodeAt(0);
    if ((first >= 0x30 && first <= 0x39) || key === '__proto__') return false;
    const ordered = orderedCopy(value, inner);
    if (ordered === UNORDERABLE) return false;
    copy[key] = ordered;
    return true;
  });
  return isComplete ? copy : UNORDERABLE;
}

function itemsOf(shape: Shape | undefined): Shape | undefined {
  return shape?.type === 'array' ? shape.items : shape?.type === 'any' ? shape : undefined;
}

/** Visits the members of an object in the order of `encodeValue`, until a visit returns false. */
function eachMember(
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

function write(value: unknown, shape: Shape | undefined): string {
  switch (typeof value) {
    case 'string':
      return goString(value);
    case 'number':
      // Go refuses these too. JSON.stringify would write null.
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON`);
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, shape) : writeObject(value as Record<string, unknown>, shape);
    default:
      throw new TypeError(`a value of type ${typeof value} has no JSON`);
  }
}

function writeArray(items: readonly unknown[], shape: Shape | undefined): string {
  const inner = itemsOf(shape);
  let text = '[';
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ',';
    text += write(items[index] ?? null, inner);
  }
  return `${text}]`;
}

function writeObject(object: Readonly<Record<string, unknown>>, shape: Shape | undefined): string {
  let text = '';
  eachMember(object, shape, (key, inner) => {
    const value = object[key];
    if (value !== undefined) text += `${text === '' ? '{' : ','}${goString(key)}:${write(value, inner)}`;
    return true;
  });
  return text === '' ? '{}' : `${text}}`;
}
