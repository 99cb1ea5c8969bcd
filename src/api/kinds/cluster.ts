import { Type } from 'typebox';
import { memberOf } from '../../lib/json.ts';
import {
  PROBE_ANNOTATION,
  PROBE_CHOICES,
  TOKEN_CHECKS_ANNOTATION,
  TOKEN_CHECKS_CHOICES,
} from '../clusters/annotations.ts';
import { CONDITION_STATUSES, conditionOf, readyStatus } from '../clusters/conditions.ts';
import {
  CONFIRMED_FIELD,
  endpointDigest,
  endpointsInForce,
  identitiesOf,
  writtenEndpoints,
} from '../clusters/confirmed-endpoint.ts';
import type { ApiObject, Kind, ObjectMeta } from '../kind.ts';
import { checkEach, type FieldError, required, tooLong, unsupportedValue } from '../status.ts';
import { clusterColumns } from './cluster-columns.ts';
import {
  DEFAULT_CHECKS,
  type EndpointChecks,
  MAX_ADDRESS_LENGTH,
  MAX_BUNDLE_LENGTH,
  validateEndpoints,
} from './cluster-endpoints.ts';
import {
  CLUSTER_GROUP,
  type ClusterStatus,
  CONNECTOR_REFERENCE,
  controllerOf,
  endpointsField,
  hasConnector,
  statusOf,
} from './cluster-spec.ts';
import { deriveEndpointFields, type EndpointChangeRules, validateConfirmed } from './endpoint-changes.ts';
import { bytes, kindSchema, list, part, SHORT, selectable, struct, text, timestamp } from './meta.ts';

/** The name of the field in storage. It does not contain the product name, so that --product-name can be changed. */
const STORED_ENDPOINTS = 'apiEndpoints';

function renameInSpec(object: ApiObject, from: string, to: string): ApiObject {
  const spec = object.spec as Record<string, unknown> | undefined;
  if (spec === undefined || !Object.hasOwn(spec, from)) return object;
  const { [from]: endpoints, ...rest } = spec;
  return { ...object, spec: { ...rest, [to]: endpoints } };
}

const AuthReferenceSchema = part(
  'ObjectReference',
  'A reference to an object with credentials; never the credentials themselves.',
  {
    kind: text('The kind of the referenced object.', SHORT),
    name: text('The name of the referenced object.', SHORT),
    namespace: text('The namespace of the referenced object.', SHORT),
  },
);

/** The limits of `metav1.Condition`. */
const ConditionSchema = struct('ClusterCondition', 'One observed condition of the cluster.', {
  type: text('What the condition is about, e.g. `Ready`.', { maxLength: 316 }),
  status: text('`True`, `False` or `Unknown`.', SHORT),
  lastHeartbeatTime: timestamp('When the condition was last probed.'),
  lastTransitionTime: timestamp('When the status last changed.'),
  reason: text('One word for why the status last changed.', SHORT),
  message: text('Details of the last change of status, for people.', { maxLength: 32_768 }),
});

/** The names of this option in kubeconfigs and clients. As an unknown field it would only be a warning. */
const ALWAYS_VERIFIED = 'certificates are always verified: put the CA of the API server into caBundle';
const refused = { insecureSkipTLSVerify: ALWAYS_VERIFIED, 'insecure-skip-tls-verify': ALWAYS_VERIFIED };

/** Of addresses and of conditions; each is validated whenever the cluster is written. */
const MAX_ENTRIES = 100;
/** Of the messages of all conditions together: every list repeats them. */
const MAX_MESSAGES_LENGTH = 262_144;

const EndpointsSchema = struct(
  'KubernetesAPIEndpoints',
  'How clients reach the API server of the cluster.',
  {
    serverEndpoints: list(
      struct(
        'ServerAddressByClientCIDR',
        'An address for clients in one network.',
        {
          clientCIDR: text('Clients whose address is in this network use this endpoint.', SHORT),
          serverAddress: text('The address, an https URL.', { maxLength: MAX_ADDRESS_LENGTH }),
        },
        { refused },
      ),
      {
        maxItems: MAX_ENTRIES,
        description: 'Addresses of the API server; a client uses the first whose network holds its own address.',
      },
    ),
    caBundle: bytes('Certificate authorities of the API server, PEM in base64.', { maxLength: MAX_BUNDLE_LENGTH }),
  },
  { refused },
);

const StatusSchema = part('ClusterStatus', 'The observed state. Written through the status subresource only.', {
  conditions: list(ConditionSchema, {
    maxItems: MAX_ENTRIES,
    listMapKeys: ['type'],
    description: 'The observed conditions of the cluster.',
  }),
  type: text('The kind of cluster, e.g. its distribution.', SHORT),
  version: text('The version that the cluster runs.', SHORT),
});

function validateStatus({ conditions = [] }: ClusterStatus): FieldError[] {
  let length = 0;
  for (const { message = '' } of conditions) length += message.length;
  if (length > MAX_MESSAGES_LENGTH) return [tooLong('status.conditions', MAX_MESSAGES_LENGTH)];
  return checkEach(conditions, (condition, index) => {
    const errors: FieldError[] = [];
    const here = `status.conditions[${index}]`;
    if ((condition.type ?? '') === '') errors.push(required(`${here}.type`));
    if ((condition.status ?? '') === '') errors.push(required(`${here}.status`));
    else if (!CONDITION_STATUSES.some((known) => known === condition.status)) {
      errors.push(unsupportedValue(`${here}.status`, condition.status, CONDITION_STATUSES));
    }
    return errors;
  });
}

/**
 * An annotation that has one of some words. A stored value is accepted: it must not block other changes of its object.
 */
function validateChoice(
  annotation: string,
  choices: readonly string[],
  { annotations }: ObjectMeta,
  old: ObjectMeta | undefined,
): FieldError[] {
  const value = annotations?.[annotation];
  if (value === undefined || value === old?.annotations?.[annotation] || choices.includes(value)) return [];
  return [unsupportedValue(`metadata.annotations[${annotation}]`, value, choices)];
}

/** The derived field of clusters that issue their tokens: `namespace/name` of the credential, or `Connector`. */
export const CONTROLLER_FIELD = 'spec.authInfo.controller';

function controllerText(object: ApiObject): string {
  if (hasConnector(object)) return CONNECTOR_REFERENCE;
  const controller = controllerOf(object);
  return controller === undefined ? '' : `${controller.namespace}/${controller.name}`;
}

/** Where clusters are stored: unlike the rest of the kind, it does not depend on options. */
export const clusterScope = { resource: 'clusters', inCluster: false, namespaced: false } as const;

/** The derived field of clusters that holds their endpoints as JSON if there are several; `""` otherwise. */
export const ENDPOINTS_FIELD = 'spec.endpoints';

function endpointsText(object: ApiObject, productName: string): string {
  const { serverEndpoints = [] } = endpointsInForce(object, productName);
  return serverEndpoints.length > 1 ? JSON.stringify(serverEndpoints) : '';
}

/** The derived field of clusters that holds the status of their condition `Ready`. */
export const READY_FIELD = 'status.ready';

/** The derived field of clusters that holds the reason of that condition. */
export const REASON_FIELD = 'status.reason';

/** The derived field of clusters that identifies the endpoints that wait for confirmation; `""` if none do. */
export const WAITING_FIELD = 'spec.waitingEndpoints';

/** The derived field of clusters that holds the status of their condition `CredentialUsable`; `""` without one. */
export const CREDENTIAL_FIELD = 'status.credentialUsable';

export function clusterKind(productName: string, checks: EndpointChecks = DEFAULT_CHECKS): Kind {
  const field = endpointsField(productName);
  const { holdChanges = false, now } = checks;
  const changes: EndpointChangeRules = { productName, hold: holdChanges, now };
  return {
    group: CLUSTER_GROUP,
    version: 'v1alpha1',
    ...clusterScope,
    style: 'custom',
    hasStatus: true,
    countsGenerations: true,
    nameRule: 'subdomain',
    indexLabels: true,
    identities: (object) => identitiesOf(object, productName),
    selectableFields: selectable('status.type', 'status.version'),
    derivedFields: {
      [CONTROLLER_FIELD]: controllerText,
      [ENDPOINTS_FIELD]: (object) => endpointsText(object, productName),
      [READY_FIELD]: (object) => readyStatus(statusOf(object)),
      [REASON_FIELD]: (object) => conditionOf(statusOf(object), 'Ready')?.reason ?? '',
      [WAITING_FIELD]: (object) =>
        memberOf(object.spec, CONFIRMED_FIELD) === undefined ? '' : endpointDigest(object, productName),
      [CREDENTIAL_FIELD]: (object) => conditionOf(statusOf(object), 'CredentialUsable')?.status ?? '',
    },
    ...kindSchema('Cluster', 'A cluster of the fleet, with what clients need to connect to it.', {
      spec: part('ClusterSpec', 'How to connect to the cluster.', {
        [field]: Type.Optional(EndpointsSchema),
        [CONFIRMED_FIELD]: part(
          'KubernetesAPIEndpoints',
          'Set by the server while a change of the endpoints waits for confirmation: the endpoints that ' +
            'clients get meanwhile. Shown only to callers who may update the cluster.',
          EndpointsSchema.properties,
        ),
        authInfo: part(
          'AuthInfo',
          'References to the credentials for this cluster. Shown only to callers who may update it.',
          { user: AuthReferenceSchema, controller: AuthReferenceSchema },
        ),
      }),
      status: StatusSchema,
    }),
    deriveFields: (object, old) => deriveEndpointFields(object, old, changes),
    validate: (object, old, unchanged) => [
      ...(unchanged.has('spec')
        ? []
        : [
            ...validateEndpoints(
              writtenEndpoints(object, productName),
              old === undefined ? [] : [writtenEndpoints(old, productName), endpointsInForce(old, productName)],
              `spec.${field}`,
              checks,
            ),
            ...validateConfirmed(object, old, changes),
          ]),
      ...validateChoice(PROBE_ANNOTATION, PROBE_CHOICES, object.metadata, old?.metadata),
      ...validateChoice(TOKEN_CHECKS_ANNOTATION, TOKEN_CHECKS_CHOICES, object.metadata, old?.metadata),
      ...(unchanged.has('status') ? [] : validateStatus(statusOf(object))),
    ],
    columns: clusterColumns(productName),
    storedForm: {
      toStored: (object) => renameInSpec(object, field, STORED_ENDPOINTS),
      fromStored: (object) => renameInSpec(object, STORED_ENDPOINTS, field),
      renamedSpecField: { served: field, stored: STORED_ENDPOINTS },
    },
  };
}
