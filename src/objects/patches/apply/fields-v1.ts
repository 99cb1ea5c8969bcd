import { toJson } from '../../../api/codec/encode.ts';
import { goQuote } from '../../../api/codec/go-text/go-quote.ts';
import { isJsonObject, type JsonMap, type JsonValue, parsedJson } from '../../../lib/json.ts';
import { FieldSet, sortedElements } from './field-set.ts';

/** The wire form of a field set, `fieldsV1` of `metadata.managedFields`. */

/** A `fieldsV1` that cannot be read. */
export class FieldsError extends Error {
  override readonly name = 'FieldsError';
}

/** Field sets that are larger than an object may have. */
export class FieldsTooLarge extends Error {
  override readonly name = 'FieldsTooLarge';
}

/** What is left of the limits while field sets are read, so that reading stops at them. */
interface FieldBudget {
  paths: number;
  /** Characters of path elements. */
  text: number;
}

/** Deeper than any schema. It bounds the recursion over sets that clients write. */
const MAX_DEPTH = 32;
/** Of the key of a list item and of a value, which are parsed. The longest that a schema allows is shorter. */
const MAX_ITEM_LENGTH = 16 * 1024;

/** AP-38, AP-39: `.` for the path itself; left out where nothing is below. */
export function writeFields(set: FieldSet): JsonMap {
  // A plain object, unlike others with keys of clients: every key has a prefix, so none is `__proto__`.
  const fields: JsonMap = {};
  if (set.isMember && set.children.size > 0) fields['.'] = {};
  for (const element of sortedElements(set)) {
    fields[element] = writeFields(set.children.get(element) ?? new FieldSet());
  }
  return fields;
}

/**
 * @throws FieldsError for an invalid path element, or a set that is too deep.
 * @throws FieldsTooLarge beyond the budget.
 */
export function readFields(fields: JsonValue | undefined, budget: FieldBudget): FieldSet {
  const set = new FieldSet();
  if (fields === undefined || fields === null) return set;
  // Counting is cheap; reading the elements is not.
  if (leavesIn(fields, budget.paths) > budget.paths) throw new FieldsTooLarge('the field sets have too many paths');
  readInto(set, fields, 0, budget);
  set.isMember = false;
  return set;
}

/** How many paths end in the tree, counted up to the limit. The depth of the tree is that of a body. */
function leavesIn(fields: JsonValue, limit: number): number {
  if (!isJsonObject(fields)) return 0;
  const keys = Object.keys(fields);
  if (keys.length === 0) return 1;
  let leaves = 0;
  for (const key of keys) {
    leaves += leavesIn(fields[key] ?? null, limit - leaves);
    if (leaves > limit) break;
  }
  return leaves;
}

function readInto(set: FieldSet, fields: JsonValue, depth: number, budget: FieldBudget): void {
  if (!isJsonObject(fields)) throw new FieldsError('a field set consists of objects');
  if (depth > MAX_DEPTH) throw new FieldsError(`a field set has at most ${MAX_DEPTH} levels`);
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      set.isMember = true;
      continue;
    }
    const element = readElement(key);
    // AP-40: an unknown kind of element is skipped.
    if (element === undefined) continue;
    budget.text -= element.length;
    readInto(set.descend(element), fields[key] ?? null, depth + 1, budget);
  }
  if (set.children.size === 0) set.isMember = true;
  if (set.isMember) budget.paths--;
  if (budget.paths < 0 || budget.text < 0) throw new FieldsTooLarge('the field sets are too large');
}

/** A value, or one key of a list item, without characters that JSON escapes: the text is canonical. */
const PLAIN_ITEM = /^(?:v:"[\w./:@ -]{0,1024}"|k:\{"\w{1,64}":"[\w./:@ -]{0,1024}"\})$/;

/** The canonical text of an element; undefined for an unknown kind. */
function readElement(key: string): string | undefined {
  if (key.charAt(1) !== ':') throw new FieldsError(`missing colon: ${key.slice(0, 64)}`);
  if (key.startsWith('f') || PLAIN_ITEM.test(key)) return key;
  const text = key.slice(2);
  switch (key.charAt(0)) {
    case 'k':
      return keyElement(parsedKeys(text));
    case 'v':
      return valueElement(parsedScalar(text));
    case 'i':
      if (!/^-?[0-9]{1,15}$/.test(text)) throw new FieldsError(`not an index: ${text.slice(0, 64)}`);
      return `i:${Number(text)}`;
    default:
      return undefined;
  }
}

function parsed(text: string): JsonValue {
  if (text.length > MAX_ITEM_LENGTH) throw new FieldsError(`longer than ${MAX_ITEM_LENGTH}: ${text.slice(0, 64)}`);
  const value = parsedJson(text);
  if (value === undefined) throw new FieldsError(`not JSON: ${text.slice(0, 64)}`);
  return value;
}

function parsedScalar(text: string): JsonValue {
  const value = parsed(text);
  if (typeof value === 'object') throw new FieldsError('an item of a set is text, a number or a boolean');
  return value;
}

function parsedKeys(text: string): JsonMap {
  const keys = parsed(text);
  if (!isJsonObject(keys)) throw new FieldsError('the key of a list item is an object');
  const isScalar = Object.values(keys).every((value) => typeof value !== 'object' || value === null);
  if (!isScalar) throw new FieldsError('the key of a list item has text, numbers or booleans');
  return keys;
}

export const fieldElement = (name: string): string => `f:${name}`;

export const valueElement = (value: JsonValue): string => `v:${toJson(value)}`;

/** Keys are sorted by name. */
export function keyElement(keys: JsonMap): string {
  const names = Object.keys(keys);
  if (names.length === 1) return `k:${toJson(keys)}`;
  const members = names.sort().map((name) => `${toJson(name)}:${toJson(keys[name] ?? null)}`);
  return `k:{${members.join(',')}}`;
}

/** AP-35: a path in messages. */
export const pathText = (path: readonly string[]): string => path.map(elementText).join('');

function elementText(element: string): string {
  const text = element.slice(2);
  switch (element.charAt(0)) {
    case 'f':
      return `.${text}`;
    case 'k': {
      const keys = Object.entries(JSON.parse(text) as JsonMap);
      return `[${keys.map(([name, value]) => `${name}=${valueText(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${valueText(JSON.parse(text) as JsonValue)}]`;
    default:
      return `[${text}]`;
  }
}

const valueText = (value: JsonValue): string => (typeof value === 'string' ? goQuote(value) : JSON.stringify(value));
