import { type Static, Type } from 'typebox';
import type { ApiObject } from '../kind.ts';
import { labelSelectorSchema } from './label-selector-schema.ts';
import { flag, int64, list, part, SHORT, struct, text, timestamp } from './meta.ts';

/** The spec and the status of a FleetRoleBinding. */

/** All of them are compared when a binding is written. */
const MAX_NAMES = 2_000;
const MAX_NAMESPACES = 100;

/** A pass that lasts shorter is of no use: a client would renew it all the time. */
export const MIN_MAX_PASS_SECONDS = 60;

export const AGENTS_ALLOW = 'Allow';

/**
 * Whose approval a pass through a binding needs: `Requester` and `Approver` are asked about passes of agents,
 * `ApproverAlways` about every pass. See ADR 39.
 */
export const APPROVERS = ['Requester', 'Approver', 'ApproverAlways'] as const;

const strict = { strict: true } as const;
const atomic = { ...strict, mapType: 'atomic' } as const;

const names = (description: string, maxItems: number) =>
  list(Type.String({ goType: 'string', ...SHORT }), { maxItems, description });

const SubjectSchema = struct(
  'FleetSubject',
  'A user, group or service account.',
  {
    kind: text('`User`, `Group` or `ServiceAccount`.'),
    name: text('The name of the user, group or service account.'),
    namespace: text('The namespace of a service account.'),
  },
  atomic,
);

const ClustersSchema = struct(
  'ClustersField',
  'Where the binding holds: exactly one of `all`, `names` and `selector`.',
  {
    all: flag('`true`: holds in every cluster, and for the objects of the fleet, as a ClusterRoleBinding does.'),
    names: names('Holds in the clusters of these names.', MAX_NAMES),
    uid: text('The uid of the only cluster in `names`: the binding ends when another cluster gets the name.', SHORT),
    selector: Type.Optional(labelSelectorSchema(strict)),
  },
  atomic,
);

export const SpecSchema = struct(
  'FleetRoleBindingSpec',
  'Who may do what, where and until when.',
  {
    subjects: list(SubjectSchema, { description: 'The subjects that the role is granted to.' }),
    roleRef: part(
      'FleetRoleRef',
      'The role that is granted. Cannot be changed.',
      {
        kind: text('`Role` or `ClusterRole`.'),
        name: text('The name of the role. A Role is that of the only namespace in `namespaces`.'),
      },
      atomic,
    ),
    clusters: Type.Optional(ClustersSchema),
    namespaces: names('Holds in these namespaces only. With a Role, exactly one.', MAX_NAMESPACES),
    expiresAt: timestamp('When it ends. From then on it grants nothing, and the server deletes it.'),
    agents: text('`Allow`: agents may ask for passes through this binding, too. Without it only people may.'),
    approval: part(
      'BindingApproval',
      'Passes through this binding need an approval.',
      {
        by: text(
          '`Requester` confirms, or `Approver` reviews, each pass of an agent. `ApproverAlways` also those of people.',
        ),
      },
      atomic,
    ),
    maxPassSeconds: int64(
      `The longest pass through this binding, at least ${MIN_MAX_PASS_SECONDS}. No pass outlives \`expiresAt\`.`,
    ),
  },
  strict,
);

const ConditionSchema = struct('Condition', 'Why the binding grants nothing.', {
  type: text('`RoleMissing`, `Expired` or `NoClusters`.'),
  status: text('`True`: a condition that does not hold is not listed.'),
  reason: text('One word.'),
  message: text('One sentence.'),
  lastTransitionTime: timestamp('Since when it holds.'),
});

export const StatusSchema = struct('FleetRoleBindingStatus', 'Written by the server.', {
  clusters: int64('The number of clusters in which the binding holds now.'),
  conditions: list(ConditionSchema, { description: 'Why it grants nothing; empty otherwise.' }),
});

/** What is wrong with a binding now: only conditions that are true are listed. */
export type BindingCondition = 'RoleMissing' | 'Expired' | 'NoClusters';

export type FleetRoleBindingSpec = Static<typeof SpecSchema>;
export type FleetRoleBindingStatus = Static<typeof StatusSchema>;

export const bindingSpec = (object: ApiObject): FleetRoleBindingSpec => (object.spec ?? {}) as FleetRoleBindingSpec;
export const bindingStatus = (object: ApiObject): FleetRoleBindingStatus =>
  (object.status ?? {}) as FleetRoleBindingStatus;
