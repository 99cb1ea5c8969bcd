import type { Catalog } from '../api/catalog.ts';
import { withConditionTimes, withServerStatus } from '../api/clusters/conditions.ts';
import { decodeValue } from '../api/codec/decode.ts';
import { MANIFEST_ANNOTATION, originOf } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { ClusterStatus } from '../api/kinds/cluster-spec.ts';
import { ApiError } from '../api/status.ts';
import type { JsonMap, JsonValue } from '../lib/json.ts';
import { inParallel } from '../lib/promises.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import { auditedWriter } from '../objects/audited-writer.ts';
import type { DeletionPropagation } from '../objects/deletion-propagation.ts';
import { fieldRules, plainObject, storedEntries, storedManagers } from '../objects/managed-fields.ts';
import { applyConfig, BEFORE_FIRST_APPLY } from '../objects/patches/apply/apply-config.ts';
import { applyConflict } from '../objects/patches/apply/conflict-error.ts';
import { type Managers, NO_MANAGERS } from '../objects/patches/apply/managers.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { AuditLogs } from '../observability/audit/open-audit.ts';
import {
  SECURITY_GROUPS,
  type ServerChange,
  type ServerEvent,
  serverEvent,
} from '../observability/audit/server-event.ts';
import type { Leadership } from '../storage/contract.ts';
import {
  type Manifest,
  type ManifestPosition,
  type ManifestProblem,
  type Manifests,
  messageOf,
} from './read-manifests.ts';

export interface ApplyParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly propagation: DeletionPropagation;
  /** Only the leader prunes: replicas may see the folder in different states. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly audit: Pick<AuditLogs, 'requests' | 'security'>;
  readonly productName: string;
  readonly work: Work;
}

export interface ApplyReport {
  readonly applied: number;
  /** Documents that could not be read. They are read again when the files change. */
  readonly unread: readonly ManifestProblem[];
  readonly warnings: readonly ManifestProblem[];
  /** Objects that could not be written. They are retried: e.g. their cluster may exist by then. */
  readonly unwritten: readonly ManifestProblem[];
  /** Objects with fields that other managers had set to other values: the folder's are in force now. */
  readonly conflicts: readonly ManifestProblem[];
  readonly created: readonly (ManifestPosition & { readonly name: string })[];
}

/** Concurrent writes share a transaction of the store. */
const CONCURRENCY = 64;

/** Creates and updates objects so that the store has those of the folder, until `signal`. It deletes nothing. */
export async function applyManifests(
  parts: ApplyParts,
  source: string,
  read: Manifests,
  signal?: AbortSignal,
): Promise<ApplyReport> {
  let applied = 0;
  const unwritten: ManifestProblem[] = [];
  const conflicts: ManifestProblem[] = [];
  const created: ApplyReport['created'][number][] = [];
  await parts.reader.catchUp();
  // In the catalog's order, so that clusters and namespaces exist before what is inside them.
  for (const kind of parts.catalog.kinds) {
    const ofKind = read.manifests.filter((manifest) => manifest.kind === kind);
    await inParallel(ofKind, CONCURRENCY, async (manifest) => {
      if (signal?.aborted) return;
      try {
        const { isCreated, takenOver } = await applyOne(parts, source, manifest);
        applied++;
        if (isCreated) created.push({ ...positionOf(manifest), name: manifest.objectKey.name });
        if (takenOver !== undefined) conflicts.push({ ...positionOf(manifest), message: takenOver });
      } catch (error) {
        unwritten.push({ ...positionOf(manifest), message: messageOf(error) });
      }
    });
  }
  return { applied, unread: read.problems, warnings: read.warnings, unwritten, conflicts, created };
}

/** `takenOver`: the fields that the folder took over from other managers; undefined if there are none. */
async function applyOne(
  parts: ApplyParts,
  source: string,
  manifest: Manifest,
): Promise<{ readonly isCreated: boolean; readonly takenOver?: string | undefined }> {
  const { catalog, reader, propagation } = parts;
  const { kind, objectKey, file } = manifest;
  // The leader writes the status of bindings: that of a file would be replaced again and again.
  const { status: _, ...withoutStatus } = manifest.object;
  const object = kind === catalog.fleetRoleBindings ? withoutStatus : manifest.object;
  const origin = `${source}:${file}`;
  const before = reader.find(kind, objectKey);
  const log = SECURITY_GROUPS.has(kind.group) ? parts.audit.security : parts.audit.requests;
  const writer = auditedWriter(parts.writer, PART, (change) =>
    log.write(eventOf(parts, change, origin).complete({ code: change.verb === 'create' ? 201 : 200 })),
  );
  if (before === undefined) {
    try {
      const { managers } = mergeManifest(kind, object, undefined);
      const applied = () => storedEntries(kind, managers);
      const created = withStatus(catalog, kind, object, object, undefined);
      await writer.create(kind, objectKey, created, { dryRun: false, keepStatus: true, origin, applied });
      return { isCreated: true };
    } catch (error) {
      // Another replica that reads the same folder has created it.
      if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
    }
  }
  const part = kind.hasStatus && object.status !== undefined ? 'both' : 'object';
  let merged: MergedManifest | undefined;
  const change = (current: ApiObject): ApiObject => {
    merged = mergeManifest(kind, object, current);
    return withStatus(catalog, kind, merged.object, object, current);
  };
  const applied = () => (merged === undefined ? undefined : storedEntries(kind, merged.managers));
  // An object that was not created from a file is updated, and gets no origin.
  const isOurs = before !== undefined && originOf(before.object().metadata) !== undefined;
  await writer.update(kind, objectKey, change, { dryRun: false, part, applied, ...(isOurs ? { origin } : {}) });
  await propagation.finishDeletions(kind, objectKey);
  return { isCreated: false, takenOver: merged?.takenOver };
}

/** The part of the server that makes these changes, for the audit log. */
export const PART = 'manifests';

export const eventOf = ({ productName }: ApplyParts, change: ServerChange, origin: string): ServerEvent =>
  serverEvent({ ...change, annotations: { [MANIFEST_ANNOTATION]: origin } }, productName, Date.now);

/** A file sets what it has of the status. Conditions that the server maintains stay. */
function withStatus(
  catalog: Catalog,
  kind: Kind,
  merged: ApiObject,
  { status }: ApiObject,
  current: ApiObject | undefined,
): ApiObject {
  if (status === undefined) return merged;
  if (kind !== catalog.clusters) return { ...merged, status };
  const stored = current?.status as ClusterStatus | undefined;
  const timed = withConditionTimes(status as ClusterStatus, stored, toTimestamp(Date.now()));
  return { ...merged, status: stored === undefined ? timed : withServerStatus(timed, stored) };
}

const positionOf = ({ file, document }: Manifest) => ({ file, document });

/** The field manager of manifests folders. */
const MANIFESTS_MANAGER = 'clusterpass-manifests';

interface MergedManifest {
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
