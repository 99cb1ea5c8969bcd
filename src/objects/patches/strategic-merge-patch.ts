import { type Shape, UNKNOWN_SHAPE } from '../../api/codec/shape.ts';
import { badRequest } from '../../api/status.ts';
import { cloneJson, isJsonObject, type JsonMap, type JsonValue, memberOf, newJsonMap } from '../../lib/json.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_PREFIX = '$deleteFromPrimitiveList/';
const ORDER_PREFIX = '$setElementOrder/';

/**
 * Kubernetes' strategic merge patch: a merge patch in which the shape says which lists are sets and maps, with
 * directives for what a merge cannot express. Every other list is replaced whole. kubectl sends it for Kubernetes'
 * built-in kinds.
 *
 * Neither argument is modified, and the result shares nothing with them.
 *
 * @throws ApiError 400 when the patch contradicts itself.
 */
export function applyStrategicMergePatch(target: JsonValue, patch: JsonValue, shape: Shape): JsonValue {
  if (!isJsonObject(patch)) throw badRequest('a strategic merge patch must be a JSON object');
  // Copied once, here: otherwise an element would be copied as often as the patch mentions it.
  const own = cloneJson(target);
  return mergeObject(isJsonObject(own) ? own : newJsonMap(), patch, shape);
}

/** Modifies `target` and returns it, unless the patch replaces it. */
function mergeObject(target: JsonMap, patch: JsonMap, shape: Shape): JsonMap {
  const directive = memberOf(patch, DIRECTIVE);
  if (directive === 'replace') return fresh(patch);
  if (directive === 'delete') return newJsonMap();
  if (directive !== undefined && directive !== 'merge') throw unknownDirective(directive);

  const before = positionsBefore(target, patch, shape);
  const retained = retainedKeys(patch);
  if (retained !== undefined) {
    for (const key of Object.keys(target)) if (!retained.has(key)) delete target[key];
  }
  // Removals go first: an element that is both removed and added is in the result.
  for (const [key, value] of Object.entries(patch)) {
    const field = keyAfter(DELETE_PREFIX, key);
    if (field === undefined) continue;
    const current = memberOf(target, field);
    if (Array.isArray(current)) target[field] = deleteListed(current, listOf(key, value));
  }
  for (const [key, change] of Object.entries(patch)) {
    if (isDirective(key)) continue;
    if (change === null) delete target[key];
    else target[key] = mergeValue(memberOf(target, key), change, memberShape(shape, key));
  }
  for (const [key, value] of Object.entries(patch)) {
    const field = keyAfter(ORDER_PREFIX, key);
    if (field === undefined) continue;
    const order = listOf(key, value);
    const member = memberShape(shape, field);
    const mergeKey = mergeKeyOf(member);
    checkLength(order, member);
    checkOrder(field, memberOf(patch, field), order, mergeKey);
    const list = memberOf(target, field);
    if (Array.isArray(list)) {
      target[field] = inOrderOf(list, positions(order, mergeKey), before.get(field) ?? NO_POSITIONS, mergeKey);
    }
  }
  return target;
}

/** The positions of elements in the lists that the patch orders, before any change. */
function positionsBefore(target: JsonMap, patch: JsonMap, shape: Shape): ReadonlyMap<string, Positions> {
  const before = new Map<string, Positions>();
  for (const key of Object.keys(patch)) {
    const field = keyAfter(ORDER_PREFIX, key);
    const list = field === undefined ? undefined : memberOf(target, field);
    if (field === undefined || !Array.isArray(list)) continue;
    before.set(field, positions(list, mergeKeyOf(memberShape(shape, field))));
  }
  return before;
}

function mergeValue(target: JsonValue | undefined, change: JsonValue, shape: Shape): JsonValue {
  if (isJsonObject(change)) {
    return isJsonObject(target) ? mergeObject(target, change, shape) : fresh(change);
  }
  if (!Array.isArray(change)) return change;
  if (!Array.isArray(target) || shape.type !== 'array' || shape.listType === 'atomic') return freshList(change);
  checkLength(change, shape);
  const [key] = shape.keys;
  return key === undefined ? mergeSets(target, freshList(change)) : mergeElements(target, change, shape.items, key);
}

function mergeElements(
  target: readonly JsonValue[],
  change: readonly JsonValue[],
  shape: Shape,
  key: string,
): JsonValue[] {
  const patches = change.map((element) => elementWithKey(element, key));
  const replaces = patches.some((element) => memberOf(element, DIRECTIVE) === 'replace');
  const before = positions(target, key);
  const gone = new Set<string>();
  const added: JsonMap[] = [];
  for (const element of patches) {
    const directive = memberOf(element, DIRECTIVE);
    if (directive === undefined) added.push(element);
    else if (directive === 'delete') gone.add(compareKey(element, key));
    else if (directive !== 'replace') throw unknownDirective(directive);
  }
  const merged = replaces ? [] : target.filter((element) => !gone.has(compareKey(element, key)));
  const indexes = new Map(merged.map((element, index) => [compareKey(element, key), index]));
  for (const element of added) {
    const text = compareKey(element, key);
    const at = indexes.get(text);
    const known = at === undefined ? undefined : merged[at];
    if (at !== undefined && isJsonObject(known)) {
      merged[at] = mergeObject(known, element, shape);
    } else {
      indexes.set(text, merged.length);
      merged.push(fresh(element));
    }
  }
  return inOrderOf(merged, positions(added, key), before, key);
}

/** An element with `$patch: replace` needs no key. */
function elementWithKey(element: JsonValue, key: string): JsonMap {
  if (!isJsonObject(element)) throw badRequest(`a list that is merged by ${key} must hold objects`);
  if (memberOf(element, key) === undefined && memberOf(element, DIRECTIVE) !== 'replace') {
    throw badRequest(`an element of the patch does not contain the declared merge key: ${key}`);
  }
  return element;
}

/** A value without a counterpart in the target: it is copied without directives. */
function fresh(patch: JsonMap): JsonMap {
  const made = newJsonMap();
  for (const [key, value] of Object.entries(patch)) {
    if (isDirective(key) || value === null) continue;
    if (isJsonObject(value)) {
      if (memberOf(value, DIRECTIVE) !== 'delete') made[key] = fresh(value);
    } else made[key] = Array.isArray(value) ? freshList(value) : value;
  }
  return made;
}

function freshList(list: readonly JsonValue[]): JsonValue[] {
  const made: JsonValue[] = [];
  for (const value of list) {
    if (Array.isArray(value)) made.push(freshList(value));
    else if (!isJsonObject(value)) made.push(value);
    else if (memberOf(value, DIRECTIVE) === undefined) made.push(fresh(value));
  }
  return made;
}

/** `$retainKeys` lists all members of the result, so the members of the patch must be among them. */
function retainedKeys(patch: JsonMap): ReadonlySet<string> | undefined {
  const listed = memberOf(patch, RETAIN_KEYS);
  if (listed === undefined) return undefined;
  const keys = new Set(listOf(RETAIN_KEYS, listed).map(String));
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !isDirective(key) && !keys.has(key)) throw badRequest('invalid patch format of retainKeys');
  }
  return keys;
}

/** The elements of the patch must be in the order of its own $setElementOrder list. */
function checkOrder(
  field: string,
  patched: JsonValue | undefined,
  order: readonly JsonValue[],
  mergeKey: string | undefined,
): void {
  if (!Array.isArray(patched)) return;
  const ordered = order.map((element) => compareKey(element, mergeKey));
  let from = 0;
  for (const element of patched) {
    if (isJsonObject(element) && memberOf(element, DIRECTIVE) !== undefined) continue;
    from = ordered.indexOf(compareKey(element, mergeKey), from) + 1;
    if (from === 0) throw badRequest(`the order in patch list ${field} doesn't match $setElementOrder list`);
  }
}

/** Merged lists have a maximum length, which also bounds the lists of a patch. */
function checkLength(list: readonly JsonValue[], shape: Shape): void {
  if (shape.type !== 'array' || list.length <= shape.maxItems) return;
  throw badRequest(`a list of the patch has more than ${shape.maxItems} elements`);
}

const isDirective = (key: string): boolean =>
  key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(DELETE_PREFIX) || key.startsWith(ORDER_PREFIX);

const keyAfter = (prefix: string, key: string): string | undefined =>
  key.startsWith(prefix) ? key.slice(prefix.length) : undefined;

function listOf(key: string, value: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(value)) throw badRequest(`${key.slice(0, 128)} must be a list`);
  return value;
}

const NO_POSITIONS: Positions = new Map();
const mergeKeyOf = (shape: Shape): string | undefined => (shape.type === 'array' ? shape.keys[0] : undefined);
const memberShape = (shape: Shape, key: string): Shape =>
  (shape.type === 'struct' ? shape.byName.get(key)?.shape : undefined) ?? UNKNOWN_SHAPE;

const unknownDirective = (directive: JsonValue) =>
  badRequest(`unknown patch type: ${typeof directive === 'string' ? directive.slice(0, 64) : typeof directive}`);

/** Lists of a strategic merge patch: which elements are the same, and the order of the result. */

const MARK = '\u0000';

/** Elements with the same key are the same element. The key is the value of the merge key, or else the whole value. */
function compareKey(element: JsonValue, mergeKey: string | undefined): string {
  const value = mergeKey !== undefined && isJsonObject(element) ? memberOf(element, mergeKey) : element;
  // A string is its own key. The mark distinguishes `"1"` from `1`, and the quote a string that begins with the mark:
  // the JSON of no other value begins with a quote.
  if (typeof value !== 'string') return MARK + JSON.stringify(value ?? null);
  return value.startsWith(MARK) ? `${MARK}"${value}` : value;
}

/** The first index of each element, by its key. */
type Positions = ReadonlyMap<string, number>;

function positions(list: readonly JsonValue[], mergeKey: string | undefined): Positions {
  const found = new Map<string, number>();
  list.forEach((element, index) => {
    const key = compareKey(element, mergeKey);
    if (!found.has(key)) found.set(key, index);
  });
  return found;
}

/** The union, without duplicates. */
function mergeSets(target: readonly JsonValue[], added: readonly JsonValue[]): JsonValue[] {
  const merged = new Map<string, JsonValue>();
  for (const element of [...target, ...added]) {
    const key = compareKey(element, undefined);
    if (!merged.has(key)) merged.set(key, element);
  }
  return inOrderOf([...merged.values()], positions(added, undefined), positions(target, undefined), undefined);
}

function deleteListed(target: readonly JsonValue[], listed: readonly JsonValue[]): JsonValue[] {
  const gone = new Set(listed.map((element) => compareKey(element, undefined)));
  return target.filter((element) => !gone.has(compareKey(element, undefined)));
}

/**
 * Orders the elements that the patch mentions as in the patch, and puts each other element before the first mentioned
 * one that it preceded. Where the old order and the patch disagree, the patch wins.
 *
 * Lists are as long as a body allows, so each key is computed once.
 */
function inOrderOf(
  list: readonly JsonValue[],
  wanted: Positions,
  past: Positions,
  mergeKey: string | undefined,
): JsonValue[] {
  // After the highest index. Duplicates have no entry, so the size of the map is not it.
  let end = 0;
  for (const index of past.values()) end = Math.max(end, index + 1);
  const mentioned: Sortable[] = [];
  const others: Sortable[] = [];
  for (const element of list) {
    const key = compareKey(element, mergeKey);
    const want = wanted.get(key);
    const was = past.get(key);
    if (want === undefined) others.push({ element, was, rank: was ?? end });
    else mentioned.push({ element, was, rank: want });
  }
  const unmentioned = others.sort(byRank);
  const merged: JsonValue[] = [];
  let next = 0;
  for (const { element, was } of mentioned.sort(byRank)) {
    for (; was !== undefined; next++) {
      const other = unmentioned[next];
      if (other?.was === undefined || other.was >= was) break;
      merged.push(other.element);
    }
    merged.push(element);
  }
  for (; next < unmentioned.length; next++) merged.push(unmentioned[next]?.element ?? null);
  return merged;
}

interface Sortable {
  readonly element: JsonValue;
  /** Its index before the patch; undefined when it is new. */
  readonly was: number | undefined;
  /** The sort key. */
  readonly rank: number;
}

const byRank = (a: Sortable, b: Sortable): number => a.rank - b.rank;
