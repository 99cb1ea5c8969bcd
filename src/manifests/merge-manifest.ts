import { decodeValue } from '../api/codec/decode.ts';
import { type ApiObject, apiVersionOf, type Kind } from '../api/kind.ts';
import { originOf } from '../api/origin-annotation.ts';
import type { JsonMap, JsonValue } from '../lib/json.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { fieldRules, plainObject, storedManagers } from '../objects/managed-fields.ts';
import { type ApplyInput, applyConfig, BEFORE_FIRST_APPLY } from '../objects/patches/apply/apply-config.ts';
import { applyConflict } from '../objects/patches/apply/conflict-error.ts';
import { difference, setOf, without } from '../objects/patches/apply/field-set.ts';
import { type Managers, managerKey, NO_MANAGERS } from '../objects/patches/apply/managers.ts';

/** The field manager of manifests folders. */
const MANIFESTS_MANAGER = 'clusterpass-manifests';

export interface MergedManifest {
  readonly object: ApiObject;
  readonly managers: Managers;
  /** The fields that others had set to other values, and their managers. */
  readonly takenOver: string | undefined;
}

/**
 * Server-side apply of a manifest, except for its status. Fields that others have set and the file does not mention
 * stay. The folder wins a conflict: operators review the folder, and a manual change would otherwise stay for ever.
 */
export function mergeManifest(kind: Kind, manifest: ApiObject, current: ApiObject | undefined): MergedManifest {
  const rules = fieldRules(kind, 'object');
  const live = current === undefined ? undefined : plainObject(current);
  const by = { manager: MANIFESTS_MANAGER, subresource: '', now: toTimestamp(Date.now()) };
  const managers = current === undefined ? NO_MANAGERS : managersOf(kind, current, by);
  const input = { ...by, live, managers, config: configOf(manifest) };
  const { conflicts } = applyConfig(rules, { ...input, force: false });
  const applied = applyConfig(rules, { ...input, force: true });
  const { value } = decodeValue(applied.object as JsonValue, kind, 'Ignore', live === undefined ? {} : { known: live });
  const takenOver = conflicts.length === 0 ? undefined : withoutSummary(applyConflict(conflicts).message);
  return { object: value, managers: applied.managers, takenOver };
}

/** Without `Apply failed with 2 conflicts: `. */
const withoutSummary = (message: string): string => message.slice(message.indexOf(': ') + 2);

type By = Pick<ApplyInput, 'manager' | 'subresource' | 'now'>;

/**
 * An object that 0.1.0 created from a file has no managers, or only those that have applied to it since.
 * What no other manager has applied counts as applied by the folder, as it was then: what the file no longer has is
 * removed.
 */
function managersOf(kind: Kind, current: ApiObject, by: By): Managers {
  const managers = storedManagers(kind, current);
  if (originOf(current.metadata) === undefined) return managers;
  if (managers.size > 0) return withEarlierFields(kind, managers);
  const { finalizers, ownerReferences, ...metadata } = current.metadata;
  const config = configOf({ ...current, metadata });
  const first = { ...by, live: undefined, managers: NO_MANAGERS, config, force: true };
  return applyConfig(fieldRules(kind, 'object'), first).managers;
}

/** Set by controllers, not by files. */
const OF_CONTROLLERS = setOf(['f:finalizers', 'f:ownerReferences'].map((field) => ['f:metadata', field]));

/** Gives the folder, if it owns nothing yet, what was there before the first apply (AP-48). */
function withEarlierFields(kind: Kind, managers: Managers): Managers {
  const of = { apiVersion: apiVersionOf(kind), subresource: '' };
  const folder = { ...of, name: MANIFESTS_MANAGER, operation: 'Apply' } as const;
  const earlierId = managerKey({ ...of, name: BEFORE_FIRST_APPLY, operation: 'Update' });
  const earlier = managers.get(earlierId);
  if (earlier === undefined || managers.has(managerKey(folder))) return managers;
  const set = without(earlier.set, OF_CONTROLLERS);
  return new Map(managers)
    .set(earlierId, { ...earlier, set: difference(earlier.set, set) })
    .set(managerKey(folder), { ...folder, time: earlier.time, set });
}

/** Without the fields of a file that a server wrote: they are no configuration. */
function configOf({ status: _, ...manifest }: ApiObject): JsonMap {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, selfLink, ...metadata } =
    manifest.metadata;
  return { ...manifest, metadata } as unknown as JsonMap;
}
