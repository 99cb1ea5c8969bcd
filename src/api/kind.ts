import type { TSchema } from 'typebox';
import type { FieldError } from './field-error.ts';
import type { Verb } from './request.ts';

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  selfLink?: string;
  managedFields?: unknown[];
}

/** Any object of the catalog. Fields beyond these are declared by the kind's schema. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/**
 * A type of body: what the decoder needs to know. Schemas are TypeBox (JSON Schema) with these extra
 * annotations, which error messages and serialization follow:
 *   `goType`   on objects and leaves: the name Go's decoder would print, e.g. `TokenRequestSpec`, `int64`
 *   `format`   `date-time`, `byte` (base64)
 *   `patchStrategy: 'merge'`, `patchMergeKey` on arrays: how a strategic merge patch changes them
 * The order of properties in an object schema is the order in which they are written.
 */
export interface BodyType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: TSchema;
  /**
   * `builtin`: like kube-apiserver's own types: kind and apiVersion may be left out, violations in document order.
   * `custom`: like a custom resource: both are required, keys are written sorted, duplicates are reported first.
   */
  readonly style: 'builtin' | 'custom';
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

/** A type that has paths of its own, and a name in RBAC rules. */
export interface ResourceType extends BodyType {
  /** Plural, as in paths and RBAC rules. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
}

/**
 * A question in the shape of an object: it is created, comes back with the answer in its status, and nothing
 * of it is kept. Served at the fleet and below every cluster, where it is about that cluster.
 */
export interface VirtualType extends ResourceType {
  readonly namespaced: false;
}

/** A kind of stored object: a row of the catalog. */
export interface Kind extends ResourceType {
  readonly listKind: string;
  /** True: the objects live inside a cluster, under its path prefix. */
  readonly inCluster: boolean;
  /** True: `status` is written only through the subresource. */
  readonly hasStatus: boolean;
  /** True: `metadata.generation` counts changes of everything but metadata and status. */
  readonly countsGenerations: boolean;
  /** What callers may do with its objects; everything when absent. Others are made and kept by the server. */
  readonly verbs?: ReadonlySet<Verb>;
  readonly nameRule: 'label' | 'subdomain' | 'path-segment';
  /** True: its cache can be asked by label. */
  readonly indexLabels?: boolean;
  /**
   * For objects that end by themselves: when (epoch milliseconds). From then on they are not shown, and somebody
   * removes them in the background.
   */
  readonly expiresAt?: (object: ApiObject) => number;
  /** Field labels beyond `metadata.name` and, for namespaced kinds, `metadata.namespace`. */
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Fields that handlers read often: computed once for each version of an object. Callers cannot select by them. */
  readonly derivedFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Fills what was left out. May change the object. */
  readonly applyDefaults?: (object: ApiObject) => void;
  /** Everything that is wrong with the object beyond its metadata; `old` on update. */
  readonly validate: (object: ApiObject, old: ApiObject | undefined) => FieldError[];
  readonly columns: readonly TableColumn[];
  /** Present when the stored form differs from the one on the wire. Each gives a new object. */
  readonly storedForm?: {
    readonly toStored: (object: ApiObject) => ApiObject;
    readonly fromStored: (object: ApiObject) => ApiObject;
  };
}

export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? version : `${group}/${version}`;
