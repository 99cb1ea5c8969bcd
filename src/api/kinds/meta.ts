import { type Static, type TOptional, type TProperties, type TSchema, Type } from 'typebox';
import { memberOf } from '../../lib/json.ts';
import { bodySchema, type SchemaNode } from '../codec/shape.ts';

/** What kinds share. The order of properties is the order in which kube-apiserver writes them. */

/** Of owner references and finalizers. Real objects have one or two; each is validated at every write. */
const MAX_REFERENCES = 100;
/** Of texts that responses repeat. Names are shorter, and have another message. */
export const SHORT = { maxLength: 1_024 };
/** Of `managedFields`; applied configurations of more managers are refused. */
export const MAX_MANAGERS = 100;
/** Of labels and of annotations. */
const MAX_PAIRS = { maxProperties: 1_000 };

const about = (description = '') => (description === '' ? {} : { description });

/** An object, with the name of its type in messages and in OpenAPI. See BodyType for the options. */
export const struct = <P extends TProperties>(goType: string, description: string, fields: P, options?: SchemaNode) =>
  Type.Object(fields, { goType, ...about(description), ...options });

/** An object that may be absent. */
export const part = <P extends TProperties>(goType: string, description: string, fields: P, options?: SchemaNode) =>
  Type.Optional(struct(goType, description, fields, options));

/** A list that may be absent. */
export const list = <T extends TSchema>(items: T, options?: SchemaNode) =>
  Type.Optional(Type.Array(items, { goType: `[]${(items as SchemaNode).goType}`, ...options }));

/** A field that is always there, in TypeScript: those who send it may leave it out. */
export const always = <T extends TSchema>(field: TOptional<T>) => field as unknown as T;

/** The content of a body, by the schema of its type. */
export type BodyOf<T extends { readonly schema: TSchema }> = Static<T['schema']>;

/** As a reader gets it. */
export type Read<T> = T extends object ? { readonly [K in keyof T]: Read<T[K]> } : T;

/** The names of a kind, and its schema: what every object has, then these fields. */
export function kindSchema<P extends TProperties>(kind: string, description: string, fields: P, options?: SchemaNode) {
  const singular = kind.toLowerCase();
  return {
    kind,
    listKind: `${kind}List`,
    singular,
    resource: `${singular}${singular.endsWith('s') ? 'es' : 's'}`,
    ...bodySchema(struct(kind, description, { ...typeMeta, ...fields }, options)),
  };
}

export const timestamp = (description?: string) =>
  Type.Optional(Type.String({ format: 'date-time', goType: 'Time', ...about(description) }));
/** `T`: the only texts that the field has, in TypeScript. */
export const text = <T extends string = string>(
  description?: string,
  limits: { maxLength?: number; default?: string } = {},
) => Type.Optional(Type.Unsafe<T>(Type.String({ goType: 'string', ...limits, ...about(description) })));
export const bytes = (description: string, limits: { maxLength?: number } = {}) =>
  Type.Optional(Type.String({ format: 'byte', goType: '[]uint8', ...limits, ...about(description) }));
export const texts = (description?: string, limits: { maxLength?: number } = {}) =>
  list(Type.String({ goType: 'string', ...limits }), { ...about(description) });
export const flag = (description?: string) => Type.Optional(Type.Boolean({ goType: 'bool', ...about(description) }));
export const int64 = (description?: string) => Type.Optional(Type.Integer({ goType: 'int64', ...about(description) }));
export const stringMap = (description?: string, limits: { maxProperties?: number } = {}) =>
  Type.Optional(
    Type.Record(Type.String(), Type.String({ goType: 'string' }), {
      goType: 'map[string]string',
      ...limits,
      ...about(description),
    }),
  );

/** The text at a path of names; `""` for none. */
export const textAt = (object: object, ...path: string[]): string => {
  const value = memberOf(object, ...path);
  return typeof value === 'string' ? value : '';
};

/** Fields by which callers can select, each named by its path. */
export const selectable = (...paths: string[]) =>
  Object.fromEntries(paths.map((path) => [path, (object: object) => textAt(object, ...path.split('.'))]));

const OwnerReferenceSchema = struct(
  'OwnerReference',
  'An object that this one belongs to.',
  {
    apiVersion: text('The group and version of the owner.', SHORT),
    kind: text('The kind of the owner.', SHORT),
    name: text('The name of the owner.', SHORT),
    uid: text('The uid of the owner.', { ...SHORT, default: '' }),
    controller: flag('Whether the owner manages this object.'),
    blockOwnerDeletion: flag('Whether the owner waits for this object when it is deleted in the foreground.'),
  },
  { mapType: 'atomic' },
);

const ManagedFieldsEntrySchema = struct('ManagedFieldsEntry', 'The fields that one manager owns.', {
  manager: text('The name of the manager.'),
  operation: text('`Apply` for server-side apply, `Update` for all other writes.'),
  apiVersion: text('The version in which the paths are written.'),
  time: timestamp('When the manager last changed a field.'),
  fieldsType: text('`FieldsV1`.'),
  fieldsV1: Type.Optional(Type.Unknown({ goType: 'FieldsV1', description: 'The paths of the owned fields.' })),
  subresource: text('The subresource that was written; empty for the object itself.'),
});

const ObjectMetaSchema = struct('ObjectMeta', 'Standard object metadata.', {
  name: text('Unique within its scope. Cannot be changed.', SHORT),
  generateName: text('A prefix for a unique name, used when no name is given.', SHORT),
  namespace: text('The namespace that the object lives in; empty for kinds without one.', SHORT),
  selfLink: text('Deprecated: not set.', SHORT),
  uid: text('Set by the server, never reused.', SHORT),
  resourceVersion: text('The version of this object; every change sets another.', SHORT),
  generation: int64('Counts the changes of the desired state, for kinds that have it.'),
  creationTimestamp: timestamp('When the object was created. Set by the server.'),
  deletionTimestamp: timestamp('When deletion was requested. The object is removed once it has no finalizers.'),
  deletionGracePeriodSeconds: int64('Seconds that the object may take to terminate.'),
  labels: stringMap('Key-value pairs by which objects are selected.', MAX_PAIRS),
  annotations: stringMap('Key-value pairs of people and tools; objects are not selected by them.', MAX_PAIRS),
  ownerReferences: list(OwnerReferenceSchema, {
    maxItems: MAX_REFERENCES,
    patchStrategy: 'merge',
    patchMergeKey: 'uid',
    description: 'The objects that this one belongs to.',
  }),
  finalizers: list(Type.String({ goType: 'string', ...SHORT }), {
    maxItems: MAX_REFERENCES,
    patchStrategy: 'merge',
    description: 'Must be empty before a deleted object is removed.',
  }),
  managedFields: list(ManagedFieldsEntrySchema, {
    maxItems: MAX_MANAGERS,
    description: 'Who owns which fields. Maintained by the server; `[{}]` clears it.',
  }),
});

export type OwnerReference = Static<typeof OwnerReferenceSchema>;
/** What one manager owns of an object. In stored objects `fieldsV1` is JSON text: most readers do not need it. */
export type ManagedFieldsEntry = Static<typeof ManagedFieldsEntrySchema>;
export type ObjectMeta = Static<typeof ObjectMetaSchema>;

/** The first fields of every object, in the order of built-in types. */
export const typeMeta = {
  kind: text(undefined, SHORT),
  apiVersion: text(undefined, SHORT),
  metadata: Type.Optional(ObjectMetaSchema),
};

export const LocalObjectReferenceSchema = struct(
  'LocalObjectReference',
  'An object in the same namespace.',
  { name: text('The name of the object, in the same namespace.') },
  { mapType: 'atomic' },
);

/** The group of the kinds that Kubernetes has no counterpart for. */
export const CLUSTERPASS_GROUP = 'clusterpass.dev';
export const SERVER_API = { group: CLUSTERPASS_GROUP, version: 'v1alpha1' } as const;

/** What the kinds of Clusterpass have in common, if they do not say otherwise. */
export const serverKind = { ...SERVER_API, style: 'custom', inCluster: false, namespaced: false } as const;

/** A type whose objects are answered and never stored. */
export const virtualType = <P extends TProperties>(
  api: { readonly group: string; readonly version: string },
  kind: string,
  description: string,
  fields: P,
  { namespaced = false } = {},
) => ({ ...api, style: 'builtin' as const, namespaced, ...kindSchema(kind, description, fields) });
