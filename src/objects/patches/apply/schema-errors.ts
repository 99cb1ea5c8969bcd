import type { ArrayShape, LeafShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { isJsonObject, type JsonMap, type JsonValue } from '../../../lib/json.ts';
import { clip } from '../../../lib/text.ts';
import { fieldElement, pathText } from './fields-v1.ts';
import { itemElement, ListItemError } from './list-items.ts';

/** Enough for a person. */
const MAX_ERRORS = 20;
/** Of a value in a message. */
const MAX_VALUE = 256;

/**
 * What is wrong with an applied configuration, in the words of structured-merge-diff (AP-25 to AP-28). Undefined when
 * it fits the schema. Null fits every type.
 */
export function schemaErrors(config: JsonValue, shape: Shape): string | undefined {
  const check = new SchemaCheck();
  check.value(config, shape, '');
  const { errors } = check;
  if (errors.length <= 1) return errors[0];
  return `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`;
}

class SchemaCheck {
  readonly errors: string[] = [];

  value(value: JsonValue, shape: Shape, at: string): void {
    if (value === null || this.errors.length >= MAX_ERRORS) return;
    switch (shape.type) {
      case 'struct':
      case 'map':
        if (isJsonObject(value)) this.#members(value, shape, at);
        else this.#error(at, `expected map, got &{${goValue(value)}}`);
        return;
      case 'array':
        if (Array.isArray(value)) this.#items(value, shape, at);
        else this.#error(at, `expected list, got &{${goValue(value)}}`);
        return;
      default:
        this.#scalar(value, shape, at);
    }
  }

  #error(at: string, what: string): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push(at === '' ? what : `${clip(at, 512)}: ${what}`);
  }

  /** AP-29: an object is left at its first unknown field. */
  #members(members: JsonMap, shape: StructShape | MapShape, at: string): void {
    for (const key of Object.keys(members)) {
      if (this.errors.length >= MAX_ERRORS) return;
      const here = `${at}${pathText([fieldElement(clip(key))])}`;
      const inner = shape.type === 'map' ? shape.values : shape.byName.get(key)?.shape;
      if (inner === undefined) {
        this.#error(here, 'field not declared in schema');
        return;
      }
      this.value(members[key] ?? null, inner, here);
    }
  }

  #items(items: readonly JsonValue[], shape: ArrayShape, at: string): void {
    const seen = new Set<string>();
    for (const [index, item] of items.entries()) {
      if (shape.listType === 'atomic') {
        this.value(item, shape.items, `${at}[${index}]`);
        continue;
      }
      const element = this.#element(item, index, shape, at);
      // Without a key there is no path for errors further down.
      if (element === undefined) return;
      const here = pathText([element]);
      if (seen.has(element)) this.#error(at, `duplicate entries for key ${clip(here, MAX_VALUE)}`);
      seen.add(element);
      this.value(item, shape.items, `${at}${here}`);
    }
  }

  #element(item: JsonValue, index: number, shape: ArrayShape, at: string): string | undefined {
    try {
      return itemElement(item, shape);
    } catch (error) {
      if (!(error instanceof ListItemError)) throw error;
      this.#error(at, `element ${index}: ${error.message}`);
      return undefined;
    }
  }

  #scalar(value: JsonValue, { type }: LeafShape, at: string): void {
    switch (type) {
      case 'any':
        return;
      case 'boolean':
        if (typeof value !== 'boolean') this.#error(at, `expected boolean, got &{${goValue(value)}}`);
        return;
      case 'integer':
        if (typeof value !== 'number') this.#error(at, `expected numeric (int or float), got ${goTypeOf(value)}`);
        return;
      default:
        if (typeof value === 'string') return;
        this.#error(at, `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`);
    }
  }
}

/** Go's `%v`. */
function goValue(value: JsonValue, depth = 0): string {
  if (value === null) return '<nil>';
  if (typeof value !== 'object') return clip(String(value), MAX_VALUE);
  // A few parts are enough: a client knows what it sent.
  const isDeep = depth > 3;
  if (Array.isArray(value)) {
    return `[${
      isDeep
        ? '...'
        : value
            .slice(0, 8)
            .map((item) => goValue(item, depth + 1))
            .join(' ')
    }]`;
  }
  const members = Object.keys(value).sort().slice(0, 8);
  return `map[${isDeep ? '...' : members.map((key) => `${clip(key, 64)}:${goValue(value[key] ?? null, depth + 1)}`).join(' ')}]`;
}

/** Go's `%#v`, of a value that is no string. */
function goSyntax(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const content = JSON.stringify(value).slice(1, -1);
  return `${goTypeOf(value)}{${clip(content, MAX_VALUE)}}`;
}

/** Go's `%T`. */
function goTypeOf(value: JsonValue): string {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}
