import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';

/** Lists of a strategic merge patch: which elements are the same, and the order of the result. */

const MARK = '\u0000';

/** Elements with the same key are the same element. The key is the value of the merge key, or else the whole value. */
export function compareKey(element: JsonValue, mergeKey: string | undefined): string {
  const value = mergeKey !== undefined && isJsonObject(element) ? memberOf(element, mergeKey) : element;
  // A string is its own key. The mark distinguishes `"1"` from `1`, and the quote a string that begins with the mark:
  // the JSON of no other value begins with a quote.
  if (typeof value !== 'string') return MARK + JSON.stringify(value ?? null);
  return value.startsWith(MARK) ? `${MARK}"${value}` : value;
}

/** The first index of each element, by its key. */
export type Positions = ReadonlyMap<string, number>;

export function positions(list: readonly JsonValue[], mergeKey: string | undefined): Positions {
  const found = new Map<string, number>();
  list.forEach((element, index) => {
    const key = compareKey(element, mergeKey);
    if (!found.has(key)) found.set(key, index);
  });
  return found;
}

/** The union, without duplicates. */
export function mergeSets(target: readonly JsonValue[], added: readonly JsonValue[]): JsonValue[] {
  const merged = new Map<string, JsonValue>();
  for (const element of [...target, ...added]) {
    const key = compareKey(element, undefined);
    if (!merged.has(key)) merged.set(key, element);
  }
  return inOrderOf([...merged.values()], positions(added, undefined), positions(target, undefined), undefined);
}

export function deleteListed(target: readonly JsonValue[], listed: readonly JsonValue[]): JsonValue[] {
  const gone = new Set(listed.map((element) => compareKey(element, undefined)));
  return target.filter((element) => !gone.has(compareKey(element, undefined)));
}

/**
 * Orders the elements that the patch mentions as in the patch, and puts each other element before the first mentioned
 * one that it preceded. Where the old order and the patch disagree, the patch wins.
 *
 * Lists are as long as a body allows, so each key is computed once.
 */
export function inOrderOf(
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
