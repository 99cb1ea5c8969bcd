import type { TSchema } from 'typebox';
import type { BodyType } from '../kind.ts';
import { goEscape, goString } from './go-text/go-json-text.ts';
import { eachMember, itemsOf, orderedCopy, SORTED, UNORDERABLE } from './ordered-copy.ts';
import { type Shape, shapeOf } from './shape.ts';

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
  const shape = style === 'custom' ? SORTED : schema && shapeOf(schema);
  const ordered = orderedCopy(value, shape);
  return ordered === UNORDERABLE ? write(value, shape) : toJson(ordered);
}

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
