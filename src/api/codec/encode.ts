import { goEscape, goString, sortByBytes } from './go-text/go-json-text.ts';
import { type BodyStyle, type Shape, UNKNOWN_SHAPE } from './shape.ts';

/** Compact JSON in the value's own key order, without the newline that ends a body (F-13). */
export const toJson = (value: unknown): string => goEscape(JSON.stringify(value));

/**
 * Compact JSON in the order of the style: `builtin` writes fields in the order of the shape and maps sorted, `custom`
 * sorts every key. Undefined members are left out, nulls are written. Fields that the shape does not have follow in the
 * value's own order; without a shape that is the whole order.
 */
export const encodeValue = (value: unknown, shape: Shape | undefined, style: BodyStyle): string =>
  write(value, style === 'custom' ? UNKNOWN_SHAPE : shape);

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
  const keys = Object.keys(object);
  if (shape?.type === 'struct') {
    for (const { name, shape: inner } of shape.fields) text = withMember(text, name, object[name], inner);
    for (const key of keys) if (!shape.byName.has(key)) text = withMember(text, key, object[key], undefined);
  } else {
    const inner = shape === undefined ? undefined : shape.type === 'map' ? shape.values : UNKNOWN_SHAPE;
    if (shape !== undefined) sortByBytes(keys);
    for (const key of keys) text = withMember(text, key, object[key], inner);
  }
  return text === '' ? '{}' : `${text}}`;
}

const withMember = (text: string, key: string, value: unknown, shape: Shape | undefined): string =>
  value === undefined ? text : `${text}${text === '' ? '{' : ','}${goString(key)}:${write(value, shape)}`;
