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
  const places = new Map<string, number>();
  list.forEach((element, index) => {
    const key = compareKey(element, mergeKey);
    if (!places.has(key)) places.set(key, index);
  });
  return places;
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
  for (const place of past.values()) end = Math.max(end, place + 1);
  const mentioned: Placed[] = [];
  const others: Placed[] = [];
  for (const element of list) {
    const key = compareKey(element, mergeKey);
    const want = wanted.get(key);
    const was = past.get(key);
    if (want === undefined) others.push({ element, was, place: was ?? end });
    else mentioned.push({ element, was, place: want });
  }
  const unmentioned = byPlace(others);
  const merged: JsonValue[] = [];
  let next = 0;
  for (const { element, was } of byPlace(mentioned)) {
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

interface Placed {
  readonly element: JsonValue;
  /** Where it stood before the patch; undefined when it is new. */
  readonly was: number | undefined;
  /** What it is sorted by. */
  readonly place: number;
}

/** Stable, and linear: places are indexes of a list, so they can be counted. */
function byPlace(elements: readonly Placed[]): Placed[] {
  const last = elements.reduce((most, { place }) => Math.max(most, place), 0);
  const starts = new Uint32Array(last + 2);
  for (const { place } of elements) starts[place + 1] = (starts[place + 1] ?? 0) + 1;
  for (let place = 1; place < starts.length; place++) starts[place] = (starts[place] ?? 0) + (starts[place - 1] ?? 0);
  const sorted = new Array<Placed>(elements.length);
  for (const placed of elements) {
    const at = starts[placed.place] ?? 0;
    sorted[at] = placed;
    starts[placed.place] = at + 1;
  }
  return sorted;
}
