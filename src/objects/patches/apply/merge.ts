import type { ArrayShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { type JsonMap, type JsonValue, memberOf, newJsonMap } from '../../../lib/json.ts';
import { elementOrNone, itemElement, itemsByElement } from './list-items.ts';
import { areEmpty, isLeaf, itemsOf, memberShape, membersOf } from './typed-value.ts';

/**
 * AP-49: the applied configuration over the live value. Undefined for a container that would have nothing in it. The
 * result shares parts with both.
 */
export function merge(live: JsonValue | undefined, config: JsonValue | undefined, shape: Shape): JsonValue | undefined {
  if (config === undefined) return live;
  if (live === undefined || isLeaf(shape) || areEmpty(live, config, shape)) return config;
  if (shape.type === 'array') return mergeItems(itemsOf(live) ?? [], itemsOf(config) ?? [], shape);
  if (shape.type === 'struct' || shape.type === 'map') {
    return mergeMembers(membersOf(live) ?? {}, membersOf(config) ?? {}, shape);
  }
  return config;
}

function mergeMembers(live: JsonMap, config: JsonMap, shape: StructShape | MapShape): JsonValue | undefined {
  const merged = newJsonMap();
  const put = (key: string): void => {
    const value = merge(memberOf(live, key), memberOf(config, key), memberShape(shape, key));
    if (value !== undefined) merged[key] = value;
  };
  for (const key of Object.keys(live)) put(key);
  for (const key of Object.keys(config)) if (!Object.hasOwn(live, key)) put(key);
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Items that only the live list has stay, shared ones are in the order of the configuration. */
function mergeItems(
  live: readonly JsonValue[],
  config: readonly JsonValue[],
  shape: ArrayShape,
): JsonValue | undefined {
  const liveElements = live.map((item) => elementOrNone(item, shape));
  const configElements = config.map((item) => itemElement(item, shape));
  const twins = itemsByElement(live, shape);
  const configured = new Set(configElements);
  const shared = configElements.filter((element) => twins.has(element))[Symbol.iterator]();
  let next: string | undefined = shared.next().value;
  const merged: JsonValue[] = [];
  const done = new Set<string>();
  const putConfig = (at: number): void => {
    const element = configElements[at] ?? '';
    const same = twins.get(element) ?? [];
    // Live items with the same key are replaced as one.
    const item = merge(same.length === 1 ? same[0] : undefined, config[at], shape.items);
    if (item !== undefined) merged.push(item);
    done.add(element);
    if (next === element) next = shared.next().value;
  };
  let [l, c] = [0, 0];
  while (l < live.length || c < config.length) {
    const element = liveElements[l];
    const isConfigured = element !== undefined && configured.has(element);
    if (l < live.length && c < config.length) {
      if (element !== undefined && element === configElements[c]) {
        putConfig(c++);
        l++;
        continue;
      }
      // Its turn comes after another shared item.
      if (isConfigured && next !== undefined && next !== element) {
        l++;
        continue;
      }
    }
    if (l < live.length) {
      if (!isConfigured) {
        merged.push(live[l] ?? null);
        l++;
        continue;
      }
      if (done.has(element)) l++;
    }
    if (c < config.length) putConfig(c++);
  }
  return merged.length === 0 ? undefined : merged;
}
