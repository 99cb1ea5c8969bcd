import { decodeValue } from '../../api/codec/decode.ts';
import { invalid, invalidValue } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { type ObjectKey, objectKeyOf } from '../../api/object-key.ts';
import { type ApiRequest, type ApiResponse, sentBody } from '../../api/request.ts';
import { ApiError, badRequest, conflict } from '../../api/status.ts';
import type { JsonValue } from '../../lib/json.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import {
  checkManagedFieldsSize,
  fieldRules,
  plainObject,
  storedEntries,
  storedManagers,
} from '../../objects/managed-fields.ts';
import { applyConfig } from '../../objects/patches/apply/apply-config.ts';
import { applyConflict } from '../../objects/patches/apply/conflict-error.ts';
import type { Managers } from '../../objects/patches/apply/managers.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import { pauseAfter } from '../../objects/write-queue.ts';
import { type ApplyOptions, parseApplyOptions } from '../options/write-options.ts';
import { APPLY_JSON, APPLY_YAML, type Configuration, readConfiguration } from './apply-body.ts';
import { checkHiddenFields } from './check-hidden-fields.ts';
import { mirroredUid } from './mirrored-uid.ts';
import { preserveUnseenFields } from './preserve-hidden-fields.ts';
import { checkNamespace, checkSameObject, preconditionsIn, warnOfDropped } from './read-body.ts';
import { admitWrite, createStored, partOf, seesWhole, updateStored, type WriteParts } from './write-parts.ts';

/** The media types of server-side apply. */
export const APPLY_TYPES: readonly string[] = [APPLY_YAML, APPLY_JSON];

/** Server-side apply: creates the object, or merges the configuration of one manager into it (AP-48). */
export async function applyObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const { work } = request;
  const options = parseApplyOptions(request.query);
  const configuration = readConfiguration(sentBody(request.body), kind);
  warnOfDropped(request.warn, kind, configuration.dropped);
  if (work.isUsedUp) await work.turn();
  const apply: Apply = { parts, request, kind, options, configuration, objectKey: objectKeyOf(request, kind) };
  for (let conflicts = 1; ; conflicts++) {
    await parts.reader.catchUp();
    const exists = parts.reader.find(kind, apply.objectKey) !== undefined;
    // AP-21: the status of an object that does not exist is a 404 of the update.
    const creates = !exists && request.target.subresource === '';
    try {
      return creates ? await create(apply) : await update(apply);
    } catch (error) {
      const { reason, details } = error instanceof ApiError ? error.status : {};
      // Others can create and delete the object between the read and the write. The role of a binding is another one.
      const isAboutIt = details?.kind === kind.resource && details.name === apply.objectKey.name;
      const hasChanged = creates ? reason === 'AlreadyExists' : reason === 'NotFound' && exists && isAboutIt;
      if (!hasChanged) throw error;
    }
    await pauseAfter(conflicts, request);
  }
}

interface Apply {
  readonly parts: WriteParts;
  readonly request: ApiRequest;
  readonly kind: Kind;
  readonly options: ApplyOptions;
  readonly configuration: Configuration;
  readonly objectKey: ObjectKey;
}

function create(apply: Apply): Promise<ApiResponse> {
  const { parts, request, kind, options } = apply;
  const { object, managers } = merged(apply, undefined);
  const { resourceVersion: _, ...metadata } = object.metadata;
  const admit = admitWrite(parts, request, kind);
  return createStored(
    parts,
    request,
    kind,
    { ...object, metadata },
    {
      dryRun: options.dryRun,
      applied: () => storedEntries(kind, managers),
      // AP-08: creating takes the verb `create`; `patch` is not enough.
      admit: (prepared, old) => {
        parts.checkCreate(request);
        admit(prepared, old);
      },
    },
  );
}

function update(apply: Apply): Promise<ApiResponse> {
  const { parts, request, kind, options } = apply;
  let managers: Managers = new Map();
  const change = (current: ApiObject): ApiObject => {
    const result = merged(apply, current);
    managers = result.managers;
    return result.object;
  };
  const applied = () => storedEntries(kind, managers);
  return updateStored(parts, request, kind, change, { dryRun: options.dryRun, applied });
}

/** The merge, and the checks that follow it, in their order (AP-19). */
function merged(apply: Apply, current: ApiObject | undefined): { object: ApiObject; managers: Managers } {
  const { parts, request, kind, options, configuration, objectKey } = apply;
  const isPublic = current !== undefined && partOf(request) === 'object' && !seesWhole(parts, request, kind, current);
  if (isPublic) {
    // A configuration need not have metadata: the name is in the path.
    const sent = { ...configuration.config, metadata: configuration.config.metadata ?? {} } as unknown as ApiObject;
    checkHiddenFields(parts, request, kind, { sent, current }, 'apply');
  }
  const live = current === undefined ? undefined : plainObject(current);
  const { object, managers, conflicts } = applyConfig(fieldRules(kind, partOf(request)), {
    live,
    managers: current === undefined ? new Map() : storedManagers(kind, current),
    config: configuration.config,
    manager: options.fieldManager,
    subresource: request.target.subresource,
    force: options.force,
    now: toTimestamp(parts.now()),
  });
  if (conflicts.length > 0) throw applyConflict(conflicts);
  reportDuplicates(apply);
  const read = decodeValue(object as JsonValue, kind, 'Ignore', live === undefined ? {} : { known: live }).value;
  // A manager that no longer applies a field removes it, but not one that the caller does not see.
  const decoded = isPublic ? preserveUnseenFields(parts, kind, read, current) : read;
  checkUid(kind, objectKey.name, decoded, current);
  checkNamespace(decoded, kind, objectKey.namespace);
  checkSameObject(decoded, kind, objectKey);
  const { resourceVersion } = preconditionsIn(decoded);
  if (current !== undefined && resourceVersion !== undefined) checkPreconditions(kind, current, { resourceVersion });
  checkManagedFieldsSize(kind, objectKey.name, managers);
  return { object: decoded, managers };
}

/** AP-18. Each warning is sent once, however often the merge runs. */
function reportDuplicates({ request, kind, options, configuration: { duplicates } }: Apply): void {
  const mode = kind.shape.isStrict ? 'Strict' : options.fieldValidation;
  if (duplicates.length === 0 || mode === 'Ignore') return;
  if (mode === 'Strict') {
    throw badRequest(
      `error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`,
    );
  }
  for (const duplicate of duplicates) request.warn(duplicate);
}

/** AP-17. A copy of an object of a cluster is created with its UID there. */
function checkUid(kind: Kind, name: string, object: ApiObject, current: ApiObject | undefined): void {
  const { uid = '' } = object.metadata;
  if (uid === '' || uid === current?.metadata.uid) return;
  if (current === undefined) {
    if (mirroredUid(kind, object) !== undefined) return;
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(kind, name, why);
  }
  const error = invalidValue('metadata.uid', uid, 'field is immutable');
  // AP-85: kube-apiserver reports it twice for custom resources.
  throw invalid(kind, name, kind.style === 'custom' ? [error, error] : [error]);
}
