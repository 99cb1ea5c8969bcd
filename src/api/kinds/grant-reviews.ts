import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { ObjectMeta, VirtualType } from '../kind.ts';
import { CLUSTERPASS_GROUP, CLUSTERPASS_VERSION, flag, int64, text, texts, typeMeta } from './meta.ts';
import { attributes, type NonResourceAttributes, type ResourceAttributes } from './reviews.ts';

/** Reviews for those who run the fleet: who may do something, and what a subject reaches. */

/** A review of Clusterpass. */
export const grantReview = (
  kind: string,
  description: string,
  fields: Record<string, ReturnType<typeof Type.Optional>>,
): VirtualType => ({
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  kind,
  style: 'builtin',
  resource: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
  namespaced: false,
  ...bodySchema(Type.Object({ ...typeMeta, ...fields }, { goType: kind, description })),
});

const reference = (goType: string, description: string) =>
  Type.Optional(Type.Object({ kind: text(), namespace: text(), name: text() }, { goType, description }));

export const via = {
  binding: reference('BindingReference', 'The binding. Absent when none is needed, or when you may not read it.'),
  role: reference('RoleReference', 'The role of the binding.'),
};

/** Who can: the opposite of a SubjectAccessReview. */
export const resourceAccessReviewType = grantReview(
  'ResourceAccessReview',
  'The users, groups and service accounts that may do something, with the binding and the role behind each.',
  {
    spec: Type.Optional(
      Type.Object(attributes, { goType: 'ResourceAccessReviewSpec', description: 'What is asked about.' }),
    ),
    status: Type.Optional(
      Type.Object(
        {
          subjects: Type.Optional(
            Type.Array(
              Type.Object(
                { kind: text('`User`, `Group` or `ServiceAccount`.'), namespace: text(), name: text(), ...via },
                { goType: 'GrantedSubject', description: 'A subject of a binding that allows it.' },
              ),
              { goType: '[]GrantedSubject' },
            ),
          ),
          incomplete: flag('True when you may not get all bindings, or when there are more subjects than are listed.'),
          evaluationError: text('Why the list is incomplete.'),
        },
        { goType: 'ResourceAccessReviewStatus' },
      ),
    ),
  },
);

/** What a subject reaches: clusters, passes for itself, and the accounts whose tokens it may create. */
export const subjectReachReviewType = grantReview(
  'SubjectReachReview',
  'The clusters that a user may see, and the service accounts whose tokens it may create.',
  {
    spec: Type.Optional(
      Type.Object(
        {
          user: text('The name of the user. `user` or `groups` is required.'),
          groups: texts('The groups of the user. None is added: name `system:authenticated` if it is to count.'),
          limit: int64('At most so many clusters; 500 by default, 1000 at most.'),
          continue: text('The `status.continue` of the review before.'),
        },
        { goType: 'SubjectReachReviewSpec', description: 'Who is asked about.' },
      ),
    ),
    status: Type.Optional(
      Type.Object(
        {
          clusters: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  name: text(),
                  visible: flag('Whether the user may get the cluster.'),
                  ...via,
                  userpass: Type.Optional(
                    Type.Object(via, {
                      goType: 'ReachedUserpass',
                      description: 'Set if the user may get passes for itself (`clusters/userpass`).',
                    }),
                  ),
                  accounts: Type.Optional(
                    Type.Array(Type.Object({ namespace: text(), name: text(), ...via }, { goType: 'ReachedAccount' }), {
                      goType: '[]ReachedAccount',
                    }),
                  ),
                },
                { goType: 'ReachedCluster' },
              ),
              { goType: '[]ReachedCluster' },
            ),
          ),
          continue: text('Set when there are further clusters.'),
        },
        { goType: 'SubjectReachReviewStatus' },
      ),
    ),
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
