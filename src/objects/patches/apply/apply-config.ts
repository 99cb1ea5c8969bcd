import { equalJson, type JsonMap } from '../../../lib/json.ts';
import { type FieldSet, union, without } from './field-set.ts';
import { fieldSetOf } from './field-set-of.ts';
import { forgiveLastApplied, withLastApplied } from './last-applied.ts';
import { type Managers, managerKey } from './managers.ts';
import { merge } from './merge.ts';
import {
  afterWrite,
  type Conflict,
  compareObjects,
  conflictsOf,
  type FieldRules,
  ownedPaths,
  updateManagers,
} from './ownership.ts';
import { prune } from './prune.ts';

export interface ApplyInput {
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
