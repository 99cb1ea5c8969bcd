import { type ApiObject, apiVersionOf, type Kind, type ObjectMeta } from '../api/kind.ts';
import type { ObjectKey } from '../api/object-key.ts';
import { utcSecond } from '../lib/utc-second.ts';
import { equalJson, type JsonValue } from './patches/json-value.ts';

/** Seconds, UTC: the only form of time in the API (T-09). */
export const toTimestamp = (epochMs: number): string => `${utcSecond(Math.floor(epochMs / 1000))}Z`;

export interface Stamp {
  readonly uid: string;
  readonly now: number;
}

/** What callers may not set is dropped from whatever they send; name and namespace are the path's to say. */
function withoutSystemFields(metadata: ObjectMeta): ObjectMeta {
  const {
    name: _name,
    namespace: _namespace,
    uid: _uid,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    selfLink: _selfLink,
    managedFields: _managed,
    resourceVersion: _version,
    ...rest
  } = metadata;
  return rest;
}

/** Computed for every view, so a copy that comes back with an object is not stored. */
function withoutComputedAnnotations(metadata: ObjectMeta, computed: readonly string[]): ObjectMeta {
  const { annotations: sent } = metadata;
  if (sent === undefined || !computed.some((key) => Object.hasOwn(sent, key))) return metadata;
  const kept = Object.entries(sent).filter(([key]) => !computed.includes(key));
  const { annotations: _, ...rest } = metadata;
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

const typeOf = (kind: Kind): Pick<ApiObject, 'apiVersion' | 'kind'> => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
});

/** Z-01: what the server fills in and what it ignores when an object is created. */
export function prepareCreate(
  kind: Kind,
  objectKey: ObjectKey,
  sent: ApiObject,
  stamp: Stamp,
  options: { computedAnnotations: readonly string[]; keepStatus: boolean },
): ApiObject {
  const { status, ...rest } = sent;
  const object: ApiObject = {
    ...rest,
    ...typeOf(kind),
    metadata: {
      name: objectKey.name,
      ...(kind.namespaced ? { namespace: objectKey.namespace } : {}),
      ...withoutComputedAnnotations(withoutSystemFields(sent.metadata), options.computedAnnotations),
      uid: stamp.uid,
      creationTimestamp: toTimestamp(stamp.now),
      ...(kind.countsGenerations ? { generation: 1 } : {}),
    },
  };
  if (status !== undefined && (!kind.hasStatus || options.keepStatus)) object.status = status;
  return completed(kind, object);
}

export type UpdatePart = 'object' | 'status' | 'both';

/** What an update may change: everything but status and system fields, or with the subresource only status. */
export function prepareUpdate(
  kind: Kind,
  sent: ApiObject,
  old: ApiObject,
  part: UpdatePart,
  options: { computedAnnotations: readonly string[] },
): ApiObject {
  const metadata =
    part === 'status'
      ? old.metadata
      : {
          ...withoutComputedAnnotations(withoutSystemFields(sent.metadata), options.computedAnnotations),
          ...systemFieldsOf(old.metadata),
        };
  const { status: sentStatus, ...sentRest } = sent;
  const { status: oldStatus, ...oldRest } = old;
  const object: ApiObject = { ...(part === 'status' ? oldRest : sentRest), ...typeOf(kind), metadata };
  const status = kind.hasStatus && part === 'object' ? oldStatus : sentStatus;
  if (status !== undefined) object.status = status;
  const next = completed(kind, object, old);
  if (kind.countsGenerations && part !== 'status' && !sameContent(next, old)) {
    next.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  return next;
}

/** An object on its way out. */
export function prepareDeletion(kind: Kind, object: ApiObject, now: number): ApiObject {
  const marked = { ...object, metadata: { ...object.metadata, deletionTimestamp: toTimestamp(now) } };
  return completed(kind, marked);
}

function systemFieldsOf({
  uid,
  creationTimestamp,
  deletionTimestamp,
  generation,
  name,
  namespace,
}: ObjectMeta): ObjectMeta {
  const fields: ObjectMeta = {};
  if (name !== undefined) fields.name = name;
  if (namespace !== undefined) fields.namespace = namespace;
  if (uid !== undefined) fields.uid = uid;
  if (creationTimestamp !== undefined) fields.creationTimestamp = creationTimestamp;
  if (deletionTimestamp !== undefined) fields.deletionTimestamp = deletionTimestamp;
  if (generation !== undefined) fields.generation = generation;
  return fields;
}

/** Equal in everything that a generation counts. */
function sameContent(a: ApiObject, b: ApiObject): boolean {
  const { metadata: _a, status: _as, ...restA } = a;
  const { metadata: _b, status: _bs, ...restB } = b;
  return isSameJson(restA, restB);
}

/** Whether storing the one in place of the other would change anything; both as they come from here or the store. */
export function isSameObject(a: ApiObject, b: ApiObject): boolean {
  const { resourceVersion: _a, ...metadataA } = a.metadata;
  const { resourceVersion: _b, ...metadataB } = b.metadata;
  return isSameJson(metadataA, metadataB) && sameContent(a, b) && isSameJson(a.status, b.status);
}

const isSameJson = (a: unknown, b: unknown): boolean => equalJson(a as JsonValue, b as JsonValue);

/**
 * With its defaults, and as it will be read back: comparable, without undefined members, and without the prototypes of the
 * decoder's maps. A copy before anything is filled in: what it was made of may be somebody else's. Where nothing is, it
 * shares with the object of before what is the same: whoever compares the two, or looks for what is new, sees that at once.
 */
function completed(kind: Kind, object: ApiObject, old?: ApiObject): ApiObject {
  const copy = plainValue(object, kind.applyDefaults === undefined ? old : undefined) as ApiObject;
  kind.applyDefaults?.(copy);
  return copy;
}

/** What `known` has in the same place came from the store, and is plain. */
function plainValue(value: unknown, known?: unknown): unknown {
  if (typeof value !== 'object' || value === null || value === known) return value;
  if (Array.isArray(value)) return value.map((item) => plainValue(item));
  const before = typeof known === 'object' && known !== null ? (known as Readonly<Record<string, unknown>>) : undefined;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, unknown>>)[key];
    if (inner === undefined) continue;
    // As a key of its own, and never as a prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...OWN, value: plainValue(inner) });
    else copy[key] = plainValue(inner, before?.[key]);
  }
  return copy;
}

const OWN = { writable: true, enumerable: true, configurable: true } as const;
