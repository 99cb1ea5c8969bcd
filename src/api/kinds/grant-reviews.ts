import type { Type } from 'typebox';
import type { ObjectMeta, VirtualType } from '../kind.ts';
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

/** Who can: the opposite of a SubjectAccessReview. */
export const resourceAccessReviewType = grantReview(
  'ResourceAccessReview',
  'The users, groups and service accounts that may do something, with the binding and the role behind each.',
  {
    spec: part('ResourceAccessReviewSpec', 'What is asked about.', attributes),
    status: part('ResourceAccessReviewStatus', '', {
      subjects: list(
        struct('GrantedSubject', 'A subject of a binding that allows it.', {
          kind: text('`User`, `Group` or `ServiceAccount`.'),
          namespace: text(),
          name: text(),
          resourceNames: texts('If no name was asked about: the names for which it is allowed; absent for all.'),
          ...via,
        }),
      ),
      incomplete: flag('True when you may not get all bindings, or when there are more subjects than are listed.'),
      evaluationError: text('Why the list is incomplete.'),
    }),
  },
);

/** What a subject reaches: clusters, passes for itself, and the accounts whose tokens it may create. */
export const subjectReachReviewType = grantReview(
  'SubjectReachReview',
  'The clusters that a user may see, and the service accounts whose tokens it may create.',
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
          visible: flag('Whether the user may get the cluster.'),
          ...via,
          userpass: part('ReachedUserpass', 'Set if the user may get passes for itself (`clusters/userpass`).', via),
          accounts: list(struct('ReachedAccount', '', { namespace: text(), name: text(), ...via })),
        }),
      ),
      continue: text('Set when there are further clusters.'),
    }),
  },
);

/** The fields that callers send. */
export interface ResourceAccessReview {
  metadata?: ObjectMeta;
  spec?: { resourceAttributes?: ResourceAttributes; nonResourceAttributes?: NonResourceAttributes };
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
  readonly binding?: ObjectReference;
  readonly role?: ObjectReference;
}

export interface GrantedSubject extends GrantPath {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly namespace?: string;
  readonly name: string;
  readonly resourceNames?: readonly string[];
}

export interface ReachedAccount extends GrantPath {
  readonly namespace: string;
  readonly name: string;
}

export interface ReachedCluster extends GrantPath {
  readonly name: string;
  readonly visible: boolean;
  /** Passes for the user itself. */
  readonly userpass?: GrantPath;
  readonly accounts: readonly ReachedAccount[];
}
