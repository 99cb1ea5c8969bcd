import { isJsonObject, type JsonValue, member } from './json-value.ts';

/** Lists of a strategic merge patch: what makes two elements the same one, and in which order they end up. */

const MARK = '\u0000';

/** Elements with the same text are the same element: by their merge key if they have one, else by value. */
export function compareKey(element: JsonValue, mergeKey: string | undefined): string {
  const value = mergeKey !== undefined && isJsonObject(element) ? member(element, mergeKey) : element;
  // Nearly every key is a string, which is its own text. The mark keeps `"1"` and `1` apart, and the quote a
  // string that begins with the mark: no other value's JSON begins with one.
  if (typeof value !== 'string') return MARK + JSON.stringify(value ?? null);
  return value.startsWith(MARK) ? `${MARK}"${value}` : value;
}

/** The first place of each element, by what it is compared by. */
export type Positions = ReadonlyMap<string, number>;

export function positions(list: readonly JsonValue[], mergeKey: string | undefined): Positions {
  const found = new Map<string, number>();
  list.forEach((element, index) => {
    const key = compareKey(element, mergeKey);
    if (!found.has(key)) found.set(key, index);
  });
  return found;
}

/** Without repetitions, what was there first. */
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
 * Puts what the patch mentions into the patch's order, and the others between them: each before the first
 * mentioned one that it stood before until now. Both orders are kept; where they disagree, the patch's wins.
 *
 * Lists are as long as a body allows, so each element's key is made once and nothing is sorted by comparing.
 */
export function inOrderOf(
  list: readonly JsonValue[],
  wanted: Positions,
  past: Positions,
  mergeKey: string | undefined,
): JsonValue[] {
  // Behind all that stood somewhere. Repeats have no place of their own, so it is not the number of places.
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
  const unmentioned = sortByRank(others);
  const merged: JsonValue[] = [];
  let next = 0;
  for (const { element, was } of sortByRank(mentioned)) {
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
  /** Where it stood before the patch; undefined when it is new. */
  readonly was: number | undefined;
  /** What it is sorted by. */
  readonly rank: number;
}

/** Stable, and linear: places are indexes of a list, so they can be counted. */
function sortByRank(elements: readonly Sortable[]): Sortable[] {
  const last = elements.reduce((most, { rank }) => Math.max(most, rank), 0);
  const starts = new Uint32Array(last + 2);
  for (const { rank } of elements) starts[rank + 1] = (starts[rank + 1] ?? 0) + 1;
  for (let rank = 1; rank < starts.length; rank++) starts[rank] = (starts[rank] ?? 0) + (starts[rank - 1] ?? 0);
  const sorted = new Array<Sortable>(elements.length);
  for (const item of elements) {
    const at = starts[item.rank] ?? 0;
    sorted[at] = item;
    starts[item.rank] = at + 1;
  }
  return sorted;
}
