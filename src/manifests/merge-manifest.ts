import { decodeValue } from '../api/codec/decode.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { JsonMap, JsonValue } from '../lib/json.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { fieldRules, plainObject, storedManagers } from '../objects/managed-fields.ts';
import { applyConfig, BEFORE_FIRST_APPLY } from '../objects/patches/apply/apply-config.ts';
import { applyConflict } from '../objects/patches/apply/conflict-error.ts';
import { type Managers, NO_MANAGERS } from '../objects/patches/apply/managers.ts';

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
  const managers = current === undefined ? NO_MANAGERS : storedManagers(kind, current);
  const input = { ...by, live, managers, config: configOf(manifest) };
  const { conflicts } = applyConfig(rules, { ...input, force: false });
  const applied = applyConfig(rules, { ...input, force: true });
  const { value } = decodeValue(applied.object as JsonValue, kind, 'Ignore', live === undefined ? {} : { known: live });
  const takenOver = conflicts.length === 0 ? undefined : withoutSummary(applyConflict(conflicts).message);
  // The folder made an object without managers: a file that sets no field leaves none. It had no fields before.
  const ofFields = [...applied.managers].filter(([, { name }]) => managers.size > 0 || name !== BEFORE_FIRST_APPLY);
  return { object: value, managers: new Map(ofFields), takenOver };
}

/** Without `Apply failed with 2 conflicts: `. */
const withoutSummary = (message: string): string => message.slice(message.indexOf(': ') + 2);

/** Without the fields of a file that a server wrote: they are no configuration. */
function configOf({ status: _, ...manifest }: ApiObject): JsonMap {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, selfLink, ...metadata } =
    manifest.metadata;
  return { ...manifest, metadata } as unknown as JsonMap;
}
