import { type Static, Type } from 'typebox';
import type { Kind } from '../kind.ts';
import { type FieldError, forbiddenField, invalidValue } from '../status.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import {
  flag,
  kindSchema,
  LocalObjectReferenceSchema,
  list,
  part,
  SHORT,
  selectable,
  stringMap,
  struct,
  text,
  textAt,
  texts,
} from './meta.ts';

/**
 * The objects inside a cluster that tokens depend on. Pods and Secrets are stored as metadata plus what binding a token
 * needs: this is a directory, not a copy of the cluster. `notKept` has the other fields of Kubernetes' kinds.
 */

const core = {
  group: '',
  version: 'v1',
  style: 'builtin',
  inCluster: true,
  namespaced: true,
  nameRule: 'subdomain',
  validate: () => [],
} as const;

/** Of one service account. */
const MAX_SECRETS = 1_000;

export const namespaceKind: Kind = {
  ...core,
  shortNames: ['ns'],
  namespaced: false,
  hasStatus: true,
  nameRule: 'label',
  selectableFields: selectable('status.phase'),
  columns: [
    nameColumn,
    textColumn('Status', '`Active` or `Terminating`.', (object) => textAt(object, 'status', 'phase')),
    ageColumn,
  ],
  ...kindSchema('Namespace', 'A scope for names within a cluster.', {
    spec: part('NamespaceSpec', 'The desired state of the namespace.', {
      finalizers: texts('Must be empty before a deleted namespace is removed.'),
    }),
    status: part(
      'NamespaceStatus',
      'The observed state of the namespace.',
      { phase: text('`Active` or `Terminating`.') },
      { notKept: ['conditions'] },
    ),
  }),
  applyDefaults: (object) => {
    object.status = { phase: object.metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating' };
  },
};

export const serviceAccountKind: Kind = {
  ...core,
  shortNames: ['sa'],
  columns: [
    nameColumn,
    textColumn('Secrets', 'The number of its secrets.', ({ secrets }) =>
      String((secrets as unknown[] | undefined)?.length ?? 0),
    ),
    ageColumn,
  ],
  ...kindSchema('ServiceAccount', 'An identity for programs; tokens are issued for it.', {
    secrets: list(
      struct(
        'ObjectReference',
        'A reference to another object.',
        {
          kind: text('The kind of the object.'),
          namespace: text('The namespace of the object.'),
          name: text('The name of the object.', SHORT),
          uid: text('The uid of the object.'),
          apiVersion: text('The group and version of the object.'),
        },
        { mapType: 'atomic', notKept: ['resourceVersion', 'fieldPath'] },
      ),
      {
        maxItems: MAX_SECRETS,
        patchStrategy: 'merge',
        patchMergeKey: 'name',
        description: 'Secrets that pods of this account may use.',
      },
    ),
    imagePullSecrets: list(LocalObjectReferenceSchema, {
      maxItems: MAX_SECRETS,
      description: 'Secrets for pulling the images of pods of this account.',
    }),
    automountServiceAccountToken: flag('Whether pods of this account get a token mounted.'),
  }),
  // As in kube-apiserver, which keeps nothing else of them.
  applyDefaults: (object) => {
    const secrets = object.secrets as { name?: string }[] | undefined;
    if (secrets !== undefined) object.secrets = secrets.map(({ name }) => (name === undefined ? {} : { name }));
  },
};

const ContainerSchema = struct('Container', 'A container. Not stored.', { name: text('The name of the container.') });

/** What Clusterpass does not keep of a PodSpec of Kubernetes 1.36. */
const POD_SPEC = [
  ...['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy'],
  ...['enableServiceLinks', 'ephemeralContainers', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers'],
  ...['hostname', 'hostnameOverride', 'imagePullSecrets', 'initContainers', 'nodeSelector', 'os', 'overhead'],
  ...['preemptionPolicy', 'priority', 'priorityClassName', 'readinessGates', 'resourceClaims', 'resources'],
  ...['restartPolicy', 'runtimeClassName', 'schedulerName', 'schedulingGates', 'securityContext'],
  ...['setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'tolerations'],
  ...['topologySpreadConstraints', 'volumes', 'workloadRef'],
];

const PodSpecSchema = part(
  'PodSpec',
  'The fields of a pod that tokens bound to it need. Others are accepted and not stored.',
  {
    // kubectl apply needs the schema of every list that an object has.
    containers: list(ContainerSchema, {
      patchStrategy: 'merge',
      patchMergeKey: 'name',
      description: 'Always empty. Accepted and not stored.',
    }),
    serviceAccountName: text('The account the pod runs as; only its tokens can be bound to the pod.'),
    serviceAccount: text('Deprecated: `serviceAccountName`, which it sets where that is empty. Not stored.'),
    nodeName: text('The node the pod runs on; named in tokens bound to the pod.'),
  },
  { notKept: POD_SPEC },
);

type PodSpec = Static<typeof PodSpecSchema>;

export const podKind: Kind = {
  ...core,
  shortNames: ['po'],
  categories: ['all'],
  selectableFields: selectable('spec.nodeName', 'spec.serviceAccountName'),
  columns: [
    nameColumn,
    textColumn('Service Account', 'The account the pod runs as.', (object) =>
      textAt(object, 'spec', 'serviceAccountName'),
    ),
    textColumn('Node', 'The node the pod runs on.', (object) => textAt(object, 'spec', 'nodeName')),
    ageColumn,
  ],
  ...kindSchema('Pod', 'A pod that tokens can be bound to.', { spec: PodSpecSchema }, { notKept: ['status'] }),
  applyDefaults: (object) => {
    const { serviceAccount, ...spec } = (object.spec ?? {}) as PodSpec;
    object.spec = { ...spec, serviceAccountName: spec.serviceAccountName || serviceAccount || 'default' };
  },
  // Kubernetes requires `containers`: the Python client raises an error for a pod without them.
  withComputedFields: (object) => ({ ...object, spec: { ...(object.spec as PodSpec | undefined), containers: [] } }),
  validate: (object, old) => {
    if (old === undefined) return [];
    const errors: FieldError[] = [];
    if (textAt(object, 'spec', 'serviceAccountName') !== textAt(old, 'spec', 'serviceAccountName')) {
      errors.push(forbiddenField('spec.serviceAccountName', 'pod updates may not change the service account'));
    }
    const node = textAt(old, 'spec', 'nodeName');
    if (node !== '' && textAt(object, 'spec', 'nodeName') !== node) {
      errors.push(forbiddenField('spec.nodeName', 'pod updates may not move a pod to another node'));
    }
    return errors;
  },
};

const SECRET_DATA = ['data', 'stringData'];

export const secretKind: Kind = {
  ...core,
  selectableFields: selectable('type'),
  // No column for the number of data items, which kube-apiserver has: none is stored.
  columns: [nameColumn, textColumn('Type', 'What the secret is for.', (object) => textAt(object, 'type')), ageColumn],
  ...kindSchema(
    'Secret',
    'A secret that tokens can be bound to, without its content.',
    {
      immutable: flag('Whether the secret cannot be changed.'),
      data: Type.Optional(
        Type.Record(Type.String(), Type.String({ format: 'byte' }), {
          goType: 'map[string][]uint8',
          description: 'Accepted and not stored: a secret here only serves to bind tokens to.',
        }),
      ),
      stringData: stringMap('Accepted and not stored, like `data`.'),
      type: text('What the secret is for; `Opaque` by default.'),
    },
    { notKept: SECRET_DATA },
  ),
  applyDefaults: (object) => {
    if (object.type === undefined || object.type === '') object.type = 'Opaque';
  },
  validate: (object, old) => {
    const errors: FieldError[] = [];
    // Dropped while decoding: this guards the store against a write that does not decode.
    for (const field of SECRET_DATA) {
      if (object[field] !== undefined) errors.push(forbiddenField(field, 'the data of a secret is never stored'));
    }
    if (old !== undefined && object.type !== old.type) {
      errors.push(invalidValue('type', object.type, 'field is immutable'));
    }
    return errors;
  },
};
