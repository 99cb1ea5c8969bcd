import { encodeValue } from '../api/codec/encode.ts';
import { requireTypes } from '../api/codec/stored-types.ts';
import { type ApiObject, type Kind, kindPrefix, type ObjectKey } from '../api/kind.ts';
import type { KeyValue } from '../storage/contract.ts';
import { type CacheEntry, indexText } from '../storage/snapshot.ts';
import { withServedFields } from './managed-fields.ts';
import type { ObjectView, ReadableObject } from './readable.ts';

/** The object as callers see it who may read but not change it. */
export type PublicView = (object: ApiObject) => ApiObject;

/**
 * A stored object: frequently read fields are decoded once, the rest is decoded from its bytes on demand. The bytes
 * hold no resourceVersion: it is the revision of the write, known only after it.
 */
export class StoredObject implements CacheEntry, ReadableObject {
  readonly #publicView: PublicView | undefined;
  /** Encoded at the first use, and dropped by `onReplaced`; so is `#fullJson`. */
  #publicJson: Buffer | undefined;
  readonly kind: Kind;
  readonly key: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly deletionTimestamp: string | undefined;
  /** Epoch milliseconds, for objects that expire. */
  readonly expiresAt: number | undefined;
  readonly #identities: readonly string[] | undefined;
  readonly #value: Uint8Array;
  /** The values of selectable fields other than name and namespace. */
  readonly #fields: Readonly<Record<string, string>> | undefined;
  #fullJson: Buffer | undefined;
  /**
   * JSON of projections of this object, by id. Bound: the versions of the projected kind, times its namespaces, times
   * its variants; a cluster profile has one for each server endpoint. Dropped by `onReplaced`, too.
   */
  #projectedJson: Map<string, Buffer> | undefined;

  constructor(kind: Kind, stored: KeyValue, publicView?: PublicView) {
    this.kind = kind;
    this.key = stored.key;
    this.revision = stored.modRevision;
    this.createRevision = stored.createRevision;
    this.#value = stored.value;
    this.#publicView = publicView;
    const objectKey = parseStorageKey(kind, stored.key);
    this.cluster = objectKey.cluster;
    this.namespace = objectKey.namespace;
    this.name = objectKey.name;
    const object = this.object();
    requireTypes(object, kind.shape);
    this.uid = object.metadata.uid ?? '';
    this.labels = object.metadata.labels;
    this.#identities = kind.identities?.(object).map(indexText);
    this.deletionTimestamp = object.metadata.deletionTimestamp;
    this.expiresAt = kind.expiresAt?.(object);
    this.#fields = fieldsOf(kind, object);
  }

  /**
   * The whole object; decoded at each call, so the caller may modify it. `fieldsV1` of its managers is JSON text, see
   * `withServedFields`.
   */
  object(): ApiObject {
    const { buffer, byteOffset, byteLength } = this.#value;
    const stored = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as ApiObject;
    const object = this.kind.storedForm?.fromStored(stored) ?? stored;
    object.metadata.resourceVersion = String(this.revision);
    return object;
  }

  /** An expired object may still be stored. An invalid time counts as expired. */
  isExpired(now: number): boolean {
    return this.expiresAt !== undefined && !(this.expiresAt > now);
  }

  /** The same content with another resourceVersion, for the event of a deletion (V-13). */
  withRevision(revision: number): StoredObject {
    const { key, createRevision } = this;
    const stored = { key, createRevision, modRevision: revision, value: this.#value };
    return new StoredObject(this.kind, stored, this.#publicView);
  }

  /** The public view; the whole object for kinds without one. */
  publicObject(): ApiObject {
    const object = this.object();
    return this.#publicView?.(object) ?? object;
  }

  /** The public view as JSON; the whole object for kinds without one. */
  get publicJson(): Buffer {
    if (this.#publicView === undefined) return this.fullJson;
    this.#publicJson ??= ownBuffer(encode(this.kind, this.#publicView(this.object())));
    return this.#publicJson;
  }

  get fullJson(): Buffer {
    this.#fullJson ??= ownBuffer(encode(this.kind, this.object()));
    return this.#fullJson;
  }

  /** JSON of a past version that watchers have read since is not counted. */
  get bytes(): number {
    return this.#value.byteLength;
  }

  get indexed(): readonly string[] {
    return Object.entries(this.labels ?? {})
      .map(indexText)
      .concat(this.#identities ?? []);
  }

  get ruleLabels(): Readonly<Record<string, string>> | undefined {
    return this.labels;
  }

  shown(view: ObjectView): ApiObject {
    return view === 'whole' ? servedObject(this.kind, this.object()) : this.publicObject();
  }

  json(view: ObjectView): Uint8Array {
    return view === 'whole' ? this.fullJson : this.publicJson;
  }

  showsSameAs(): boolean {
    return false;
  }

  /** The JSON of an object that is computed from this version; made once for each id. */
  projectedJson(id: string, make: () => string): Buffer {
    const known = this.#projectedJson?.get(id);
    if (known !== undefined) return known;
    const json = ownBuffer(make());
    this.#projectedJson ??= new Map();
    this.#projectedJson.set(id, json);
    return json;
  }

  /** Past versions are rarely read, and the window of the watch cache holds thousands: they keep no JSON. */
  onReplaced(): void {
    this.#publicJson = undefined;
    this.#fullJson = undefined;
    this.#projectedJson = undefined;
  }

  /** The value of a selectable field; `""` when it is not set. */
  field(label: string): string {
    if (label === 'metadata.name') return this.name;
    if (label === 'metadata.namespace') return this.namespace;
    return this.#fields?.[label] ?? '';
  }
}

/** The part of the options of a watch cache that depends on its kind. */
export const cacheOptionsOf = (kind: Kind, publicView?: PublicView) => ({
  prefix: kindPrefix(kind),
  project: (stored: KeyValue) => new StoredObject(kind, stored, publicView),
  projectUnreadable:
    kind.existsUnreadable === true
      ? (stored: KeyValue) => new StoredObject(kind, { ...stored, value: NOTHING }, publicView)
      : undefined,
  indexLabels: kind.indexLabels === true,
});

const NOTHING = Buffer.from('{"metadata":{}}');

/** With its own memory: a small buffer of Node's pool would keep the whole pool alive, several times its size. */
function ownBuffer(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The object as answers have it. The base of a patch has no computed fields: they would be stored. */
export function servedObject(kind: Kind, object: ApiObject): ApiObject {
  const served = withServedFields(kind, object);
  return kind.withComputedFields?.(served) ?? served;
}

/** The JSON of a response. */
export const encode = (kind: Kind, object: ApiObject): string =>
  encodeValue(servedObject(kind, object), kind.shape, kind.style);

export function toStoredBytes(kind: Kind, object: ApiObject): Uint8Array {
  const unversioned = object.metadata.resourceVersion === undefined ? object : withoutVersion(object);
  return Buffer.from(JSON.stringify(kind.storedForm?.toStored(unversioned) ?? unversioned));
}

function withoutVersion({ metadata: { resourceVersion: _, ...metadata }, ...rest }: ApiObject): ApiObject {
  return { ...rest, metadata };
}

/** For a quota of stored objects: those that came before a creation at this revision, by the order of the store. */
export const createdBefore =
  (revision: number) =>
  ({ createRevision }: Pick<StoredObject, 'createRevision'>): boolean =>
    createRevision < revision;

/** Throws for a key that is not of this kind's form: another program wrote it. */
export function parseStorageKey(kind: Kind, key: string): ObjectKey {
  const clusterAt = kindPrefix(kind).length;
  const namespaceAt = kind.inCluster ? afterSlash(kind, key, clusterAt) : clusterAt;
  const nameAt = kind.namespaced ? afterSlash(kind, key, namespaceAt) : namespaceAt;
  if (key.includes('/', nameAt)) throw notAKeyOf(kind, key);
  return {
    cluster: kind.inCluster ? key.slice(clusterAt, namespaceAt - 1) : '',
    namespace: kind.namespaced ? key.slice(namespaceAt, nameAt - 1) : '',
    name: key.slice(nameAt),
  };
}

function afterSlash(kind: Kind, key: string, from: number): number {
  const slash = key.indexOf('/', from);
  if (slash === -1) throw notAKeyOf(kind, key);
  return slash + 1;
}

const notAKeyOf = ({ resource }: Kind, key: string): Error => new Error(`${key} is no key of ${resource}`);

function fieldsOf(
  { selectableFields = {}, derivedFields = {} }: Kind,
  object: ApiObject,
): Record<string, string> | undefined {
  let fields: Record<string, string> | undefined;
  for (const table of [selectableFields, derivedFields]) {
    for (const label of Object.keys(table)) {
      fields ??= {};
      fields[label] = table[label]?.(object) ?? '';
    }
  }
  return fields;
}

export function supportedFields(kind: Kind): string[] {
  return [
    'metadata.name',
    ...(kind.namespaced ? ['metadata.namespace'] : []),
    ...Object.keys(kind.selectableFields ?? {}),
  ];
}
