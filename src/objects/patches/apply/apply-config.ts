import type { ArrayShape, MapShape, Shape, StructShape } from '../../../api/codec/shape.ts';
import { equalJson, type JsonMap, type JsonValue, memberOf, newJsonMap } from '../../../lib/json.ts';
import { areEmpty, isLeaf, itemsOf, memberShape, membersOf } from './compare.ts';
import { difference, FieldSet, intersection, union, without } from './field-set.ts';
import { fieldSetOf, withDeclaredParents } from './field-set-of.ts';
import { fieldElement } from './fields-v1.ts';
import { forgiveLastApplied, withLastApplied } from './last-applied.ts';
import { elementOrNone, itemElement, itemsByElement } from './list-items.ts';
import { type Managers, managerKey } from './managers.ts';
import {
  afterWrite,
  type Conflict,
  compareObjects,
  conflictsOf,
  type FieldRules,
  ownedPaths,
  updateManagers,
} from './ownership.ts';

interface ApplyInput {
  /** The object without `managedFields`; undefined when it does not exist. */
  readonly live: JsonMap | undefined;
  readonly managers: Managers;
  /** Fits the schema. */
  readonly config: JsonMap;
  /** The applier. */
  readonly manager: string;
  readonly subresource: string;
  readonly force: boolean;
  /** RFC 3339 */
  readonly now: string;
}

export interface Applied {
  readonly object: JsonMap;
  readonly managers: Managers;
  /** Without `force` and with conflicts, nothing is to be written. */
  readonly conflicts: readonly Conflict[];
}

/** Owns what was written before the first apply (AP-48). */
export const BEFORE_FIRST_APPLY = 'before-first-apply';

/** AP-48: server-side apply of a configuration, without validation and storage. */
export function applyConfig(rules: FieldRules, input: ApplyInput): Applied {
  const managers = managersBefore(rules, input);
  const applied = applyTo(rules, { ...input, managers });
  if (input.manager !== 'kubectl') return applied;
  const conflicts = forgiveLastApplied(applied.conflicts, input.live, rules);
  return { ...applied, conflicts, object: withLastApplied(applied.object, input.config) };
}

function managersBefore(rules: FieldRules, { live, managers, subresource, now }: ApplyInput): Managers {
  if (managers.size > 0 || live === undefined) return managers;
  const updater = { name: BEFORE_FIRST_APPLY, subresource };
  return updateManagers(rules, { before: {}, after: live, managers, updater, now });
}

function applyTo(rules: FieldRules, input: ApplyInput): Applied {
  const { config, manager: name, subresource, now, force } = input;
  const live = input.live ?? {};
  const applier = { name, operation: 'Apply', apiVersion: rules.apiVersion, subresource } as const;
  const id = managerKey(applier);
  const last = input.managers.get(id);
  const set = without(fieldSetOf(config, rules.shape), rules.ignored);
  const claimed = new Map(input.managers).set(id, { ...applier, time: last?.time, set });
  const merged = merge(live, config, rules.shape) ?? {};
  const owned = (): FieldSet => union(...[...claimed.values()].map(({ set }) => set));
  const object = (last === undefined ? merged : prune(merged, last.set, owned(), rules.shape)) as JsonMap;
  const comparison = compareObjects(live, object, rules);
  const conflicts = force ? [] : conflictsOf(claimed, id, comparison);
  const managers = afterWrite(claimed, id, comparison, rules);
  const own = ownedPaths(set);
  managers.delete(id);
  // AP-57: an apply that changes no value moves no time.
  const time = equalJson(live, object) ? last?.time : now;
  if (!own.isEmpty) managers.set(id, { ...applier, time, set: own });
  return { object, managers, conflicts };
}

const NOTHING = new FieldSet();

/**
 * Removes what the applier applied last time, does not apply now, and no manager owns. `last` is the set of the applier
 * before, `owned` everything that any manager owns now. A field of the schema counts as owned while anything below it
 * is.
 */
function prune(merged: JsonValue, last: FieldSet, owned: FieldSet, shape: Shape): JsonValue {
  const [hadBefore, isOwned] = [withDeclaredParents(last, shape), withDeclaredParents(owned, shape)];
  if (difference(hadBefore, isOwned).isEmpty) return merged;
  const setIn = (value: JsonValue): FieldSet => withDeclaredParents(fieldSetOf(value, shape), shape);
  const all = setIn(merged);
  const keptFirst = setIn(remove(merged, hadBefore, shape));
  const kept = setIn(remove(merged, difference(all, union(keptFirst, isOwned)), shape));
  // What the applier did not own stays, even if no manager owns it.
  return remove(merged, intersection(difference(all, kept), hadBefore), shape);
}

/** The value without the paths of the set, and what is below them. A container that becomes empty stays as empty. */
function remove(value: JsonValue, paths: FieldSet, shape: Shape): JsonValue {
  if (paths.children.size === 0 || isLeaf(shape)) return value;
  if (shape.type === 'array') {
    const items = itemsOf(value);
    return items === undefined ? value : removeItems(items, paths, shape);
  }
  if (shape.type !== 'struct' && shape.type !== 'map') return value;
  const members = membersOf(value);
  return members === undefined ? value : removeMembers(members, paths, shape);
}

function removeMembers(members: JsonMap, paths: FieldSet, shape: StructShape | MapShape): JsonValue {
  const kept = newJsonMap();
  for (const key of Object.keys(members)) {
    const below = paths.children.get(fieldElement(key)) ?? NOTHING;
    if (!below.isMember) kept[key] = remove(members[key] ?? null, below, memberShape(shape, key));
  }
  return kept;
}

function removeItems(items: readonly JsonValue[], paths: FieldSet, shape: ArrayShape): JsonValue {
  const kept: JsonValue[] = [];
  for (const item of items) {
    const below = paths.children.get(elementOrNone(item, shape) ?? '') ?? NOTHING;
    if (!below.isMember) kept.push(remove(item, below, shape.items));
  }
  return kept;
}

/**
 * AP-49: the applied configuration over the live value. Undefined for a container that would have nothing in it. The
 * result shares parts with both.
 */
function merge(live: JsonValue | undefined, config: JsonValue | undefined, shape: Shape): JsonValue | undefined {
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
