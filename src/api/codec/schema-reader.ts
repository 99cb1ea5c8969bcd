import { clip } from '../../lib/text.ts';
import { type FieldError, forbiddenField, invalidValue, tooLong, tooMany } from '../status.ts';
import { compareBytes } from './go-text/go-json-text.ts';
import { parseGoInt64 } from './go-text/go-parse.ts';
import { canonicalBase64, parseGoTime, TimeSyntaxError } from './go-text/go-time.ts';
import {
  type ArrayShape,
  type BodyStyle,
  type LeafShape,
  type MapShape,
  printGoType,
  type Shape,
  type StructShape,
  UNSET,
} from './shape.ts';
import { goKindOf, type JsonNode, KnownNode, NumberNode, ObjectNode, toPlain } from './tree.ts';
import { MAX_VIOLATIONS, type Path, pathText, reportDuplicates, type Violations } from './violations.ts';

interface ReaderOptions {
  /** Custom resources get the errors of a schema validator (422), built-in types those of Go's decoder (400). */
  readonly style: BodyStyle;
  /** True: keys are read in byte order instead of document order, as kube-apiserver does with YAML. */
  readonly sorted: boolean;
  readonly onUnknown: (path: Path) => void;
  /** Collects duplicate keys; undefined when they were collected before. */
  readonly duplicates: Violations | undefined;
}

/**
 * Reads a tree by a schema: keeps the fields of the schema and reports the others. Null means absence, as in Go.
 * Reading continues after an error, so that one pass finds every unknown field.
 */
export class SchemaReader {
  readonly #options: ReaderOptions;
  /** The first error, with the message of Go's decoder. */
  goError: string | undefined;
  readonly fieldErrors: FieldError[] = [];
  /** Lists, maps and texts that are longer than their schema allows: a 422 for both styles. */
  readonly tooLong: FieldError[] = [];

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Undefined where a value has the wrong type. */
  read(node: JsonNode, shape: Shape, at: Path | undefined): unknown {
    if (node instanceof KnownNode) return node.value;
    switch (shape.type) {
      case 'struct':
        return node instanceof ObjectNode ? this.#struct(node, shape, at) : this.#mismatch(node, shape, at);
      case 'map':
        return node instanceof ObjectNode ? this.#map(node, shape, at) : this.#mismatch(node, shape, at);
      case 'array':
        return Array.isArray(node) ? this.#array(node, shape, at) : this.#mismatch(node, shape, at);
      default:
        return this.#leaf(node, shape, at);
    }
  }

  #struct(node: ObjectNode, shape: StructShape, at: Path | undefined): Record<string, unknown> {
    const values: unknown[] = shape.blank.slice();
    const order = this.#order(node);
    for (let position = 0; position < node.keys.length; position++) {
      const index = order?.[position] ?? position;
      const key = node.keys[index] ?? '';
      const child = node.values[index] ?? null;
      const field = shape.byName.get(key);
      const here: Path = { up: at, key, owner: field === undefined ? undefined : shape.goType };
      if (field === undefined) {
        const why = child === true ? shape.refused.get(key) : undefined;
        if (why === undefined) this.#options.onUnknown(here);
        else this.#forbidden(here, why);
        if (shape.isStrict) this.#forbidden(here, 'unknown field');
        continue;
      }
      if (child === null && shape.isStrict) this.#mismatch(child, field.shape, here);
      if (values[field.index] !== UNSET) this.#options.duplicates?.duplicate(here);
      // S-09: the last one counts, also when it is null.
      if (child === null) values[field.index] = field.keepNull ? null : undefined;
      else values[field.index] = this.read(child, field.shape, here);
    }
    const result: Record<string, unknown> = {};
    for (const field of shape.fields) {
      const value = values[field.index];
      if (value !== undefined && value !== UNSET) result[field.name] = value;
    }
    return result;
  }

  #map(node: ObjectNode, shape: MapShape, at: Path | undefined): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null);
    if (this.#isTooLong(node.keys.length, shape, at)) return result;
    const { duplicates } = this.#options;
    const order = this.#order(node);
    for (let position = 0; position < node.keys.length; position++) {
      const index = order?.[position] ?? position;
      const key = node.keys[index] ?? '';
      const here: Path = { up: at, key, owner: undefined };
      if (duplicates !== undefined && Object.hasOwn(result, key)) duplicates.duplicate(here);
      result[key] = this.#element(node.values[index] ?? null, shape.values, here);
    }
    return result;
  }

  #array(items: readonly JsonNode[], shape: ArrayShape, at: Path | undefined): unknown[] {
    if (this.#isTooLong(items.length, shape, at)) return [];
    return items.map((item, key) => this.#element(item, shape.items, { up: at, key, owner: undefined }));
  }

  #isTooLong(length: number, { maxItems }: ArrayShape | MapShape, at: Path | undefined): boolean {
    if (length <= maxItems) return false;
    if (this.tooLong.length < MAX_VIOLATIONS) this.tooLong.push(tooMany(pathText(at), length, maxItems));
    return true;
  }

  #isTooLongText(text: string, { maxLength }: LeafShape, at: Path | undefined): boolean {
    if (text.length <= maxLength) return false;
    if (this.tooLong.length < MAX_VIOLATIONS) this.tooLong.push(tooLong(pathText(at), maxLength));
    return true;
  }

  /** Null in a map or list: Go reads the zero value, a schema validator reports an error. */
  #element(node: JsonNode, shape: Shape, at: Path): unknown {
    if (node === null && shape.type !== 'any') {
      return this.#validates(at) ? this.#mismatch(node, shape, at) : zeroOf(shape);
    }
    return this.read(node, shape, at) ?? null;
  }

  #leaf(node: JsonNode, shape: LeafShape, at: Path | undefined): unknown {
    switch (shape.type) {
      case 'any':
        return this.#any(node, at);
      case 'boolean':
        return typeof node === 'boolean' ? node : this.#mismatch(node, shape, at);
      case 'integer':
        return node instanceof NumberNode ? this.#integer(node, shape, at) : this.#mismatch(node, shape, at);
      case 'string':
        if (typeof node !== 'string') return this.#mismatch(node, shape, at);
        return this.#isTooLongText(node, shape, at) ? undefined : node;
      default:
        return typeof node === 'string' ? this.#formatted(node, shape, at) : this.#mismatch(node, shape, at);
    }
  }

  #any(node: JsonNode, at: Path | undefined): unknown {
    if (this.#options.duplicates !== undefined) reportDuplicates(node, at, this.#options.duplicates);
    return toPlain(node);
  }

  /** T-26: only digits make an integer. `1e3` and `3600.0` do not, whatever their value. */
  #integer(node: NumberNode, shape: LeafShape, at: Path | undefined): number | undefined {
    const parsed = parseGoInt64(node.text);
    return parsed.ok ? parsed.value : this.#mismatch(node, shape, at);
  }

  #formatted(text: string, shape: LeafShape, at: Path | undefined): string | undefined {
    // The body is refused already. Each further fault would throw an Error: ten thousand took 130 ms.
    if (this.goError !== undefined || this.fieldErrors.length >= MAX_VIOLATIONS) return undefined;
    if (this.#isTooLongText(text, shape, at)) return undefined;
    if (shape.type === 'byte') return canonicalBase64(text) ?? this.#malformed(text, at, base64Problem(text));
    try {
      return parseGoTime(text);
    } catch (error) {
      if (!(error instanceof TimeSyntaxError)) throw error;
      return this.#malformed(text, at, this.#validates(at) ? TIME_PROBLEM : error.message);
    }
  }

  #malformed(text: string, at: Path | undefined, problem: string): undefined {
    if (this.#validates(at)) this.#fieldError(at, clip(text, 64), problem);
    else this.goError ??= problem;
  }

  #mismatch(node: JsonNode, shape: Shape, at: Path | undefined): undefined {
    if (this.#validates(at)) {
      if (this.fieldErrors.length >= MAX_VIOLATIONS) return undefined;
      const found = schemaKindOf(node);
      this.#fieldError(at, found, `must be of type ${schemaTypeOf(shape)}: "${found}"`);
      return undefined;
    }
    const isOther = node instanceof NumberNode && shape.type === 'integer';
    const what = isOther ? `number ${clip(node.text, 64)}` : goKindOf(node);
    this.goError ??= `json: cannot unmarshal ${what} into Go struct field ${goField(at)} of type ${printGoType(shape)}`;
    return undefined;
  }

  /** The metadata of a custom resource is read by Go's decoder too, not by the schema validator. */
  #validates(at: Path | undefined): boolean {
    if (this.#options.style === 'builtin') return false;
    let top = at;
    while (top?.up !== undefined) top = top.up;
    return top?.key !== 'metadata';
  }

  #forbidden(at: Path, why: string): void {
    if (this.fieldErrors.length < MAX_VIOLATIONS) this.fieldErrors.push(forbiddenField(pathText(at), why));
  }

  #fieldError(at: Path | undefined, value: string, problem: string): void {
    if (this.fieldErrors.length >= MAX_VIOLATIONS) return;
    const field = pathText(at);
    this.fieldErrors.push(invalidValue(field, value, `${field} in body ${problem}`));
  }

  /** The indexes of the keys in the order to read; undefined for document order. */
  #order(node: ObjectNode): readonly number[] | undefined {
    if (!this.#options.sorted) return undefined;
    return [...node.keys.keys()].sort((a, b) => compareBytes(node.keys[a] ?? '', node.keys[b] ?? ''));
  }
}

/** For people. kube-apiserver says "must be of type byte". */
const TIME_PROBLEM = 'must be a time in RFC 3339, e.g. 2026-01-02T03:04:05Z';
const base64Problem = (text: string): string =>
  text.trimStart().startsWith('-----BEGIN')
    ? 'must be in base64, and is PEM: encode the file with base64 -w0 FILE'
    : 'must be in base64';

/** As Go prints it: the innermost struct, then all struct fields of the path, without map keys and indexes. */
function goField(at: Path | undefined): string {
  let owner: string | undefined;
  const fields: string[] = [];
  for (let path = at; path !== undefined; path = path.up) {
    if (path.owner === undefined) continue;
    owner ??= path.owner;
    fields.unshift(String(path.key));
  }
  return `${owner ?? ''}.${fields.join('.')}`;
}

function zeroOf(shape: Shape): unknown {
  switch (shape.type) {
    case 'struct':
      return {};
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'integer':
      return 0;
    default:
      return null;
  }
}

function schemaKindOf(node: JsonNode): string {
  if (node instanceof NumberNode) return parseGoInt64(node.text).ok ? 'integer' : 'number';
  return typeof node === 'boolean' ? 'boolean' : goKindOf(node);
}

function schemaTypeOf(shape: Shape): string {
  if (shape.type === 'struct' || shape.type === 'map') return 'object';
  return shape.type === 'date-time' || shape.type === 'byte' ? 'string' : shape.type;
}
