import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { decodeValue } from '../../api/codec/decode.ts';
import { keepPart } from '../../api/codec/keep-part.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { parseYaml } from '../../api/codec/parse-yaml.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { decodeUtf8 } from '../../api/codec/utf8.ts';
import { duplicatesIn } from '../../api/codec/violations.ts';
import { YamlSyntaxError } from '../../api/codec/yaml-tokens.ts';
import { MANIFEST_ANNOTATION } from '../../api/domain-keys.ts';
import { type ApiObject, apiVersionOf, type Kind, type ObjectKey, objectKeyOf } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { type ApiRequest, type ApiResponse, type SentBody, sentBody } from '../../api/request.ts';
import { ApiError, badRequest, conflict, invalid, invalidValue } from '../../api/status.ts';
import { isJsonObject, type JsonMap, type JsonValue, memberOf } from '../../lib/json.ts';
import { clip } from '../../lib/text.ts';
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
import { schemaErrors } from '../../objects/patches/apply/schema-errors.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import { pauseAfter } from '../../objects/write-queue.ts';
import { type ApplyOptions, parseApplyOptions } from '../options/write-options.ts';
import { keepHidden, requireShown } from './hidden-fields.ts';
import { checkNamespace, checkSameObject, preconditionsIn, warnOfDropped } from './read-body.ts';
import {
  admitWrite,
  createStored,
  mirroredUid,
  partOf,
  seesWhole,
  updateStored,
  type WriteParts,
} from './write-parts.ts';

const APPLY_YAML = 'application/apply-patch+yaml';
/** Not in kube-apiserver. Its bodies must be JSON. */
const APPLY_JSON = 'application/apply-patch+json';

interface Configuration {
  readonly config: JsonMap;
  /** AP-18: `line 7: key "a" already set in map`; the last one counts. */
  readonly duplicates: readonly string[];
  /** Paths of fields that the kind does not keep. */
  readonly dropped: readonly string[];
}

/**
 * The configuration of an apply, which fits the schema of the kind.
 *
 * @throws ApiError 400 (AP-10 to AP-12, AP-25 to AP-28). kube-apiserver answers 500 where the schema does not fit.
 */
function readConfiguration(body: SentBody, kind: Kind): Configuration {
  const { root: sent, duplicates } = parse(body);
  // Fields that the kind does not keep are dropped with a warning, and have no owner.
  const { root, dropped } = keepPart(sent, kind.shape);
  const config = toPlain(root) ?? {};
  if (!isJsonObject(config)) throw badRequest('error decoding YAML: the body of an apply must be an object');
  checkType(config, kind);
  const metadata = memberOf(config, 'metadata');
  if (isJsonObject(metadata) && (memberOf(metadata, 'managedFields') ?? null) !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = schemaErrors(config, kind.shape);
  if (problem !== undefined)
    throw badRequest(`failed to create typed patch object (${nameOf(config, kind)}): ${problem}`);
  // Refuses what is larger than the schema allows, before the merge works on it.
  decodeValue(config, kind, 'Ignore');
  return { config: withoutServerAnnotations(config, kind), duplicates, dropped };
}

/** Nearly every client sends JSON, which is YAML: that parser is faster and takes larger bodies. */
function parse({ bytes, mediaType }: SentBody) {
  if (bytes.length === 0) return { root: null, duplicates: [] };
  try {
    const root = parseJson(bytes);
    const duplicates = duplicatesIn(root);
    if (duplicates.length === 0 || mediaType === APPLY_JSON) return { root, duplicates };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (mediaType === APPLY_JSON) throw badRequest(`error decoding JSON: ${error.message}`);
  }
  try {
    return parseYaml(decodeUtf8(bytes));
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw badRequest(`error decoding YAML: ${error.message}`);
  }
}

/** AP-11 */
function checkType(config: JsonMap, kind: Kind): void {
  const [apiVersion, name] = [stringOr(memberOf(config, 'apiVersion')), stringOr(memberOf(config, 'kind'))];
  if (apiVersion === apiVersionOf(kind) && name === kind.kind) return;
  throw badRequest(`invalid object type: ${goGroupVersion(clip(apiVersion))}, Kind=${clip(name)}`);
}

/** As Go prints a group and version: the core group is empty. */
const goGroupVersion = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion : `/${apiVersion}`);

const stringOr = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

function nameOf(config: JsonMap, kind: Kind): string {
  const metadata = memberOf(config, 'metadata');
  const part = (name: string): string => (isJsonObject(metadata) ? clip(stringOr(memberOf(metadata, name))) : '');
  return `${part('namespace')}/${part('name')}; ${goGroupVersion(apiVersionOf(kind))}, Kind=${kind.kind}`;
}

/** Annotations that the server computes or sets are not applied, and have no owner. */
function withoutServerAnnotations(config: JsonMap, kind: Kind): JsonMap {
  const metadata = memberOf(config, 'metadata');
  const annotations = isJsonObject(metadata) ? memberOf(metadata, 'annotations') : undefined;
  if (!isJsonObject(metadata) || !isJsonObject(annotations)) return config;
  const ours = [MANIFEST_ANNOTATION, ...(isClusters(kind) ? Object.values(COMPUTED_ANNOTATIONS) : [])];
  if (!ours.some((key) => Object.hasOwn(annotations, key))) return config;
  const others = Object.entries(annotations).filter(([key]) => !ours.includes(key));
  return { ...config, metadata: { ...metadata, annotations: Object.fromEntries(others) } };
}

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
    requireShown(parts, request, kind, { sent, current }, 'apply');
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
  checkUid(kind, objectKey.name, read, current);
  checkNamespace(read, kind, objectKey.namespace);
  checkSameObject(read, kind, objectKey);
  const { resourceVersion } = preconditionsIn(read);
  if (current !== undefined && resourceVersion !== undefined) checkPreconditions(kind, current, { resourceVersion });
  checkManagedFieldsSize(kind, objectKey.name, managers);
  // A manager that no longer applies a field removes it, but not one that the caller does not see.
  return { object: isPublic ? keepHidden(parts, read, current) : read, managers };
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
