import { type Static, type TProperties, Type } from 'typebox';
import type { VirtualType } from '../kind.ts';
import { type BodyOf, flag, list, part, SHORT, struct, text, texts, virtualType } from './meta.ts';

/** Reviews of the caller itself (who am I, may I, what may I), and of what others may do. */

const ExtraSchema = Type.Optional(
  Type.Record(Type.String(), Type.Array(Type.String({ goType: 'string' }), { goType: 'ExtraValue' }), {
    goType: 'map[string]ExtraValue',
  }),
);

export const UserInfoSchema = struct('UserInfo', '', {
  username: text('The name by which the caller is known here.'),
  uid: text(),
  groups: texts(),
  extra: ExtraSchema,
});

/** The response repeats all attributes. */
const MAX_REQUIREMENTS = 100;
const MAX_PATH = { maxLength: 8_192 };
/** Of a selector, and of all its requirements together. */
export const MAX_SELECTOR_LENGTH = 65_536;

const short = (description?: string) => text(description, SHORT);

const requirementsOf = (goType: string) =>
  list(struct(goType, '', { key: short(), operator: short(), values: texts(undefined, SHORT) }), {
    maxItems: MAX_REQUIREMENTS,
  });

const selectorOf = (what: 'Field' | 'Label') =>
  part(`${what}SelectorAttributes`, 'Accepted and ignored: RBAC rules have no selectors.', {
    rawSelector: text(undefined, { maxLength: MAX_SELECTOR_LENGTH }),
    requirements: requirementsOf(`${what}SelectorRequirement`),
  });

const ResourceAttributesSchema = part('ResourceAttributes', '', {
  namespace: short('Empty for what has no namespace, and for all namespaces.'),
  verb: short('`get`, `list`, `create` and so on; `*` means all.'),
  group: short('The API group; `*` means all.'),
  version: short(),
  resource: short('The plural, as in paths; `*` means all.'),
  subresource: short(),
  name: short('Empty means all.'),
  fieldSelector: selectorOf('Field'),
  labelSelector: selectorOf('Label'),
});

const NonResourceAttributesSchema = part('NonResourceAttributes', '', {
  path: text('The path of a URL.', MAX_PATH),
  verb: short('The method, in lower case.'),
});

export const review = <P extends TProperties>(group: string, kind: string, fields: P, { namespaced = false } = {}) =>
  virtualType({ group, version: 'v1' }, kind, '', fields, { namespaced });

export const selfSubjectReviewType = review('authentication.k8s.io', 'SelfSubjectReview', {
  status: part('SelfSubjectReviewStatus', '', { userInfo: Type.Optional(UserInfoSchema) }),
});

/** What a review asks about: a resource or a path. */
export const attributes = {
  resourceAttributes: ResourceAttributesSchema,
  nonResourceAttributes: NonResourceAttributesSchema,
};

const accessStatus = part('SubjectAccessReviewStatus', '', {
  allowed: flag(),
  denied: flag(),
  reason: text('The binding and the role that allow it, or why rules could not be resolved.'),
  evaluationError: text(),
});

export const selfSubjectAccessReviewType = review('authorization.k8s.io', 'SelfSubjectAccessReview', {
  spec: part('SelfSubjectAccessReviewSpec', 'What the caller asks about.', attributes),
  status: accessStatus,
});

const SubjectAccessReviewSpecSchema = part('SubjectAccessReviewSpec', 'Who is asked about, and what.', {
  ...attributes,
  user: text('The name of the user. `user` or `groups` is required.'),
  groups: texts('The groups of the user. None is added: name `system:authenticated` if it is to count.'),
  extra: ExtraSchema,
  uid: text(),
});
const subjectAccessReview = { spec: SubjectAccessReviewSpecSchema, status: accessStatus };

/** What any user may do. */
export const subjectAccessReviewType = review('authorization.k8s.io', 'SubjectAccessReview', subjectAccessReview);

/** The same about one namespace, so that the permission to ask can be granted in that namespace. */
export const localSubjectAccessReviewType = review(
  'authorization.k8s.io',
  'LocalSubjectAccessReview',
  subjectAccessReview,
  { namespaced: true },
);

export const selfSubjectRulesReviewType = review('authorization.k8s.io', 'SelfSubjectRulesReview', {
  spec: part('SelfSubjectRulesReviewSpec', '', { namespace: short('The namespace of the review. Required.') }),
  status: part('SubjectRulesReviewStatus', '', {
    resourceRules: list(
      struct('ResourceRule', '', { verbs: texts(), apiGroups: texts(), resources: texts(), resourceNames: texts() }),
    ),
    nonResourceRules: list(struct('NonResourceRule', '', { verbs: texts(), nonResourceURLs: texts() })),
    incomplete: flag(),
    evaluationError: text(),
  }),
});

/** Reviews that every authenticated caller may create, because they are about the caller itself. */
export const selfReviewTypes: readonly VirtualType[] = [
  selfSubjectReviewType,
  selfSubjectAccessReviewType,
  selfSubjectRulesReviewType,
];

export type ResourceAttributes = Static<typeof ResourceAttributesSchema>;
export type NonResourceAttributes = Static<typeof NonResourceAttributesSchema>;
export type SelectorAttributes = NonNullable<ResourceAttributes['fieldSelector']>;

export type SelfSubjectAccessReview = BodyOf<typeof selfSubjectAccessReviewType>;
/** Also a LocalSubjectAccessReview. */
export type SubjectAccessReview = BodyOf<typeof subjectAccessReviewType>;
