import type { TSchema } from 'typebox';
import type { BodyType } from '../kind.ts';
import { goEscape, goString, sortByBytes } from './go-json-text.ts';
import { type Shape, shapeOf } from './shape.ts';
import { sortedCopy, UNSORTABLE } from './sorted-copy.ts';

export { toYaml } from './to-yaml.ts';

/** Compact JSON in the value's own key order, without the newline that ends a body (F-13). */
export function toJson(value: unknown): string {
  return goEscape(textOf(JSON.stringify(value)));
}

function textOf(json: string | undefined): string {
  if (json === undefined) throw new TypeError('a function or undefined has no JSON');
  return json;
}

/**
 * Compact JSON in the order the style asks for: `builtin` writes the fields in the order of the schema
 * and maps sorted, `custom` sorts every key. Undefined members are left out, nulls are written. Fields
 * that the schema does not know follow in the value's own order; without a schema that is the whole order.
 */
export function encodeValue(value: unknown, schema: TSchema | undefined, style: BodyType['style']): string {
  if (style === 'custom') {
    const sorted = sortedCopy(value);
    return sorted === UNSORTABLE ? write(value, SORTED) : toJson(sorted);
  }
  return write(value, schema === undefined ? undefined : shapeOf(schema));
}

/** Under `any` Go has maps, and sorts them. */
const SORTED: Shape = { type: 'any', goType: 'interface {}' };

function write(value: unknown, shape: Shape | undefined): string {
  switch (typeof value) {
    case 'string':
      return goString(value);
    case 'number':
      // Go refuses these too; silence would write a null that nobody meant.
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
  const inner = shape?.type === 'array' ? shape.items : shape?.type === 'any' ? shape : undefined;
  let text = '[';
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ',';
    text += write(items[index] ?? null, inner);
  }
  return `${text}]`;
}

function writeObject(object: Readonly<Record<string, unknown>>, shape: Shape | undefined): string {
  let text = '';
  const member = (key: string, inner: Shape | undefined): void => {
    const value = object[key];
    if (value === undefined) return;
    text += `${text === '' ? '{' : ','}${goString(key)}:${write(value, inner)}`;
  };
  if (shape?.type === 'struct') {
    for (const field of shape.fields) if (Object.hasOwn(object, field.name)) member(field.name, field.shape);
    for (const key of Object.keys(object)) if (!shape.byName.has(key)) member(key, undefined);
  } else if (shape === undefined) {
    for (const key of Object.keys(object)) member(key, undefined);
  } else {
    const inner = shape.type === 'map' ? shape.values : SORTED;
    for (const key of sortByBytes(Object.keys(object))) member(key, inner);
  }
  return text === '' ? '{}' : `${text}}`;
}
