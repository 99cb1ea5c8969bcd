import { Type } from 'typebox';

/** Of lists that name a few others. Real objects have one or two; each is looked at whenever the object is written. */
const MAX_REFERENCES = 100;
/** Of labels and of annotations. */
const MAX_NOTES = { maxProperties: 1_000 };

/** Schema pieces that every kind shares. Property order is the order in which kube-apiserver writes them. */

const about = (description: string | undefined) => (description === undefined ? {} : { description });

export const timestamp = (description?: string) =>
  Type.Optional(Type.String({ format: 'date-time', goType: 'Time', ...about(description) }));
export const text = (description?: string) => Type.Optional(Type.String({ goType: 'string', ...about(description) }));
export const texts = (description?: string) =>
  Type.Optional(Type.Array(Type.String({ goType: 'string' }), { goType: '[]string', ...about(description) }));
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

const OwnerReferenceSchema = Type.Object(
  {
    apiVersion: text('The group and version of the owner.'),
    kind: text('The kind of the owner.'),
    name: text('The name of the owner.'),
    uid: text('The uid of the owner.'),
    controller: flag('Whether the owner is the one that manages this object.'),
    blockOwnerDeletion: flag('Whether the owner waits for this object when it is deleted in the foreground.'),
  },
  { goType: 'OwnerReference', description: 'An object that this one belongs to.' },
);

const ObjectMetaSchema = Type.Object(
  {
    name: text('Unique within its scope. Cannot be changed.'),
    generateName: text('A prefix for a unique name, used when no name is given.'),
    namespace: text('The namespace that the object lives in; empty for kinds without one.'),
    selfLink: text('Not set any more.'),
    uid: text('Made by the server, never used twice.'),
    resourceVersion: text('The version of this object; a change gives it another.'),
    generation: int64('Counts the changes of what is wanted, for kinds that have it.'),
    creationTimestamp: timestamp('When the object was created. Set by the server.'),
    deletionTimestamp: timestamp('Since when the object is being deleted; it waits for its finalizers.'),
    deletionGracePeriodSeconds: int64('How long the object may take to end.'),
    labels: stringMap('Short words to select objects by.', MAX_NOTES),
    annotations: stringMap('Notes of people and tools; nothing is selected by them.', MAX_NOTES),
    ownerReferences: Type.Optional(
      Type.Array(OwnerReferenceSchema, {
        goType: '[]OwnerReference',
        maxItems: MAX_REFERENCES,
        patchStrategy: 'merge',
        patchMergeKey: 'uid',
        description: 'The objects that this one belongs to.',
      }),
    ),
    finalizers: Type.Optional(
      Type.Array(Type.String({ goType: 'string' }), {
        goType: '[]string',
        maxItems: MAX_REFERENCES,
        patchStrategy: 'merge',
        description: 'Who has to let go before a deleted object is gone.',
      }),
    ),
    // Accepted and dropped: no record of field managers is kept.
    managedFields: Type.Optional(
      Type.Array(Type.Unknown(), { goType: '[]ManagedFieldsEntry', description: 'Not kept.' }),
    ),
  },
  { goType: 'ObjectMeta', description: 'What every object has.' },
);

/** The head of every object, in built-in order. */
export const typeMeta = {
  kind: text(),
  apiVersion: text(),
  metadata: Type.Optional(ObjectMetaSchema),
};

export const LocalObjectReferenceSchema = Type.Object(
  { name: text('The name of the object, in the same namespace.') },
  { goType: 'LocalObjectReference', description: 'An object in the same namespace.' },
);
