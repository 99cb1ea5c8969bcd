import type { Static, TProperties } from 'typebox';
import type { Grant } from '../decision.ts';
import type { ReachAction } from '../reach.ts';
import {
  always,
  type BodyOf,
  flag,
  int64,
  list,
  part,
  type Read,
  SERVER_API,
  stringMap,
  struct,
  text,
  texts,
  timestamp,
  virtualType,
} from './meta.ts';
import { attributes } from './reviews.ts';

/** Reviews for those who run the fleet: who may do something, and what a subject reaches. */

export const grantReview = <P extends TProperties>(kind: string, description: string, fields: P) =>
  virtualType(SERVER_API, kind, description, fields);

const reference = <Kind extends string>(goType: string, description: string) =>
  part(goType, description, { kind: always(text<Kind>()), namespace: text(), name: always(text()) });

const via = {
  binding: reference<Grant['kind']>(
    'BindingReference',
    'The binding. Absent when none is needed, or when you may not read it.',
  ),
  role: reference('RoleReference', 'The role of the binding.'),
};

const given = struct('Given', 'One thing that a binding gives in a cluster.', {
  action: always(
    text<ReachAction>(
      '`See`, `AccountPasses`, `ReviewedPasses` (after an approval), `OwnPasses` (as a person), `AskForAccess`, ' +
        '`Approve`, `ActAsUser`, `ActAsGroup`, `ActAsAccount`, `Change` (of the Cluster object) or `Grant` (writes ' +
        'roles or bindings).',
    ),
  ),
  namespaces: texts('The namespaces for which it is given; absent for all.'),
  names: texts('The names for which it is given; absent for all.'),
});

const grantedSubject = struct('GrantedSubject', 'A subject of a binding that allows it.', {
  kind: always(text<'User' | 'Group' | 'ServiceAccount'>('`User`, `Group` or `ServiceAccount`.')),
  namespace: text(),
  name: always(text()),
  resourceNames: texts('If no name was asked about: the names for which it is allowed; absent for all.'),
  gives: list(given, { description: 'With `reach`: what the binding gives to the subject in the cluster.' }),
  ...via,
  expiresAt: timestamp('When the binding ends; absent if it does not.'),
  agents: text('`Allow`: agents may ask for passes through the binding, too.'),
  approval: text('Who approves passes through the binding, as in its `spec.approval.by`.'),
  maxPassSeconds: int64('The longest pass through the binding; absent if it sets none.'),
});

const reachedCluster = struct('ReachedCluster', '', {
  name: always(text()),
  subjects: always(list(grantedSubject, { description: 'As in a ResourceAccessReview with `reach`.' })),
});

const completeness = {
  incomplete: flag('True when you may not get all bindings, or when there are more than are listed.'),
  evaluationError: text('Why the list is incomplete.'),
};

/** Who can: the opposite of a SubjectAccessReview. */
export const resourceAccessReviewType = grantReview(
  'ResourceAccessReview',
  'The users, groups and service accounts that may do something, with the binding and the role behind each.',
  {
    spec: part('ResourceAccessReviewSpec', 'What is asked about.', {
      ...attributes,
      reach: flag('In place of attributes, below the path of a cluster: who reaches anything in it, and what.'),
    }),
    status: part('ResourceAccessReviewStatus', '', { subjects: list(grantedSubject), ...completeness }),
  },
);

export const subjectReachReviewType = grantReview(
  'SubjectReachReview',
  'What a user reaches, cluster by cluster: the subjects of bindings that name the user.',
  {
    spec: part('SubjectReachReviewSpec', 'Who is asked about.', {
      user: text('The name of the user. `user` or `groups` is required.'),
      groups: texts('The groups of the user. None is added: name `system:authenticated` if it is to count.'),
      limit: int64('At most so many clusters; 500 by default, 1000 at most.'),
      continue: text('The `status.continue` of the review before.'),
    }),
    status: part('SubjectReachReviewStatus', '', {
      clusters: list(reachedCluster),
      continue: text('Set when there are further clusters.'),
      ...completeness,
    }),
  },
);

export type ResourceAccessReview = BodyOf<typeof resourceAccessReviewType>;
export type SubjectReachReview = BodyOf<typeof subjectReachReviewType>;

/** The binding and the role behind a permission. */
export type GrantPath = Pick<GrantedSubject, 'binding' | 'role'>;

export type GrantedSubject = Read<Static<typeof grantedSubject>>;

export type ReachedCluster = Read<Static<typeof reachedCluster>>;

const SubjectSchema = struct('GrantSubject', '', {
  kind: always(text('`User`, `Group` or `ServiceAccount`.')),
  namespace: text(),
  name: always(text()),
});

const GrantSchema = struct('ClusterGrant', '', {
  ...via,
  subjects: always(list(SubjectSchema)),
  change: always(text<'' | 'Begins' | 'Ends'>('`Begins`, `Ends`, or empty for a binding that holds before and after.')),
});

/** Bindings select clusters by labels: what a change of labels gives to whom, and takes from whom. */
export const clusterGrantReviewType = grantReview(
  'ClusterGrantReview',
  'The bindings that hold in a cluster. With labels: those that would begin and cease to hold with these labels.',
  {
    spec: part('ClusterGrantReviewSpec', 'Sent below the path of the cluster, which need not exist.', {
      labels: stringMap('All labels that the cluster would have; absent: those that it has.', {
        maxProperties: 1_000,
      }),
    }),
    status: part('ClusterGrantReviewStatus', '', {
      grants: list(GrantSchema),
      ...completeness,
    }),
  },
);

export type ClusterGrantReview = BodyOf<typeof clusterGrantReviewType>;

/** A binding that holds in a cluster, or would. */
export type ClusterGrant = Read<Static<typeof GrantSchema>>;
