import { isJsonObject, type JsonValue, member } from './json-value.ts';

/** Lists of a strategic merge patch: what makes two elements the same one, and in which order they end up. */

/** Elements with the same text are the same element: by their merge key if they have one, else by value. */
export function compareKey(element: JsonValue, mergeKey: string | undefined): string {
  const value = mergeKey !== undefined && isJsonObject(element) ? member(element, mergeKey) : element;
  return JSON.stringify(value ?? null);
}

/** Without repetitions, what was there first. */
export function mergeSets(target: readonly JsonValue[], added: readonly JsonValue[]): JsonValue[] {
  const merged = new Map<string, JsonValue>();
  for (const element of [...target, ...added]) {
    const key = compareKey(element, undefined);
    if (!merged.has(key)) merged.set(key, element);
  }
  return inOrderOf([...merged.values()], added, target, undefined);
}

export function deleteListed(target: readonly JsonValue[], listed: readonly JsonValue[]): JsonValue[] {
  const gone = new Set(listed.map((element) => compareKey(element, undefined)));
  return target.filter((element) => !gone.has(compareKey(element, undefined)));
}

/**
 * Puts what the patch mentions into the patch's order, and the others between them: each before the first
 * mentioned one that it stood before until now. Both orders are kept; where they disagree, the patch's wins.
 */
export function inOrderOf(
  list: readonly JsonValue[],
  order: readonly JsonValue[],
  before: readonly JsonValue[],
  mergeKey: string | undefined,
): JsonValue[] {
  const wanted = positions(order, mergeKey);
  const past = positions(before, mergeKey);
  const placeIn = (places: ReadonlyMap<string, number>, element: JsonValue): number =>
    places.get(compareKey(element, mergeKey)) ?? Number.POSITIVE_INFINITY;
  const by = (places: ReadonlyMap<string, number>) => (a: JsonValue, b: JsonValue) => {
    const [left, right] = [placeIn(places, a), placeIn(places, b)];
    return left === right ? 0 : left - right;
  };
  const mentioned = list.filter((element) => wanted.has(compareKey(element, mergeKey))).sort(by(wanted));
  const others = list.filter((element) => !wanted.has(compareKey(element, mergeKey))).sort(by(past));

  const merged: JsonValue[] = [];
  let next = 0;
  for (const element of mentioned) {
    const place = placeIn(past, element);
    while (next < others.length && Number.isFinite(place) && placeIn(past, others[next] ?? null) < place) {
      merged.push(others[next++] ?? null);
    }
    merged.push(element);
  }
  return [...merged, ...others.slice(next)];
}

function positions(list: readonly JsonValue[], mergeKey: string | undefined): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  list.forEach((element, index) => {
    const key = compareKey(element, mergeKey);
    if (!places.has(key)) places.set(key, index);
  });
  return places;
}
