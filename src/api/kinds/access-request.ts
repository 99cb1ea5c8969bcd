import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { exactDuration } from '../codec/go-text/human-duration.ts';
import { bodySchema } from '../codec/shape.ts';
import { forbiddenField } from '../field-error.ts';
import type { ApiObject, Kind } from '../kind.ts';
import type { Verb } from '../request.ts';
import {
  accessText,
  isOpenPhase,
  requestErrors,
  requestExpiry,
  requestSpec,
  requestStatus,
} from './access-request-spec.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { COUNTED_LABEL, REQUESTER_LABEL } from './issued-token.ts';
import { CLUSTERPASS_GROUP, CLUSTERPASS_VERSION, int64, SHORT, text, texts, timestamp, typeMeta } from './meta.ts';

/** The verb of the permission to decide about requests. */
export const APPROVE_VERB = 'approve';

/** On every AccessRequest: its cluster and, if it has one, its namespace. They decide which approvers see it. */
export const REQUEST_CLUSTER_LABEL = 'clusterpass.dev/cluster';
export const REQUEST_NAMESPACE_LABEL = 'clusterpass.dev/namespace';

/** On a role and a binding that an approval has made: the name of the request. */
export const ACCESS_REQUEST_LABEL = 'clusterpass.dev/access-request';

/** The names of these roles and bindings begin with it. */
export const ACCESS_GRANT_PREFIX = 'clusterpass:access-request:';

/** The labels that the server sets at the creation, and no later write changes. */
const SERVER_LABELS = [REQUESTER_LABEL, COUNTED_LABEL, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL];

/**
 * The labels of a client without those that only the server sets. One that the server does not set on this object is
 * removed as well: it would say something wrong about the object.
 */
export const clientLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !SERVER_LABELS.includes(key)));

/** Derived fields: when the request expires, and when it was finished; `""` for an open one. */
export const EXPIRY_FIELD = 'status.expirationTimestamp';
export const FINISHED_FIELD = 'status.finishedTimestamp';

/** Derived field: the uid of the cluster that an approval is for. */
export const CLUSTER_UID_FIELD = 'status.clusterUID';

export const NAME = { maxLength: 253 };

/** A person in the status or the spec of an object that others approve. */
export const userSchema = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        username: text('The name of the user.'),
        uid: text('The uid of the user.'),
        actors: texts('Who acted as this user: the impersonator, and the requesters of the pass that was used.'),
      },
      { goType: 'RequestUser', description },
    ),
  );

const SpecSchema = Type.Object(
  {
    cluster: text('The cluster. Without `serviceAccount` and `resourceAttributes`, the request is to see it.', NAME),
    serviceAccount: Type.Optional(
      Type.Object(
        { namespace: text('The namespace of the account.', NAME), name: text('The name of the account.', NAME) },
        { goType: 'ServiceAccountReference', description: 'The request is for passes of this service account.' },
      ),
    ),
    resourceAttributes: Type.Optional(
      Type.Object(
        {
          verb: text('The verb, e.g. `get`.', NAME),
          group: text('The API group of the resource; empty for the core group.', NAME),
          resource: text('The resource, e.g. `pods`.', NAME),
          subresource: text('The subresource.', NAME),
          namespace: text('The namespace; empty for all, and for resources without one.', NAME),
          name: text('The name of the object; empty for all.', NAME),
        },
        { goType: 'RequestedAttributes', description: 'The request is for this permission, in the cluster.' },
      ),
    ),
    reason: text('Why the access is needed. Approvers read it.', SHORT),
    durationSeconds: int64('For how long after the approval. An hour if unset; the server has an upper bound.'),
    requestedBy: userSchema('The requester, as the cluster knows it. Set by the server.'),
  },
  { goType: 'AccessRequestSpec', description: 'What is requested. Cannot be changed.' },
);

/** A decision about an object that others approve. */
export const conditionSchema = (types: string, goType: string) =>
  Type.Object(
    {
      type: text(types, SHORT),
      status: text('`True`.', SHORT),
      reason: text('One word for why.', SHORT),
      message: text('Details, for people.', SHORT),
      lastTransitionTime: timestamp('When it was decided. Set by the server.'),
    },
    { goType, description: 'A decision, or the end.' },
  );

const ConditionSchema = conditionSchema('`Approved`, `Denied`, `Withdrawn` or `Expired`.', 'AccessRequestCondition');

const StatusSchema = Type.Object(
  {
    phase: text('`Pending`, `Approved`, `Denied`, `Withdrawn` or `Expired`.'),
    conditions: Type.Optional(
      Type.Array(ConditionSchema, {
        goType: '[]AccessRequestCondition',
        maxItems: 8,
        listMapKeys: ['type'],
        description: 'Empty while the request is pending. The subresource `approval` adds one.',
      }),
    ),
    decidedBy: userSchema('Who approved or denied it.'),
    decisionTimestamp: timestamp('When it was approved or denied.'),
    withdrawnBy: userSchema('Who withdrew it.'),
    bindingRef: Type.Optional(
      Type.Object(
        { kind: text('`RoleBinding` or `ClusterRoleBinding`.'), namespace: text(), name: text() },
        { goType: 'BindingReference', description: 'The binding that the approval has made.' },
      ),
    ),
    clusterUID: text(
      'The UID of the cluster that the approval is for. A later cluster of the same name has another one.',
    ),
    expirationTimestamp: timestamp('When a pending request expires, or when the granted access ends.'),
  },
  { goType: 'AccessRequestStatus', description: 'The state of the request. Set by the server.' },
);

/** When the last decision was taken, or the request expired. */
function finishedAt(object: ApiObject): string {
  const { phase = 'Pending', conditions = [] } = requestStatus(object);
  return isOpenPhase(phase) ? '' : (conditions.at(-1)?.lastTransitionTime ?? '');
}

/** Keeps the fields of the server when a client sends the body of its request again. */
function withServerFields(object: ApiObject, old: ApiObject): ApiObject {
  const { requestedBy, durationSeconds } = requestSpec(old);
  const kept = Object.entries(old.metadata.labels ?? {}).filter(([key]) => SERVER_LABELS.includes(key));
  return {
    ...object,
    metadata: { ...object.metadata, labels: { ...clientLabels(object.metadata.labels), ...Object.fromEntries(kept) } },
    spec: { durationSeconds, ...requestSpec(object), requestedBy },
  };
}

/** No collection is deleted at once: the grant of each request ends first. */
const VERBS: ReadonlySet<Verb> = new Set<Verb>(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']);

/** A person asks for a permission in a cluster, for some time. An approval grants it. */
export const accessRequestKind: Kind = {
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  kind: 'AccessRequest',
  listKind: 'AccessRequestList',
  resource: 'accessrequests',
  singular: 'accessrequest',
  shortNames: [],
  style: 'custom',
  inCluster: false,
  namespaced: false,
  hasStatus: true,
  statusSubresource: 'approval',
  countsGenerations: true,
  // Labels of the granted role and binding have the name as their value.
  nameRule: 'label',
  verbs: VERBS,
  indexLabels: true,
  selectableFields: {
    'spec.cluster': (object) => requestSpec(object).cluster ?? '',
    'spec.requestedBy.username': (object) => requestSpec(object).requestedBy?.username ?? '',
    'spec.serviceAccount.name': (object) => requestSpec(object).serviceAccount?.name ?? '',
    'spec.serviceAccount.namespace': (object) => requestSpec(object).serviceAccount?.namespace ?? '',
    'status.phase': (object) => requestStatus(object).phase ?? 'Pending',
  },
  derivedFields: {
    [EXPIRY_FIELD]: (object) => requestStatus(object).expirationTimestamp ?? '',
    [CLUSTER_UID_FIELD]: (object) => requestStatus(object).clusterUID ?? '',
    [FINISHED_FIELD]: finishedAt,
  },
  ...bodySchema(
    Type.Object(
      { ...typeMeta, spec: Type.Optional(SpecSchema), status: Type.Optional(StatusSchema) },
      {
        goType: 'AccessRequest',
        description: 'A request for access to a cluster, which an approver grants or denies.',
      },
    ),
  ),
  deriveFields: (object, old) => (old === undefined ? object : withServerFields(object, old)),
  validate: (object, old) => {
    const errors = requestErrors(object);
    if (old === undefined || isDeepStrictEqual(requestSpec(object), requestSpec(old))) return errors;
    return [...errors, forbiddenField('spec', 'cannot be changed: withdraw the request, and create another')];
  },
  columns: [
    nameColumn,
    textColumn('Requester', 'Who asks.', (object) => requestSpec(object).requestedBy?.username),
    textColumn('Cluster', 'The cluster.', (object) => requestSpec(object).cluster),
    textColumn('Access', 'What is requested.', (object) => accessText(requestSpec(object))),
    textColumn('Duration', 'How long the access lasts after the approval.', (object) =>
      exactDuration(requestSpec(object).durationSeconds ?? 0),
    ),
    textColumn('Phase', 'Pending, Approved, Denied, Withdrawn or Expired.', (object) => requestStatus(object).phase),
    textColumn('Expires', 'When it, or the access, ends. Empty once it is finished.', requestExpiry),
    textColumn('Reason', 'Why the access is needed.', (object) => requestSpec(object).reason, 1),
    textColumn('Decided By', 'Who approved or denied it.', (object) => requestStatus(object).decidedBy?.username, 1),
    ageColumn,
  ],
};
