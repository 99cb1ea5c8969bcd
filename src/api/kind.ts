import type { TSchema } from 'typebox';
import type { BodyStyle, StructShape } from './codec/shape.ts';
import type { ObjectMeta } from './kinds/meta.ts';
import type { ApiRequest, Verb } from './request.ts';
import type { FieldError } from './status.ts';

export type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './kinds/meta.ts';

/** Any object of the catalog. Fields beyond these are declared by the kind's schema. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/**
 * A type of body, as the codec needs it. Schemas are TypeBox (JSON Schema) with these extra annotations:
 *   `goType`   on objects and leaves: the name in messages of Go's decoder, e.g. `TokenRequestSpec`, `int64`
 *   `format`   `date-time`, `byte` (base64)
 *   `keepNull` on fields: an explicit null is not the same as absence
 *   `refused`  on objects: unknown fields that must not be true, with the reason
 *   `strict`   on objects of custom resources: unknown fields, nulls and keys sent twice are errors in every mode
 *   `notKept`  on objects: fields that are dropped with a warning. One that is declared is set in answers, by
 *              `withComputedFields`
 *   `patchStrategy: 'merge'`, `patchMergeKey` on arrays: how strategic merge patch and server-side apply change them
 *   `listMapKeys` on arrays of custom resources: the keys by which server-side apply merges them
 *   `mapType: 'atomic'` on objects: server-side apply treats them as one value
 * The order of properties in an object schema is the order in which they are written.
 */
export interface BodyType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** `schema` and `shape` come from `bodySchema`. */
  readonly schema: TSchema;
  readonly shape: StructShape;
  readonly style: BodyStyle;
}

export interface TableColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
  readonly cell: (object: ApiObject) => string | number | null;
}

/** A type with paths and a name in RBAC rules. */
export interface ResourceType extends BodyType {
  /** Plural, as in paths and RBAC rules. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  /** Names for several kinds together, as `all` in `kubectl get all`. */
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
}

/**
 * A type whose objects are created and returned with a status, and never stored: the reviews. Served at the fleet and
 * below every cluster, where it is about that cluster.
 */
export type VirtualType = ResourceType;

export type ObjectPart = 'labels' | 'annotations' | 'spec' | 'status';

/** The parts that an update leaves as they are stored. They are not validated again: rules change with releases. */
export type UnchangedParts = ReadonlySet<ObjectPart>;

/** Of an object that is created. */
export const NOTHING_UNCHANGED: UnchangedParts = new Set();

/** A namespace of a projection, and the source objects that are shown in it. */
export interface ProjectedNamespace {
  readonly name: string;
  matches(labels: Readonly<Record<string, string>> | undefined, name: string): boolean;
  /** A label that all of them have, for the index; undefined when there is no such label. */
  readonly requiredLabel?: { readonly key: string; readonly value: string } | undefined;
}

/** How the objects of a kind are computed from those of its source. Callers see what they may see of the source. */
export interface Projection {
  readonly source: Kind;
  /** In the order of keys. A source object is shown once in each namespace that selects it. */
  readonly namespaces: readonly ProjectedNamespace[];
  /** Labels that the projection sets: the label index of the source does not have them. */
  readonly ownLabels: ReadonlySet<string>;
  readonly labelsOf: (source: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>> | undefined;
  }) => Readonly<Record<string, string>>;
  /** Clients at different addresses may be shown different objects: those of one variant are equal. */
  readonly variantFor: (source: { field(label: string): string }, clientAddress: string) => string;
  readonly project: (source: ApiObject, namespace: string, variant: string) => ApiObject;
}

/** A kind of stored object, or a projection of one: an entry of the catalog. */
export interface Kind extends ResourceType {
  readonly listKind: string;
  /** True: the objects live inside a cluster, under its path prefix. */
  readonly inCluster: boolean;
  /** True: `status` is written only through the subresource. */
  readonly hasStatus?: boolean;
  /** The name of that subresource. Default: `status`. */
  readonly statusSubresource?: 'approval';
  /** True: `metadata.generation` counts the mark of a deletion, and changes of everything but metadata and status. */
  readonly countsGenerations?: boolean;
  /** The verbs that are served; all when absent. */
  readonly verbs?: ReadonlySet<Verb>;
  readonly nameRule: 'label' | 'subdomain' | 'path-segment';
  /** What its objects are to the policy: sets of rules, or what grants those to subjects. */
  readonly policyRole?: 'rules' | 'binding';
  /** True: its watch cache has an index of labels. */
  readonly indexLabels?: boolean;
  /** What else the index finds an object by: as labels are, with keys that are none. */
  readonly identities?: (object: ApiObject) => (readonly [key: string, value: string])[];
  /** When an object expires (epoch milliseconds). From then on it is not shown, and a background task deletes it. */
  readonly expiresAt?: (object: ApiObject) => number;
  /** An object whose stored value cannot be decoded exists with its name alone. Otherwise it counts as deleted. */
  readonly existsUnreadable?: boolean;
  /**
   * Fields of field selectors besides `metadata.name` and, for namespaced kinds, `metadata.namespace`. Several values
   * are separated by NUL: an object is selected by each of them.
   */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Fields that handlers read often: computed once for each version of an object. Callers cannot select by them. */
  readonly derivedFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly applyDefaults?: (object: ApiObject) => void;
  /**
   * Fields that the server derives from a write. Called with each prepared object, and the old one for an update.
   * Returns the object or a changed copy.
   */
  readonly deriveFields?: (object: ApiObject, old: ApiObject | undefined) => ApiObject;
  /** The object with the fields of an answer that are not stored. Returns a copy. */
  readonly withComputedFields?: (object: ApiObject) => ApiObject;
  /** The errors of everything but the metadata. `old`: the object before an update. */
  readonly validate: (object: ApiObject, old: ApiObject | undefined, unchanged: UnchangedParts) => FieldError[];
  readonly columns: readonly TableColumn[];
  /** Present: the objects are computed from those of another kind, and are neither stored nor written. */
  readonly projection?: Projection;
  /** Present when the stored form differs from the served one. Each returns a new object. */
  readonly storedForm?: {
    readonly toStored: (object: ApiObject) => ApiObject;
    readonly fromStored: (object: ApiObject) => ApiObject;
    /** The field of `spec` that has another name in the store, also in `managedFields`. */
    readonly renamedSpecField: { readonly served: string; readonly stored: string };
  };
}

/** The kind whose stored objects the objects of a kind are made of, and whose rules decide who sees them. */
export const storedKindOf = (kind: Kind): Kind => kind.projection?.source ?? kind;

export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? version : `${group}/${version}`;

/**
 * The storage keys of objects. Every part is a validated name or a resource of the catalog, none contains `/`, and
 * every prefix ends in `/`: a listing of cluster `a` cannot include objects of `ab`.
 */
export const REGISTRY_PREFIX = '/registry/';

type KeyedKind = Pick<Kind, 'resource' | 'inCluster' | 'namespaced'>;

export interface ObjectKey {
  /** `""` for the fleet's own objects. */
  readonly cluster: string;
  /** `""` for objects without namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** The key of one of the fleet's own objects, e.g. a Cluster: it is in no cluster and in no namespace. */
export const fleetKey = (name: string): ObjectKey => ({ cluster: '', namespace: '', name });

/** The key of the object that a path names. */
export function objectKeyOf({ target }: Pick<ApiRequest, 'target'>, { inCluster }: Pick<Kind, 'inCluster'>): ObjectKey {
  const { cluster = '', namespace, name } = target;
  return { cluster: inCluster ? cluster : '', namespace, name };
}

export function kindPrefix(kind: Pick<Kind, 'resource'>): string {
  return `${REGISTRY_PREFIX}${kind.resource}/`;
}

/** The prefix of a collection; `namespace` `""` means all namespaces. */
export function collectionPrefix(kind: KeyedKind, cluster: string, namespace: string): string {
  let prefix = kindPrefix(kind);
  if (kind.inCluster) prefix += `${cluster}/`;
  if (kind.namespaced && namespace !== '') prefix += `${namespace}/`;
  return prefix;
}

export function storageKey(kind: KeyedKind, key: ObjectKey): string {
  return `${collectionPrefix(kind, key.cluster, key.namespace)}${key.name}`;
}

/** K-15, K-20: for clocks that differ between machines. */
export const LEEWAY_MS = 60_000;

/** Whether tokens that depend on the object are refused. A timestamp that cannot be parsed counts as long past. */
export function isGone(
  { deletionTimestamp }: { readonly deletionTimestamp?: string | undefined },
  now: number,
): boolean {
  if (deletionTimestamp === undefined) return false;
  const deletedAt = Date.parse(deletionTimestamp);
  return Number.isNaN(deletedAt) || deletedAt < now - LEEWAY_MS;
}
