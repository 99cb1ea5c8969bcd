import { type Static, Type } from 'typebox';
import type { ApiObject, Kind } from '../kind.ts';
import { checkEach, type FieldError, invalidValue, required, unsupportedValue } from '../status.ts';
import { ageColumn, nameColumn, subjectColumns, textColumn } from './columns.ts';
import { type LabelSelectorFields, labelSelectorSchema, selectorSizeErrors } from './label-selector-schema.ts';
import { kindSchema, list, part, struct, text, texts } from './meta.ts';

/** Kubernetes' own RBAC kinds, for the whole fleet: existing YAML applies unchanged. */

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Of one role. Each is compared with the rules that the writer holds. */
const MAX_RULES = 1_000;

const RuleSchema = struct('PolicyRule', 'Some verbs on some resources.', {
  verbs: texts('The allowed verbs, e.g. `get`; `*` for all.'),
  apiGroups: texts('The groups of the resources; an empty string for the core group.'),
  resources: texts('The resources, as in `serviceaccounts` or `serviceaccounts/token`.'),
  resourceNames: texts('Only objects with these names; empty means all.'),
  nonResourceURLs: texts('Non-resource paths; a `*` at the end matches any suffix.'),
});

const SubjectSchema = struct(
  'Subject',
  'A user, group or service account.',
  {
    kind: text('`User`, `Group` or `ServiceAccount`.'),
    apiGroup: text('The group of the kind; empty for a service account.'),
    name: text('The name of the user, group or service account.'),
    namespace: text('The namespace of a service account.'),
  },
  { mapType: 'atomic' },
);

const RoleRefSchema = struct(
  'RoleRef',
  'The role that is granted. Cannot be changed.',
  {
    apiGroup: text('The group of the role.'),
    kind: text('`Role` or `ClusterRole`.'),
    name: text('The name of the role.'),
  },
  { mapType: 'atomic' },
);

export type PolicyRule = Static<typeof RuleSchema>;
type RbacSubject = Static<typeof SubjectSchema>;
type RoleRef = Static<typeof RoleRefSchema>;

const RulesSchema = list(RuleSchema, {
  maxItems: MAX_RULES,
  keepNull: true,
  description: 'What is allowed; there are no rules that deny.',
});

const rbac = {
  group: RBAC_GROUP,
  version: 'v1',
  style: 'builtin',
  inCluster: false,
  nameRule: 'path-segment',
} as const;

function validateRules(object: ApiObject, namespaced: boolean): FieldError[] {
  return checkEach((object.rules ?? []) as PolicyRule[], (rule, index) =>
    validateRule(rule, `rules[${index}]`, namespaced),
  );
}

function validateRule(rule: PolicyRule, at: string, namespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if ((rule.verbs ?? []).length === 0) errors.push(required(`${at}.verbs`));
  const urls = rule.nonResourceURLs ?? [];
  if (urls.length > 0) {
    const wrong = (why: string): FieldError => invalidValue(`${at}.nonResourceURLs`, urls, why);
    if (namespaced) errors.push(wrong('namespaced rules cannot apply to non-resource URLs'));
    if ([rule.apiGroups, rule.resources, rule.resourceNames].some((list) => (list ?? []).length > 0)) {
      errors.push(wrong('rules cannot apply to both regular resources and non-resource URLs'));
    }
    return errors;
  }
  if ((rule.apiGroups ?? []).length === 0) {
    errors.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if ((rule.resources ?? []).length === 0) {
    errors.push(required(`${at}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}

/** The API group a subject of this kind belongs to. Errors list the kinds in this order, as kube-apiserver does. */
const SUBJECT_GROUPS: Record<string, string> = { ServiceAccount: '', User: RBAC_GROUP, Group: RBAC_GROUP };

function validateSubjects(object: ApiObject, namespaced: boolean): FieldError[] {
  return checkEach((object.subjects ?? []) as RbacSubject[], (subject, index) => {
    const errors: FieldError[] = [];
    const at = `subjects[${index}]`;
    if ((subject.name ?? '') === '') errors.push(required(`${at}.name`));
    const group = Object.hasOwn(SUBJECT_GROUPS, subject.kind ?? '') ? SUBJECT_GROUPS[subject.kind ?? ''] : undefined;
    if (group === undefined) {
      errors.push(unsupportedValue(`${at}.kind`, subject.kind ?? '', Object.keys(SUBJECT_GROUPS)));
    } else if ((subject.apiGroup ?? '') !== group) {
      errors.push(unsupportedValue(`${at}.apiGroup`, subject.apiGroup ?? '', [group]));
    } else if (subject.kind === 'ServiceAccount' && !namespaced && (subject.namespace ?? '') === '') {
      errors.push(required(`${at}.namespace`));
    }
    return errors;
  });
}

function validateRoleRef(object: ApiObject, old: ApiObject | undefined, kinds: readonly string[]): FieldError[] {
  const ref = (object.roleRef ?? {}) as RoleRef;
  const errors: FieldError[] = [];
  if ((ref.apiGroup ?? '') !== RBAC_GROUP) {
    errors.push(unsupportedValue('roleRef.apiGroup', ref.apiGroup ?? '', [RBAC_GROUP]));
  }
  if (!kinds.includes(ref.kind ?? '')) errors.push(unsupportedValue('roleRef.kind', ref.kind ?? '', kinds));
  if ((ref.name ?? '') === '') errors.push(required('roleRef.name'));
  const before = old?.roleRef as RoleRef | undefined;
  if (before !== undefined && (['apiGroup', 'kind', 'name'] as const).some((field) => before[field] !== ref[field])) {
    // F-07: with the field names of Go.
    const value = { APIGroup: ref.apiGroup ?? '', Kind: ref.kind ?? '', Name: ref.name ?? '' };
    errors.push(invalidValue('roleRef', value, 'cannot change roleRef'));
  }
  return errors;
}

function defaultBinding(object: ApiObject): void {
  const ref = object.roleRef as RoleRef | undefined;
  if (ref !== undefined && (ref.apiGroup ?? '') === '') ref.apiGroup = RBAC_GROUP;
  for (const subject of (object.subjects ?? []) as RbacSubject[]) {
    const group = Object.hasOwn(SUBJECT_GROUPS, subject.kind ?? '') ? SUBJECT_GROUPS[subject.kind ?? ''] : undefined;
    if ((subject.apiGroup ?? '') === '' && group !== undefined && group !== '') subject.apiGroup = group;
  }
}

const roleColumns: Kind['columns'] = [
  nameColumn,
  // The time and no age, as in kube-apiserver.
  textColumn('Created At', 'When the object was created.', ({ metadata }) => metadata.creationTimestamp),
];

const bindingColumns: Kind['columns'] = [
  nameColumn,
  textColumn('Role', 'The role that is granted.', ({ roleRef }) => {
    const { kind, name } = (roleRef ?? {}) as RoleRef;
    return `${kind}/${name}`;
  }),
  ageColumn,
  ...subjectColumns(({ subjects = [] }) => subjects as RbacSubject[]),
];

const binding = (kind: string, namespaced: boolean, roleKinds: readonly string[]): Kind => ({
  ...rbac,
  policyRole: 'binding',
  namespaced,
  ...kindSchema(kind, `Grants a role to subjects${namespaced ? ', within a namespace' : ''}.`, {
    subjects: list(SubjectSchema, { description: 'The subjects that the role is granted to.' }),
    roleRef: Type.Optional(RoleRefSchema),
  }),
  columns: bindingColumns,
  applyDefaults: defaultBinding,
  validate: (object, old) => [...validateRoleRef(object, old, roleKinds), ...validateSubjects(object, namespaced)],
});

const roleOf = (namespaced: boolean, schema: ReturnType<typeof kindSchema>): Kind => ({
  ...rbac,
  policyRole: 'rules',
  namespaced,
  ...schema,
  columns: roleColumns,
  applyDefaults: (object) => {
    // As in kube-apiserver, where the field is not left out, and a list without items is read as none.
    if (((object.rules ?? []) as PolicyRule[]).length === 0) object.rules = null;
  },
  validate: (object) => [...validateRules(object, namespaced), ...validateAggregation(object)],
});

const validateAggregation = ({ aggregationRule }: ApiObject): FieldError[] =>
  checkEach(
    (aggregationRule as { clusterRoleSelectors?: LabelSelectorFields[] } | undefined)?.clusterRoleSelectors ?? [],
    (selector, index) => selectorSizeErrors(selector, `aggregationRule.clusterRoleSelectors[${index}]`),
  );

const AggregationRuleSchema = part('AggregationRule', 'Combines the rules of other cluster roles.', {
  clusterRoleSelectors: list(labelSelectorSchema(), {
    description: 'Select the cluster roles whose rules are combined.',
  }),
});

export const clusterRoleKind = roleOf(
  false,
  kindSchema('ClusterRole', 'A set of rules, for bindings of the fleet and of any namespace.', {
    rules: RulesSchema,
    aggregationRule: AggregationRuleSchema,
  }),
);
export const roleKind = roleOf(
  true,
  kindSchema('Role', 'A set of rules, for bindings in its own namespace.', { rules: RulesSchema }),
);
export const clusterRoleBindingKind = binding('ClusterRoleBinding', false, ['ClusterRole']);
export const roleBindingKind = binding('RoleBinding', true, ['Role', 'ClusterRole']);
