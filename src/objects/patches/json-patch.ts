import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { MAX_DEPTH } from '../../api/codec/tree.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { cloneJson, equalJson, isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';

export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** Copying a value into itself doubles it, so thirty operations would copy it a billion times. */
const MAX_JSON_PATCH_COPIED_BYTES = 256 * 1024;
/** The least that a copied value counts: an empty object has two bytes of JSON, but costs more. */
const MIN_COPIED_BYTES = 16;
/** An insert into an array, or a removal, moves the items behind it: the work of one patch is bounded. */
const MAX_JSON_PATCH_MOVED_ITEMS = 10_000_000;

/** Longer than any path in an object. Splitting three megabytes of slashes took 80 ms. */
const MAX_POINTER_LENGTH = 64 * 1024;

type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: JsonPointer; readonly value: JsonValue }
  | { readonly op: 'move' | 'copy'; readonly path: JsonPointer; readonly from: JsonPointer }
  | { readonly op: 'remove'; readonly path: JsonPointer };

/**
 * RFC 6902. All operations apply or none does. `document` and `operations` (parsed JSON) are not modified, and the
 * result shares nothing with either. Two deviations, as in Kubernetes: a test of a missing member of an existing object
 * for `null` succeeds, and such a member can be replaced (AP-74).
 *
 * Moves may nest the result deeper than a body: decoding it refuses that.
 *
 * @throws ApiError 400 for a malformed patch, 422 when an operation does not apply, 413 beyond the limits.
 */
export function applyJsonPatch(document: JsonValue, operations: unknown): JsonValue {
  if (!Array.isArray(operations)) throw badRequest('error decoding patch: a JSON patch is an array of operations');
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw tooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${operations.length}`,
    );
  }
  const decoded = operations.map(decode);
  const patched = new PatchedDocument(cloneJson(document));
  for (const operation of decoded) patched.apply(operation);
  return patched.root;
}

function decode(input: unknown, index: number): Operation {
  const malformed = (why: string): ApiError => badRequest(`error decoding patch: operation ${index}: ${why}`);
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw malformed('must be an object');
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(input));

  const pointer = (name: 'path' | 'from'): JsonPointer => {
    const text = fields.get(name);
    if (typeof text !== 'string') throw malformed(`"${name}" must be a string`);
    if (text.length > MAX_POINTER_LENGTH) {
      throw malformed(`"${name}" must be no more than ${MAX_POINTER_LENGTH} characters`);
    }
    const parsed = parseJsonPointer(text);
    if (parsed === undefined) throw malformed(`"${name}" is not a JSON pointer: ${goQuote(text)}`);
    return parsed;
  };

  const op = fields.get('op');
  switch (op) {
    case 'add':
    case 'replace':
    case 'test': {
      const path = pointer('path');
      if (fields.get('value') === undefined) throw malformed('"value" is missing');
      return { op, path, value: fields.get('value') as JsonValue };
    }
    case 'move':
    case 'copy':
      return { op, path: pointer('path'), from: pointer('from') };
    case 'remove':
      return { op, path: pointer('path') };
    default:
      if (typeof op !== 'string') throw malformed('"op" must be a string');
      throw malformed(`unknown "op" ${goQuote(op)}`);
  }
}

/** The copy that the operations modify, with the counters that bound the work of one patch. */
class PatchedDocument {
  root: JsonValue;
  #copiedBytes = 0;
  #movedItems = 0;

  constructor(root: JsonValue) {
    this.root = root;
  }

  apply(operation: Operation): void {
    switch (operation.op) {
      case 'add':
        this.#add(operation.path, cloneJson(operation.value));
        break;
      case 'replace':
        this.#replace(operation.path, cloneJson(operation.value));
        break;
      case 'remove':
        this.#remove(operation.path);
        break;
      case 'move':
        this.#move(operation.from, operation.path);
        break;
      case 'copy':
        this.#add(operation.path, this.#copy(operation.from));
        break;
      case 'test':
        if (!this.#test(operation.path, operation.value)) throw doesNotApply();
    }
  }

  #add(path: JsonPointer, value: JsonValue): void {
    const token = path.at(-1);
    if (token === undefined) {
      this.root = value;
      return;
    }
    const parent = this.#parent(path);
    if (isJsonObject(parent)) {
      parent[token] = value;
    } else if (Array.isArray(parent)) {
      const index = token === '-' ? parent.length : arrayIndex(token, parent.length);
      if (index === undefined) throw doesNotApply();
      this.#countMoved(parent.length - index);
      parent.splice(index, 0, value);
    } else {
      throw doesNotApply();
    }
  }

  #replace(path: JsonPointer, value: JsonValue): void {
    const token = path.at(-1);
    if (token === undefined) {
      this.root = value;
      return;
    }
    const parent = this.#parent(path);
    if (isJsonObject(parent)) parent[token] = value;
    else if (Array.isArray(parent) && resolve(this.root, path) !== undefined) parent[Number(token)] = value;
    else throw doesNotApply();
  }

  #remove(path: JsonPointer): JsonValue {
    const removed = resolve(this.root, path);
    const token = path.at(-1);
    // The whole document cannot be removed: an API object is never empty.
    if (removed === undefined || token === undefined) throw doesNotApply();
    const parent = this.#parent(path);
    if (Array.isArray(parent)) {
      this.#countMoved(parent.length - Number(token));
      parent.splice(Number(token), 1);
    } else if (isJsonObject(parent)) {
      delete parent[token];
    }
    return removed;
  }

  /**
   * RFC 6902 section 4.4: a remove, then an add of the removed value. A move into the value itself fails, because its
   * path no longer exists.
   */
  #move(from: JsonPointer, path: JsonPointer): void {
    if (from.length === 0 && path.length === 0) return;
    this.#add(path, this.#remove(from));
  }

  #copy(from: JsonPointer): JsonValue {
    const value = resolve(this.root, from);
    if (value === undefined) throw doesNotApply();
    return cloneJson(value, (bytes, depth) => {
      if (depth > MAX_DEPTH) throw badRequest(`the patch nests values more than ${MAX_DEPTH} levels deep`);
      this.#copiedBytes += Math.max(bytes, MIN_COPIED_BYTES);
      if (this.#copiedBytes > MAX_JSON_PATCH_COPIED_BYTES) {
        throw tooLarge(`the copy operations of a JSON patch may copy ${MAX_JSON_PATCH_COPIED_BYTES} bytes in all`);
      }
    });
  }

  #test(path: JsonPointer, expected: JsonValue): boolean {
    const actual = resolve(this.root, path);
    if (actual !== undefined) return equalJson(actual, expected);
    return expected === null && isJsonObject(this.#parent(path));
  }

  #parent(path: JsonPointer): JsonValue | undefined {
    return resolve(this.root, path.slice(0, -1));
  }

  #countMoved(items: number): void {
    this.#movedItems += items;
    if (this.#movedItems > MAX_JSON_PATCH_MOVED_ITEMS) {
      throw tooLarge(`a JSON patch may move ${MAX_JSON_PATCH_MOVED_ITEMS} array items in all`);
    }
  }
}

/** Kubernetes' message for a patch that does not apply, for any reason. */
const doesNotApply = (): ApiError =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', { details: {} });

const tooLarge = (why: string): ApiError =>
  new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`);

/** The reference tokens of an RFC 6901 pointer, unescaped; none for the whole document. */
type JsonPointer = readonly string[];

const BAD_ESCAPE = /~(?![01])/;
/** RFC 6901 section 4: no sign, no leading zero. */
const ARRAY_INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

/** Undefined when the text is not a pointer. */
export function parseJsonPointer(text: string): JsonPointer | undefined {
  if (text === '') return [];
  if (!text.startsWith('/') || BAD_ESCAPE.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  // In one pass, so that `~01` does not become a slash (RFC 6901 section 4).
  return text.includes('~')
    ? tokens.map((token) => token.replace(/~[01]/g, (found) => (found === '~1' ? '/' : '~')))
    : tokens;
}

/** An array index from 0 to `limit`; undefined for any other token. */
function arrayIndex(token: string, limit: number): number | undefined {
  if (!ARRAY_INDEX.test(token)) return undefined;
  const index = Number(token);
  return index <= limit ? index : undefined;
}

/** The own member or existing item of this name. */
function getChild(container: JsonValue, token: string): JsonValue | undefined {
  if (Array.isArray(container)) {
    const index = arrayIndex(token, container.length - 1);
    return index === undefined ? undefined : container[index];
  }
  return isJsonObject(container) ? memberOf(container, token) : undefined;
}

/** The value at the pointer; undefined when there is none. */
function resolve(document: JsonValue, pointer: JsonPointer): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const token of pointer) {
    if (value === undefined) return undefined;
    value = getChild(value, token);
  }
  return value;
}
