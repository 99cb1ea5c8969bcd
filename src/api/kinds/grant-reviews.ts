import type { Type } from 'typebox';
import type { Grant } from '../decision.ts';
import type { ObjectMeta, VirtualType } from '../kind.ts';
import type { GivenTerms } from '../reach.ts';
import {
  CLUSTERPASS_GROUP,
  CLUSTERPASS_VERSION,
  flag,
  int64,
  kindSchema,
  list,
  part,
  struct,
  text,
  texts,
  timestamp,
} from './meta.ts';
import { attributes, type NonResourceAttributes, type ResourceAttributes } from './reviews.ts';

/** Reviews for those who run the fleet: who may do something, and what a subject reaches. */

export const grantReview = (
  kind: string,
  description: string,
  fields: Record<string, ReturnType<typeof Type.Optional>>,
): VirtualType => ({
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  style: 'builtin',
  shortNames: [],
  namespaced: false,
  ...kindSchema(kind, description, fields),
});

const reference = (goType: string, description: string) =>
  part(goType, description, { kind: text(), namespace: text(), name: text() });

export const via = {
  binding: reference('BindingReference', 'The binding. Absent when none is needed, or when you may not read it.'),
  role: reference('RoleReference', 'The role of the binding.'),
};

const given = struct('Given', 'One thing that a binding gives in a cluster.', {
  action: text(
    '`See`, `AccountPasses`, `ReviewedPasses` (after an approval), `OwnPasses` (as a person), `AskForAccess`, ' +
      '`Approve`, `ActAsUser`, `ActAsGroup`, `ActAsAccount`, `Change` (of the Cluster object) or `Grant` (writes roles ' +
      'or bindings).',
  ),
  namespaces: texts('The namespaces for which it is given; absent for all.'),
  names: texts('The names for which it is given; absent for all.'),
});

const grantedSubject = struct('GrantedSubject', 'A subject of a binding that allows it.', {
  kind: text('`User`, `Group` or `ServiceAccount`.'),
  namespace: text(),
  name: text(),
  resourceNames: texts('If no name was asked about: the names for which it is allowed; absent for all.'),
  gives: list(given, { description: 'With `reach`: what the binding gives to the subject in the cluster.' }),
  ...via,
  expiresAt: timestamp('When the binding ends; absent if it does not.'),
  agents: text('`Allow`: agents may ask for passes through the binding, too.'),
  approval: text('Who approves passes through the binding, as in its `spec.approval.by`.'),
  maxPassSeconds: int64('The longest pass through the binding; absent if it sets none.'),
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

/** What a subject reaches, cluster by cluster. */
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
      clusters: list(
        struct('ReachedCluster', '', {
          name: text(),
          subjects: list(grantedSubject, { description: 'As in a ResourceAccessReview with `reach`.' }),
        }),
      ),
      continue: text('Set when there are further clusters.'),
      ...completeness,
    }),
  },
);

/** The fields that callers send. */
export interface ResourceAccessReview {
  metadata?: ObjectMeta;
  spec?: { resourceAttributes?: ResourceAttributes; nonResourceAttributes?: NonResourceAttributes; reach?: boolean };
}

export interface SubjectReachReview {
  spec?: { user?: string; groups?: string[]; limit?: number; continue?: string };
}

interface ObjectReference {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** The binding and the role behind a permission. */
export interface GrantPath {
  readonly binding?: ObjectReference & { readonly kind: Grant['kind'] };
  readonly role?: ObjectReference;
}

export interface GrantedSubject extends GrantPath, GivenTerms {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly namespace?: string;
  readonly name: string;
  readonly resourceNames?: readonly string[];
  readonly expiresAt?: string;
}

export interface ReachedCluster {
  readonly name: string;
  readonly subjects: readonly GrantedSubject[];
}
