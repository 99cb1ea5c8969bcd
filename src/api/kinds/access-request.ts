import { exactDuration } from '../codec/go-text/human-duration.ts';
import type { ApiObject, Kind } from '../kind.ts';
import { accessText, REQUEST_PHASES, requestErrors, requestSpec } from './access-request-spec.ts';
import { approvalKind, clientLabels, nameText, SERVER_LABELS, userSchema } from './approval-kind.ts';
import { textColumn } from './columns.ts';
import { flag, part, SHORT, text } from './meta.ts';

/** On a role and a binding that an approval has made: the name of the request. */
export const ACCESS_REQUEST_LABEL = 'clusterpass.dev/access-request';

/** The names of these roles and bindings begin with it. */
export const ACCESS_GRANT_PREFIX = 'clusterpass:access-request:';

const AttributesSchema = part('RequestedAttributes', 'The request is for this permission, in the cluster.', {
  verb: nameText('The verb, e.g. `get`.'),
  group: nameText('The API group of the resource; empty for the core group.'),
  resource: nameText('The resource, e.g. `pods`.'),
  subresource: nameText('The subresource.'),
  namespace: nameText('The namespace; empty for all, and for resources without one.'),
  name: nameText('The name of the object; empty for all.'),
});

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

/** A person asks for a permission in a cluster, for some time. An approval grants it. */
export const accessRequestKind: Kind = approvalKind({
  kind: 'AccessRequest',
  about: {
    kind: 'A request for access to a cluster, which an approver grants or denies.',
    spec: 'What is requested.',
    cluster: 'The cluster. The request is to see it, unless it is for `resourceAttributes`.',
    serviceAccount: 'The request is also for passes of this service account.',
    durationSeconds: 'For how long after the approval. An hour if unset; the server has an upper bound.',
    conditions: 'Empty while the request is pending.',
    expiry: 'When a pending request expires, or when the granted access ends.',
  },
  phases: REQUEST_PHASES,
  specFields: {
    userpass: flag('The request is also for passes for the requester.'),
    resourceAttributes: AttributesSchema,
    reason: text('Why the access is needed. Approvers read it.', SHORT),
  },
  statusFields: { withdrawnBy: userSchema('Who withdrew it.') },
  countsGenerations: true,
  // Labels of the granted role and binding have the name as their value.
  nameRule: 'label',
  // No collection is deleted at once: the grant of each request ends first.
  verbs: new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']),
  deriveFields: (object, old) => (old === undefined ? object : withServerFields(object, old)),
  errors: requestErrors,
  instead: 'withdraw the request, and create another',
  columns: [
    textColumn('Access', 'What is requested.', (object) => accessText(requestSpec(object))),
    textColumn('Duration', 'How long the access lasts after the approval.', (object) =>
      exactDuration(requestSpec(object).durationSeconds ?? 0),
    ),
  ],
  wideColumns: [textColumn('Reason', 'Why the access is needed.', (object) => requestSpec(object).reason, 1)],
});
