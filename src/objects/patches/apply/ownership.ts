import type { StructShape } from '../../../api/codec/shape.ts';
import type { JsonMap, JsonValue } from '../../../lib/json.ts';
import { type Comparison, compare, excluding } from './compare.ts';
import { difference, type FieldSet, intersection, setOf, union } from './field-set.ts';
import { capUpdaters, type Manager, type ManagerId, type Managers, managerKey } from './managers.ts';

/** What a write needs to know of the kind and of the path that it was sent to. */
export interface FieldRules {
  readonly shape: StructShape;
  readonly apiVersion: string;
  /** AP-62: the fields that this path ignores. Their changes have no owner. */
  readonly ignored: FieldSet;
  /** AP-53: parts that every object of a built-in kind has, so that no writer adds them. */
  readonly alwaysPresent: Readonly<Record<string, JsonValue>>;
}

const METADATA = ['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'];

/** AP-45: identity and what the server sets. These exact paths are in no set. */
const UNOWNED = setOf([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[...METADATA, 'managedFields', 'resourceVersion'].map((name) => ['f:metadata', `f:${name}`]),
]);

export const ownedPaths = (set: FieldSet): FieldSet => difference(set, UNOWNED);

export function compareObjects(before: JsonMap, after: JsonMap, rules: FieldRules): Comparison {
  const { shape, ignored, alwaysPresent } = rules;
  return excluding(compare({ ...alwaysPresent, ...before }, { ...alwaysPresent, ...after }, shape), ignored);
}

export interface Conflict {
  readonly manager: Manager;
  readonly paths: FieldSet;
}

/** What other managers own of the fields that a write changes or adds. */
export function conflictsOf(managers: Managers, self: string, { modified, added }: Comparison): Conflict[] {
  const changed = union(modified, added);
  return [...managers]
    .filter(([id]) => id !== self)
    .map(([, manager]) => ({ manager, paths: intersection(manager.set, changed) }))
    .filter(({ paths }) => !paths.isEmpty);
}

/** The managers after a write: changed fields leave all sets but that of `self`, and removed ones leave all. */
export function afterWrite(
  managers: Managers,
  self: string,
  { modified, added, removed }: Comparison,
  { apiVersion }: Pick<FieldRules, 'apiVersion'>,
): Map<string, Manager> {
  const gone = union(modified, added, removed);
  const left = new Map<string, Manager>();
  for (const [id, manager] of managers) {
    // An entry of a version that is not served has no meaning.
    if (manager.apiVersion !== apiVersion) continue;
    const set = id === self ? manager.set : difference(manager.set, gone);
    if (!set.isEmpty) left.set(id, set === manager.set ? manager : { ...manager, set });
  }
  return left;
}

interface UpdateInput {
  readonly before: JsonMap;
  readonly after: JsonMap;
  readonly managers: Managers;
  readonly updater: Pick<ManagerId, 'name' | 'subresource'>;
  /** RFC 3339 */
  readonly now: string;
}

/** AP-52: the managers after a create, an update, or a patch other than apply. */
export function updateManagers(rules: FieldRules, { before, after, managers, updater, now }: UpdateInput): Managers {
  const comparison = compareObjects(before, after, rules);
  const next = afterWrite(managers, '', comparison, rules);
  const owned = ownedPaths(union(comparison.modified, comparison.added));
  if (!owned.isEmpty) {
    const manager = { ...updater, operation: 'Update', apiVersion: rules.apiVersion } as const;
    const id = managerKey(manager);
    const before = next.get(id);
    next.set(id, { ...manager, time: now, set: before === undefined ? owned : union(owned, before.set) });
  }
  return capUpdaters(next);
}
