import { decodeValue } from '../api/codec/decode.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { originOf } from '../api/origin-annotation.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { fieldRules, plainObject, storedManagers } from '../objects/managed-fields.ts';
import { type ApplyInput, applyConfig } from '../objects/patches/apply/apply-config.ts';
import { applyConflict } from '../objects/patches/apply/conflict-error.ts';
import type { Managers } from '../objects/patches/apply/managers.ts';
import type { JsonObject, JsonValue } from '../objects/patches/json-value.ts';

/** The field manager of manifests folders. */
const MANIFESTS_MANAGER = 'clusterpass-manifests';

export interface MergedManifest {
  readonly object: ApiObject;
  readonly managers: Managers;
  /** The fields that others had set to other values, and their managers. */
  readonly takenOver: string | undefined;
}

/**
 * Server-side apply of a manifest, except for its status. What others have set and the file does not mention stays. The
 * folder wins a conflict: it is what the operator reviews, and without it a change by hand would last for ever.
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
  const takenOver = conflicts.length === 0 ? undefined : textOf(applyConflict(conflicts).message);
  return { object: value, managers: applied.managers, takenOver };
}

const NO_MANAGERS: Managers = new Map();

/** Without `Apply failed with 2 conflicts: `. */
const textOf = (message: string): string => message.slice(message.indexOf(': ') + 2);

type By = Pick<ApplyInput, 'manager' | 'subresource' | 'now'>;

/**
 * An object that an earlier release created from a file has no managers. All of it counts as applied by the folder, as
 * it was then: what the file no longer has is removed.
 */
function managersOf(kind: Kind, current: ApiObject, by: By): Managers {
  const managers = storedManagers(kind, current);
  if (managers.size > 0 || originOf(current.metadata) === undefined) return managers;
  // Controllers set these.
  const { finalizers, ownerReferences, ...metadata } = current.metadata;
  const config = configOf({ ...current, metadata });
  const first = { ...by, live: undefined, managers: NO_MANAGERS, config, force: true };
  return applyConfig(fieldRules(kind, 'object'), first).managers;
}

/** Without the fields of a file that a server wrote: they are no configuration. */
function configOf({ status: _, ...manifest }: ApiObject): JsonObject {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, selfLink, ...metadata } =
    manifest.metadata;
  return { ...manifest, metadata } as unknown as JsonObject;
}
