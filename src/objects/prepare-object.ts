import { withOrigin, withStoredOrigin } from '../api/domain-keys.ts';
import {
  type ApiObject,
  apiVersionOf,
  type Kind,
  type ManagedFieldsEntry,
  type ObjectKey,
  type ObjectMeta,
  type ObjectPart,
  type UnchangedParts,
} from '../api/kind.ts';
import { equalJson, type JsonValue } from '../lib/json.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { WrittenPart } from './managed-fields.ts';

interface MetadataOptions {
  readonly computedAnnotations: readonly string[];
  /** The value of the origin annotation, for an object that comes from a manifests folder. */
  readonly origin?: string | undefined;
}

/**
 * Returns `managedFields` of an object with its defaults. What the server derives from the write afterwards belongs to
 * no manager: the next apply must not remove it.
 */
export type TrackFields = (object: ApiObject) => ManagedFieldsEntry[] | undefined;

/** Clients may not set them: name and namespace come from the path. An update keeps them. */
const SYSTEM_FIELDS = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
] as const;

const systemFieldsOf = (metadata: ObjectMeta): ObjectMeta =>
  Object.fromEntries(SYSTEM_FIELDS.flatMap((name) => (metadata[name] === undefined ? [] : [[name, metadata[name]]])));

function withoutSystemFields({
  selfLink: _s,
  managedFields: _m,
  resourceVersion: _v,
  ...metadata
}: ObjectMeta): ObjectMeta {
  for (const name of SYSTEM_FIELDS) delete metadata[name];
  return metadata;
}

/** What a client may set of an object's metadata. The origin is the server's: it is given, or stays what it was. */
function clientMetadata(
  sent: ObjectMeta,
  stored: ObjectMeta | undefined,
  { computedAnnotations, origin }: MetadataOptions,
): ObjectMeta {
  const metadata = withoutEmpty(withoutComputedAnnotations(withoutSystemFields(sent), computedAnnotations));
  return origin === undefined ? withStoredOrigin(metadata, stored) : withOrigin(metadata, origin);
}

/** As in kube-apiserver, where these fields are omitted when they are empty. */
function withoutEmpty(metadata: ObjectMeta): ObjectMeta {
  const kept = { ...metadata };
  for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const value = kept[key];
    if (value !== undefined && Object.keys(value ?? {}).length === 0) delete kept[key];
  }
  return kept;
}

/** Without annotations that views compute: a client that sends an object back sends them too. */
function withoutComputedAnnotations(metadata: ObjectMeta, computed: readonly string[]): ObjectMeta {
  const { annotations: sent } = metadata;
  if (sent === undefined || !computed.some((key) => Object.hasOwn(sent, key))) return metadata;
  const stored = Object.entries(sent).filter(([key]) => !computed.includes(key));
  const { annotations: _, ...rest } = metadata;
  return stored.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(stored) };
}

const typeOf = (kind: Kind): Pick<ApiObject, 'apiVersion' | 'kind'> => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
});

/** Z-01: drops what the server ignores in a create, and fills in what it sets. */
export function prepareForCreate(
  kind: Kind,
  objectKey: ObjectKey,
  sent: ApiObject,
  stamp: { readonly uid: string; readonly now: number },
  options: MetadataOptions & { keepStatus: boolean },
  track?: TrackFields,
): ApiObject {
  const { status, ...rest } = sent;
  const object: ApiObject = {
    ...rest,
    ...typeOf(kind),
    metadata: {
      name: objectKey.name,
      ...(kind.namespaced ? { namespace: objectKey.namespace } : {}),
      ...clientMetadata(sent.metadata, undefined, options),
      uid: stamp.uid,
      creationTimestamp: toTimestamp(stamp.now),
      ...(kind.countsGenerations ? { generation: 1 } : {}),
    },
  };
  if (status !== undefined && (!kind.hasStatus || options.keepStatus)) object.status = status;
  const created = tracked(completed(kind, object), track);
  return kind.deriveFields?.(created, undefined) ?? created;
}

/** An update changes everything but the status and system fields; of the status subresource, only the status. */
export function prepareForUpdate(
  kind: Kind,
  sent: ApiObject,
  old: ApiObject,
  part: WrittenPart,
  options: MetadataOptions,
  track?: TrackFields,
): ApiObject {
  const metadata =
    part === 'status'
      ? old.metadata
      : {
          ...clientMetadata(sent.metadata, old.metadata, options),
          ...systemFieldsOf(old.metadata),
        };
  const { status: sentStatus, ...sentRest } = sent;
  const { status: oldStatus, ...oldRest } = old;
  const object: ApiObject = { ...(part === 'status' ? oldRest : sentRest), ...typeOf(kind), metadata };
  const status = kind.hasStatus && part === 'object' ? oldStatus : sentStatus;
  if (status !== undefined) object.status = status;
  const changed = tracked(completed(kind, object, old), track);
  const next = kind.deriveFields?.(changed, old) ?? changed;
  if (kind.countsGenerations && part !== 'status' && !sameContent(next, old)) {
    next.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  return next;
}

/** The parts in which an update equals the old object. */
export function unchangedParts({ metadata, spec, status }: ApiObject, old: ApiObject): UnchangedParts {
  const unchanged = new Set<ObjectPart>();
  if (isSameJson(metadata.labels, old.metadata.labels)) unchanged.add('labels');
  if (isSameJson(metadata.annotations, old.metadata.annotations)) unchanged.add('annotations');
  if (isSameJson(spec, old.spec)) unchanged.add('spec');
  if (isSameJson(status, old.status)) unchanged.add('status');
  return unchanged;
}

function tracked(object: ApiObject, track: TrackFields | undefined): ApiObject {
  const managedFields = track?.(object);
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** A marked object with finalizers is deleted when the last of them is removed. */
export const hasFinalizers = ({ metadata }: ApiObject): boolean => (metadata.finalizers ?? []).length > 0;

/**
 * The object with a deletionTimestamp, and as in kube-apiserver a new generation, if it has one, and a grace period of
 * 0; a namespace has none.
 */
export function markForDeletion(kind: Kind, object: ApiObject, now: number): ApiObject {
  const grace = kind.resource === 'namespaces' ? {} : { deletionGracePeriodSeconds: 0 };
  const { generation = 0 } = object.metadata;
  const counted = generation > 0 ? { generation: generation + 1 } : {};
  const deletionTimestamp = toTimestamp(now);
  const marked = { ...object, metadata: { ...object.metadata, deletionTimestamp, ...grace, ...counted } };
  return completed(kind, marked);
}

/** Equal in everything whose change increments the generation. */
function sameContent(a: ApiObject, b: ApiObject): boolean {
  const { metadata: _a, status: _as, ...restA } = a;
  const { metadata: _b, status: _bs, ...restB } = b;
  return isSameJson(restA, restB);
}

/** Whether an update would change nothing. Both objects are prepared or stored ones. */
export function isSameObject(a: ApiObject, b: ApiObject): boolean {
  const { resourceVersion: _a, ...metadataA } = a.metadata;
  const { resourceVersion: _b, ...metadataB } = b.metadata;
  return isSameJson(metadataA, metadataB) && sameContent(a, b) && isSameJson(a.status, b.status);
}

/** AP-58: with the times of the old object if only times of `managedFields` differ: such a write changes nothing. */
export function withOldTimes(object: ApiObject, old: ApiObject): ApiObject {
  const [entries, before] = [object.metadata.managedFields, old.metadata.managedFields];
  if (entries === undefined || before === undefined || !isSameJson(entries.map(withoutTime), before.map(withoutTime))) {
    return object;
  }
  const timed = { ...object, metadata: { ...object.metadata, managedFields: before } };
  return isSameObject(timed, old) ? timed : object;
}

const withoutTime = ({ time: _, ...entry }: ManagedFieldsEntry): ManagedFieldsEntry => entry;

const isSameJson = (a: unknown, b: unknown): boolean => equalJson(a as JsonValue, b as JsonValue);

/**
 * A copy with defaults, in the form that will be decoded from the store: without undefined members, and without the
 * prototypes of the decoder's maps. For a kind without defaults, the copy shares unchanged parts with the old object,
 * so that comparing and validating them is cheap.
 */
function completed(kind: Kind, object: ApiObject, old?: ApiObject): ApiObject {
  const copy = plainValue(object, kind.applyDefaults === undefined ? old : undefined) as ApiObject;
  if (kind.style === 'builtin') dropEmptyLists(copy, ['metadata']);
  kind.applyDefaults?.(copy);
  return copy;
}

/** As Go writes built-in kinds: a patch with an empty list in place of none changes nothing. */
function dropEmptyLists(object: object, except: readonly string[] = []): void {
  for (const [key, value] of Object.entries(object)) {
    if (typeof value !== 'object' || value === null || except.includes(key)) continue;
    if (Array.isArray(value) && value.length === 0) delete (object as Record<string, unknown>)[key];
    else dropEmptyLists(value);
  }
}

/** `known` is the old value of the same field. It was decoded from the store, so it is plain. */
function plainValue(value: unknown, known?: unknown): unknown {
  if (typeof value !== 'object' || value === null || value === known) return value;
  if (Array.isArray(value)) return value.map((item) => plainValue(item));
  const knownObject =
    typeof known === 'object' && known !== null ? (known as Readonly<Record<string, unknown>>) : undefined;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, unknown>>)[key];
    if (inner === undefined) continue;
    // An assignment would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...OWN_PROPERTY, value: plainValue(inner) });
    else copy[key] = plainValue(inner, knownObject?.[key]);
  }
  return copy;
}

const OWN_PROPERTY = { writable: true, enumerable: true, configurable: true } as const;
