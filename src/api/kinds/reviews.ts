import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { ObjectMeta, VirtualType } from '../kind.ts';
import { flag, SHORT, text, texts, typeMeta } from './meta.ts';

/** Reviews of the caller itself (who am I, may I, what may I), and of what others may do. */

const ExtraSchema = Type.Optional(
  Type.Record(Type.String(), Type.Array(Type.String({ goType: 'string' }), { goType: 'ExtraValue' }), {
    goType: 'map[string]ExtraValue',
  }),
);

export const UserInfoSchema = Type.Object(
  {
    username: text('The name by which the caller is known here.'),
    uid: text(),
    groups: texts(),
    extra: ExtraSchema,
  },
  { goType: 'UserInfo' },
);

/** The response repeats all attributes. */
const MAX_REQUIREMENTS = 100;
const MAX_PATH = { maxLength: 8_192 };
/** Of a selector, and of all its requirements together. */
export const MAX_SELECTOR_LENGTH = 65_536;

const short = (description?: string) => text(description, SHORT);

const requirementsOf = (goType: string) =>
  Type.Optional(
    Type.Array(Type.Object({ key: short(), operator: short(), values: texts(undefined, SHORT) }, { goType }), {
      goType: `[]${goType}`,
      maxItems: MAX_REQUIREMENTS,
    }),
  );

const selectorOf = (what: 'Field' | 'Label') =>
  Type.Optional(
    Type.Object(
      {
        rawSelector: text(undefined, { maxLength: MAX_SELECTOR_LENGTH }),
        requirements: requirementsOf(`${what}SelectorRequirement`),
      },
      { goType: `${what}SelectorAttributes`, description: 'Accepted and ignored: RBAC rules have no selectors.' },
    ),
  );

const ResourceAttributesSchema = Type.Object(
  {
    namespace: short('Empty for what has no namespace, and for all namespaces.'),
    verb: short('`get`, `list`, `create` and so on; `*` means all.'),
    group: short('The API group; `*` means all.'),
    version: short(),
    resource: short('The plural, as in paths; `*` means all.'),
    subresource: short(),
    name: short('Empty means all.'),
    fieldSelector: selectorOf('Field'),
    labelSelector: selectorOf('Label'),
  },
  { goType: 'ResourceAttributes' },
);

const NonResourceAttributesSchema = Type.Object(
  { path: text('The path of a URL.', MAX_PATH), verb: short('The method, in lower case.') },
  { goType: 'NonResourceAttributes' },
);

const rulesOf = (goType: string, fields: readonly string[]) =>
  Type.Optional(
    Type.Array(Type.Object(Object.fromEntries(fields.map((name) => [name, texts()])), { goType }), {
      goType: `[]${goType}`,
    }),
  );

export const review = (
  group: string,
  kind: string,
  fields: Record<string, ReturnType<typeof Type.Optional>>,
  { namespaced }: { readonly namespaced: boolean } = { namespaced: false },
): VirtualType => ({
  group,
  version: 'v1',
  kind,
  style: 'builtin',
  resource: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
  namespaced,
  ...bodySchema(Type.Object({ ...typeMeta, ...fields }, { goType: kind })),
});

export const selfSubjectReviewType = review('authentication.k8s.io', 'SelfSubjectReview', {
  status: Type.Optional(
    Type.Object({ userInfo: Type.Optional(UserInfoSchema) }, { goType: 'SelfSubjectReviewStatus' }),
  ),
});

/** What a review asks about: a resource or a path. */
export const attributes = {
  resourceAttributes: Type.Optional(ResourceAttributesSchema),
  nonResourceAttributes: Type.Optional(NonResourceAttributesSchema),
};

const accessStatus = Type.Optional(
  Type.Object(
    {
      allowed: flag(),
      denied: flag(),
      reason: text('The binding and the role that allow it, or why rules could not be resolved.'),
      evaluationError: text(),
    },
    { goType: 'SubjectAccessReviewStatus' },
  ),
);

export const selfSubjectAccessReviewType = review('authorization.k8s.io', 'SelfSubjectAccessReview', {
  spec: Type.Optional(
    Type.Object(attributes, { goType: 'SelfSubjectAccessReviewSpec', description: 'What the caller asks about.' }),
  ),
  status: accessStatus,
});

const subjectAccessReview = {
  spec: Type.Optional(
    Type.Object(
      {
        ...attributes,
        user: text('The name of the user. `user` or `groups` is required.'),
        groups: texts('The groups of the user. None is added: name `system:authenticated` if it is to count.'),
        extra: ExtraSchema,
        uid: text(),
      },
      { goType: 'SubjectAccessReviewSpec', description: 'Who is asked about, and what.' },
    ),
  ),
  status: accessStatus,
};

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
  spec: Type.Optional(
    Type.Object(
      { namespace: short('The namespace of the review. Required.') },
      { goType: 'SelfSubjectRulesReviewSpec' },
    ),
  ),
  status: Type.Optional(
    Type.Object(
      {
        resourceRules: rulesOf('ResourceRule', ['verbs', 'apiGroups', 'resources', 'resourceNames']),
        nonResourceRules: rulesOf('NonResourceRule', ['verbs', 'nonResourceURLs']),
        incomplete: flag(),
        evaluationError: text(),
      },
      { goType: 'SubjectRulesReviewStatus' },
    ),
  ),
});

/** Reviews that every authenticated caller may create, because they are about the caller itself. */
export const selfReviewTypes: readonly VirtualType[] = [
  selfSubjectReviewType,
  selfSubjectAccessReviewType,
  selfSubjectRulesReviewType,
];

export interface SelectorAttributes {
  rawSelector?: string;
  requirements?: { key?: string; operator?: string; values?: string[] }[];
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: SelectorAttributes;
  labelSelector?: SelectorAttributes;
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

/** The fields that callers send. */
export interface SelfSubjectAccessReview {
  metadata?: ObjectMeta;
  spec?: { resourceAttributes?: ResourceAttributes; nonResourceAttributes?: NonResourceAttributes };
}

/** Also a LocalSubjectAccessReview. */
export interface SubjectAccessReview {
  metadata?: ObjectMeta;
  spec?: NonNullable<SelfSubjectAccessReview['spec']> & {
    user?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
    uid?: string;
  };
}

export interface SelfSubjectRulesReview {
  spec?: { namespace?: string };
}
