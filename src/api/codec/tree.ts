import { type JsonValue, memberOf, newJsonMap } from '../../lib/json.ts';
import { type ApiError, badRequest } from '../status.ts';
import { wellFormed } from './utf8.ts';

/**
 * A parsed body before the schema is applied. It has the text of numbers and duplicate keys, because the field decides
 * whether they are errors.
 */
export type JsonNode = null | boolean | string | NumberNode | KnownNode | JsonNode[] | ObjectNode;

export class NumberNode {
  /** The source text, in JSON's grammar: an integer field accepts `1000` and not `1e3`. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Members in document order, duplicates included. */
export class ObjectNode {
  readonly keys: string[] = [];
  readonly values: JsonNode[] = [];

  add(key: string, value: JsonNode): void {
    this.keys.push(key);
    this.values.push(value);
  }
}

/** A value that was decoded before and is not decoded again. */
export class KnownNode {
  readonly value: JsonValue;

  constructor(value: JsonValue) {
    this.value = value;
  }
}

/** The limit of nested containers. It also bounds every recursion over a tree. */
export const MAX_DEPTH = 64;
/** Per body, over all its objects. */
export const MAX_KEYS = 10_000;
/** Per body, over all its arrays. */
export const MAX_ELEMENTS = 5_000;

/** Of a key, in characters. Names of fields, labels and annotations have at most some hundreds. */
export const MAX_KEY_LENGTH = 65_536;
/**
 * Per body, over all its strings with escapes, from the first escape of each on. Annotations, the longest texts, have
 * at most 256 KiB together, and 768 KiB if every character beyond ASCII is escaped.
 */
export const MAX_ESCAPED_LENGTH = 1_048_576;

/**
 * Fields of protobuf messages per body. Unknown ones become no part of the tree, and the other limits allow half as
 * many known ones. This many take 10 ms.
 */
export const MAX_FIELDS = 50_000;

/** Counts while a tree is built, so that parsing stops at the limit. */
export class TreeBudget {
  #keys = 0;
  #elements = 0;
  #escaped = 0;
  #fields = 0;

  /** `depth` is the number of containers around this one. */
  open(depth: number): void {
    if (depth >= MAX_DEPTH) throw refused(`nests values more than ${MAX_DEPTH} levels deep`);
  }

  key(): void {
    if (++this.#keys > MAX_KEYS) throw refused(`has more than ${MAX_KEYS} keys`);
  }

  keyLength(length: number): void {
    if (length > MAX_KEY_LENGTH) throw refused(`has a key of more than ${MAX_KEY_LENGTH} characters`);
  }

  /** `length` of a part of a string, from its first escape on. */
  escaped(length: number): void {
    this.#escaped += length;
    if (this.#escaped > MAX_ESCAPED_LENGTH) {
      throw refused(`has more than ${MAX_ESCAPED_LENGTH} characters of strings with escapes`);
    }
  }

  field(): void {
    if (++this.#fields > MAX_FIELDS) throw refused(`has more than ${MAX_FIELDS} fields`);
  }

  element(): void {
    if (++this.#elements > MAX_ELEMENTS) throw refused(`has more than ${MAX_ELEMENTS} list elements`);
  }
}

const refused = (why: string): ApiError => badRequest(`the body of the request ${why}`);

/** The name of a JSON type in the messages of Go's decoder. */
export function goKindOf(node: JsonNode): string {
  if (node === null) return 'null';
  if (typeof node === 'boolean') return 'bool';
  if (typeof node === 'string') return 'string';
  if (node instanceof NumberNode) return 'number';
  return Array.isArray(node instanceof KnownNode ? node.value : node) ? 'array' : 'object';
}

/**
 * Plain data without a schema: numbers are converted, and of duplicate keys the last one counts.
 *
 * @throws ApiError 400 for a number beyond the range of a double, which would become Infinity, then null.
 */
export function toPlain(node: JsonNode): JsonValue {
  if (typeof node !== 'object' || node === null) return node;
  if (node instanceof NumberNode) {
    const value = Number(node.text);
    if (Number.isFinite(value)) return value;
    throw badRequest(`json: cannot unmarshal number ${node.text.slice(0, 64)} into Go value of type float64`);
  }
  if (node instanceof KnownNode) return node.value;
  if (Array.isArray(node)) return node.map(toPlain);
  const plain = newJsonMap();
  node.keys.forEach((key, index) => {
    plain[key] = toPlain(node.values[index] ?? null);
  });
  return plain;
}

/**
 * The tree of data that did not arrive as text: the result of a patch, a decoded manifest. A part that it shares by
 * reference with `known`, at the same path, becomes a `KnownNode`.
 */
export function fromPlain(value: JsonValue, known?: JsonValue): JsonNode {
  return build(value, known, 0, new TreeBudget());
}

function build(value: JsonValue, known: JsonValue | undefined, depth: number, budget: TreeBudget): JsonNode {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refused('has a number that JSON cannot express');
    return new NumberNode(JSON.stringify(value));
  }
  // Not the root: its kind and apiVersion are still to be checked.
  if (value === known && depth > 0) return new KnownNode(value);
  budget.open(depth);
  if (Array.isArray(value)) {
    return value.map((item) => {
      budget.element();
      return build(item, undefined, depth + 1, budget);
    });
  }
  const node = new ObjectNode();
  for (const key of Object.keys(value)) {
    const item = value[key];
    // JSON has no undefined: the member is absent.
    if (item === undefined) continue;
    budget.key();
    node.add(wellFormed(key), build(item, memberOf(known, key), depth + 1, budget));
  }
  return node;
}
