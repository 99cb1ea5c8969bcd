import { isDeepStrictEqual } from 'node:util';
import type { TProperties } from 'typebox';
import type { ApiObject, Kind, TableColumn } from '../kind.ts';
import { type FieldError, forbiddenField } from '../status.ts';
import { approvalSpec, approvalStatus, expiryOf, finishedAt } from './approval.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { COUNTED_LABEL, REQUESTER_LABEL } from './issued-token.ts';
import {
  flag,
  int64,
  kindSchema,
  list,
  part,
  SHORT,
  selectable,
  serverKind,
  struct,
  text,
  texts,
  timestamp,
} from './meta.ts';

/** The verb of the permission to decide. */
export const APPROVE_VERB = 'approve';

/** On every object: its cluster and, if it has one, its namespace. They decide which approvers see it. */
export const REQUEST_CLUSTER_LABEL = 'clusterpass.dev/cluster';
export const REQUEST_NAMESPACE_LABEL = 'clusterpass.dev/namespace';

/** The labels that the server sets at the creation, and no later write changes. */
export const SERVER_LABELS = [REQUESTER_LABEL, COUNTED_LABEL, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL];

/**
 * The labels of a client without those that only the server sets. One that the server does not set on this object is
 * removed as well: it would say something wrong about the object.
 */
export const clientLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !SERVER_LABELS.includes(key)));

/** Derived fields: when it expires, when it was finished (`""` while it is open), and the uid of its cluster. */
export const EXPIRY_FIELD = 'status.expirationTimestamp';
export const FINISHED_FIELD = 'status.finishedTimestamp';
export const CLUSTER_UID_FIELD = 'status.clusterUID';

export const nameText = (description: string) => text(description, { maxLength: 253 });

export const userSchema = (description: string) =>
  part('RequestUser', description, {
    username: text('The name of the user.'),
    uid: text('The uid of the user.'),
    groups: texts('The groups of a requester, at the time of the request.'),
    actors: texts('Who acted as this user: the impersonator, and the requesters of the pass that was used.'),
  });

type OwnParts = Pick<Kind, 'kind' | 'nameRule' | 'countsGenerations' | 'verbs'> &
  Pick<Partial<Kind>, 'deriveFields'> & {
    /** Descriptions: of the kind, of its spec, and of fields that both kinds have. */
    readonly about: Readonly<
      Record<'kind' | 'spec' | 'cluster' | 'serviceAccount' | 'durationSeconds' | 'conditions' | 'expiry', string>
    >;
    readonly phases: readonly string[];
    readonly specFields: TProperties;
    readonly statusFields: TProperties;
    readonly errors: (object: ApiObject) => FieldError[];
    /** What to do instead of changing the spec. */
    readonly instead: string;
    readonly columns: readonly TableColumn[];
    readonly wideColumns: readonly TableColumn[];
  };

/** A kind of the fleet whose status people write through the subresource `approval`. Its spec cannot be changed. */
export function approvalKind(parts: OwnParts): Kind {
  const { about, phases, specFields, statusFields, errors, instead, columns, wideColumns, ...own } = parts;
  const phaseText = `${phases.slice(0, -1).join(', ')} or ${phases.at(-1)}.`;
  return {
    ...serverKind,
    ...schemaOf(parts, phaseText),
    ...own,
    hasStatus: true,
    statusSubresource: 'approval',
    indexLabels: true,
    selectableFields: {
      ...selectable(
        'spec.cluster',
        'spec.requestedBy.username',
        'spec.serviceAccount.name',
        'spec.serviceAccount.namespace',
      ),
      'status.phase': (object) => approvalStatus(object).phase ?? 'Pending',
    },
    derivedFields: {
      [EXPIRY_FIELD]: (object) => approvalStatus(object).expirationTimestamp ?? '',
      [CLUSTER_UID_FIELD]: (object) => approvalStatus(object).clusterUID ?? '',
      [FINISHED_FIELD]: finishedAt,
    },
    validate: (object, old) => {
      const isChanged = old !== undefined && !isDeepStrictEqual(approvalSpec(object), approvalSpec(old));
      return [...errors(object), ...(isChanged ? [forbiddenField('spec', `cannot be changed: ${instead}`)] : [])];
    },
    columns: [
      nameColumn,
      textColumn('Requester', 'Who asks.', (object) => approvalSpec(object).requestedBy?.username),
      textColumn('Cluster', 'The cluster.', (object) => approvalSpec(object).cluster),
      ...columns,
      textColumn('Phase', phaseText, (object) => approvalStatus(object).phase),
      textColumn('Expires', 'When it, or what it gives, ends. Empty once it is finished.', expiryOf),
      ...wideColumns,
      textColumn('Decided By', 'Who approved or denied it.', (object) => approvalStatus(object).decidedBy?.username, 1),
      textColumn('Message', 'Of the last decision.', (object) => approvalStatus(object).conditions?.at(-1)?.message, 1),
      ageColumn,
    ],
  };
}

function schemaOf({ kind, about, specFields, statusFields }: OwnParts, phases: string) {
  const spec = part(`${kind}Spec`, `${about.spec} Cannot be changed.`, {
    cluster: nameText(about.cluster),
    serviceAccount: part('ServiceAccountReference', about.serviceAccount, {
      namespace: nameText('The namespace of the account.'),
      name: nameText('The name of the account.'),
    }),
    ...specFields,
    durationSeconds: int64(about.durationSeconds),
    requestedBy: userSchema('The requester, as the cluster knows it. Set by the server.'),
  });
  const condition = struct(`${kind}Condition`, 'A decision, or the end.', {
    type: text('The decision, or the phase at the end.', SHORT),
    status: text('`True`.', SHORT),
    reason: text('One word for why.', SHORT),
    message: text('Details, for people.', SHORT),
    lastTransitionTime: timestamp('When it was decided. Set by the server.'),
  });
  const bindingRef = part('BindingReference', 'The binding that an approval has made, or that allows the pass.', {
    kind: text(),
    namespace: text(),
    name: text(),
    uid: text('The UID of the binding.'),
    generation: int64('The generation of the binding: a pending pass ends when it changes.'),
  });
  const preview = part(
    'ApprovalPreview',
    'What an approval by the caller would do. Only in the answer to a `get` of the subresource `approval`.',
    {
      allowed: flag('Whether the caller may approve it.'),
      message: text('Why not.'),
      has: texts('What the requester has already.'),
      gains: texts('What the requester would gain.'),
      serviceAccount: text('`Exists`, `Missing`, or `Unknown` if only the cluster knows its accounts.'),
    },
  );
  const status = part(`${kind}Status`, 'The state. Set by the server.', {
    phase: text(phases),
    ...statusFields,
    conditions: list(condition, {
      maxItems: 8,
      listMapKeys: ['type'],
      description: `${about.conditions} The subresource \`approval\` adds one.`,
    }),
    decidedBy: userSchema('Who approved or denied it.'),
    decisionTimestamp: timestamp('When it was approved or denied.'),
    bindingRef,
    clusterUID: text('The UID of the cluster that it is for. A later cluster of the same name has another one.'),
    expirationTimestamp: timestamp(about.expiry),
    next: text('What the requester does next: a command. Set once it is granted.'),
    preview,
  });
  return kindSchema(kind, about.kind, { spec, status });
}
