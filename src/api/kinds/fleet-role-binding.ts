import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from 'typebox';
import { type ClustersField, clustersText } from '../clusters-field.ts';
import { exactDuration } from '../codec/go-text/human-duration.ts';
import type { ApiObject, Kind } from '../kind.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName, isValidLabelValue, validateLabels } from '../names.ts';
import { isReservedLabel, RESERVED_LABEL } from '../reserved-keys.ts';
import {
  checkEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  unsupportedValue,
} from '../status.ts';
import { ageColumn, nameColumn, subjectColumns, textColumn } from './columns.ts';
import { type LabelSelectorFields, labelSelectorSchema, selectorSizeErrors } from './label-selector-schema.ts';
import { flag, int64, kindSchema, list, part, SHORT, serverKind, struct, text, timestamp } from './meta.ts';

/** The spec and the status of a FleetRoleBinding. */

/** All of them are compared when a binding is written. */
const MAX_NAMES = 2_000;
const MAX_NAMESPACES = 100;

/** A pass that lasts shorter is of no use: a client would renew it all the time. */
const MIN_MAX_PASS_SECONDS = 60;

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

const ClustersSchema = part(
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

const SpecSchema = part(
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
    clusters: ClustersSchema,
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

const StatusSchema = part('FleetRoleBindingStatus', 'Written by the server.', {
  clusters: int64('The number of clusters in which the binding holds now.'),
  conditions: list(ConditionSchema, { description: 'Why it grants nothing; empty otherwise.' }),
});

/** What is wrong with a binding now: only conditions that are true are listed. */
export type BindingCondition = 'RoleMissing' | 'Expired' | 'NoClusters';

type FleetRoleBindingSpec = Static<typeof SpecSchema>;
export type FleetRoleBindingStatus = Static<typeof StatusSchema>;

export const bindingSpec = (object: ApiObject): FleetRoleBindingSpec => (object.spec ?? {}) as FleetRoleBindingSpec;
export const bindingStatus = (object: ApiObject): FleetRoleBindingStatus =>
  (object.status ?? {}) as FleetRoleBindingStatus;

/** What is wrong with the spec of a FleetRoleBinding, beyond its schema. */

const SUBJECT_KINDS = ['ServiceAccount', 'User', 'Group'];
const ROLE_KINDS = ['Role', 'ClusterRole'];
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const CLUSTERS_CHOICES = ['all', 'names', 'selector'] as const;

export function bindingErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec = bindingSpec(object);
  return [
    ...subjectErrors(spec),
    ...roleErrors(spec, old),
    ...(spec.clusters === undefined
      ? [required('spec.clusters', `exactly one of ${CLUSTERS_CHOICES.join(', ')}`)]
      : clustersErrors(spec.clusters)),
    ...namespaceErrors(spec),
    ...passErrors(spec),
  ];
}

const subjectErrors = ({ subjects = [] }: FleetRoleBindingSpec): FieldError[] =>
  checkEach(subjects, ({ kind = '', name = '', namespace = '' }, index) => {
    const at = `spec.subjects[${index}]`;
    const isAccount = kind === 'ServiceAccount';
    return [
      ...(SUBJECT_KINDS.includes(kind) ? [] : [unsupportedValue(`${at}.kind`, kind, SUBJECT_KINDS)]),
      ...(name === '' ? [required(`${at}.name`)] : []),
      ...(isAccount && namespace === '' ? [required(`${at}.namespace`)] : []),
      ...(!isAccount && namespace !== ''
        ? [invalidValue(`${at}.namespace`, namespace, 'only service accounts have a namespace')]
        : []),
    ];
  });

function roleErrors({ roleRef = {} }: FleetRoleBindingSpec, old: ApiObject | undefined): FieldError[] {
  const { kind = '', name = '' } = roleRef;
  const before = old && bindingSpec(old).roleRef;
  return [
    ...(ROLE_KINDS.includes(kind) ? [] : [unsupportedValue('spec.roleRef.kind', kind, ROLE_KINDS)]),
    ...(name === '' ? [required('spec.roleRef.name')] : []),
    ...(before !== undefined && !isDeepStrictEqual({ ...before }, { ...roleRef })
      ? [invalidValue('spec.roleRef', roleRef, 'cannot change roleRef')]
      : []),
  ];
}

function clustersErrors(clusters: ClustersField): FieldError[] {
  const at = 'spec.clusters';
  const chosen = CLUSTERS_CHOICES.filter((choice) => clusters[choice] !== undefined);
  if (chosen.length !== 1) {
    return [invalidValue(at, clusters, `must have exactly one of ${CLUSTERS_CHOICES.join(', ')}`)];
  }
  const { all, names, uid, selector } = clusters;
  return [
    ...(all === false ? [invalidValue(`${at}.all`, all, 'must be true')] : []),
    ...(names === undefined ? [] : nameErrors(names, `${at}.names`)),
    ...(uid !== undefined && (uid === '' || names?.length !== 1)
      ? [invalidValue(`${at}.uid`, uid, 'is that of one cluster: needs one name')]
      : []),
    ...(selector === undefined ? [] : selectorErrors(selector, `${at}.selector`)),
  ];
}

function nameErrors(names: readonly string[], at: string): FieldError[] {
  if (names.length === 0) return [required(at, 'at least one name')];
  return checkEach(names, (name, index) => invalidValues(`${at}[${index}]`, name, isDns1123Subdomain(name)));
}

/** As ValidateLabelSelector of apimachinery. An empty selector would select every cluster, and is refused. */
function selectorErrors(selector: LabelSelectorFields, at: string): FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    return [required(at, 'an empty selector would select every cluster: use all: true')];
  }
  return [
    ...selectorSizeErrors(selector, at),
    ...validateLabels(matchLabels, `${at}.matchLabels`),
    ...checkEach(Object.keys(matchLabels), (key) => reservedErrors(key, `${at}.matchLabels`)),
    ...checkEach(matchExpressions, (expression, index) =>
      expressionErrors(expression, `${at}.matchExpressions[${index}]`),
    ),
  ];
}

function expressionErrors(
  { key = '', operator = '', values = [] }: NonNullable<LabelSelectorFields['matchExpressions']>[number],
  at: string,
): FieldError[] {
  const hasValues = operator === 'In' || operator === 'NotIn';
  const errors = [...invalidValues(`${at}.key`, key, isQualifiedName(key)), ...reservedErrors(key, `${at}.key`)];
  if (!OPERATORS.includes(operator)) {
    errors.push(unsupportedValue(`${at}.operator`, operator, OPERATORS));
  } else if (hasValues && values.length === 0) {
    errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (!hasValues && values.length > 0) {
    const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    errors.push(forbiddenField(`${at}.values`, why));
  }
  return [
    ...errors,
    ...checkEach(values, (value, index) => invalidValues(`${at}.values[${index}]`, value, isValidLabelValue(value))),
  ];
}

/** A label that no cluster can have would make `NotIn` and `DoesNotExist` select every cluster. */
const reservedErrors = (key: string, at: string): FieldError[] =>
  isReservedLabel(key) ? [invalidValue(at, key, RESERVED_LABEL)] : [];

function namespaceErrors({ namespaces, roleRef }: FleetRoleBindingSpec): FieldError[] {
  const at = 'spec.namespaces';
  const isRole = roleRef?.kind === 'Role';
  if (namespaces === undefined) return isRole ? [required(at, 'a Role is of one namespace')] : [];
  if (namespaces.length === 0) return [required(at, 'at least one namespace, or without the field all namespaces')];
  if (isRole && namespaces.length > 1) return [invalidValue(at, namespaces, 'a Role is of one namespace')];
  return checkEach(namespaces, (name, index) => invalidValues(`${at}[${index}]`, name, isDns1123Label(name)));
}

function passErrors({ agents, approval, maxPassSeconds = MIN_MAX_PASS_SECONDS }: FleetRoleBindingSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (agents !== undefined && agents !== AGENTS_ALLOW) {
    errors.push(unsupportedValue('spec.agents', agents, [AGENTS_ALLOW]));
  }
  const by = approval?.by ?? '';
  if (approval !== undefined && !APPROVERS.some((known) => known === by)) {
    errors.push(unsupportedValue('spec.approval.by', by, APPROVERS));
  } else if ((by === 'Requester' || by === 'Approver') && agents !== AGENTS_ALLOW) {
    const why = 'is asked about passes of agents, which spec.agents does not allow; for people too: ApproverAlways';
    errors.push(invalidValue('spec.approval.by', by, why));
  }
  const least = `must be at least ${exactDuration(MIN_MAX_PASS_SECONDS)}`;
  if (maxPassSeconds < MIN_MAX_PASS_SECONDS) errors.push(invalidValue('spec.maxPassSeconds', maxPassSeconds, least));
  return errors;
}

/** Between the values of a field that has several: see `Kind.selectableFields`. */
const SEPARATOR = '\0';

/** Derived: two versions of the same generation grant the same. */
export const GENERATION_FIELD = 'metadata.generation';
/** Derived: when it ends; `""` if it does not. */
export const END_FIELD = 'spec.expiresAt';

const roleText = (object: ApiObject): string => {
  const { kind = '', name = '' } = bindingSpec(object).roleRef ?? {};
  return `${kind}/${name}`;
};

/**
 * Grants a role in some clusters, until some time, to people or to agents as well. A field that is misspelled, null or
 * missing is an error: such a binding would hold in more clusters, or longer, than its author meant.
 */
export const fleetRoleBindingKind: Kind = {
  ...serverKind,
  shortNames: ['frb'],
  policyRole: 'binding',
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'path-segment',
  selectableFields: {
    'spec.roleRef.name': (object) => bindingSpec(object).roleRef?.name ?? '',
    'spec.subjects.name': (object) => (bindingSpec(object).subjects ?? []).map(({ name = '' }) => name).join(SEPARATOR),
  },
  derivedFields: {
    [GENERATION_FIELD]: ({ metadata }) => String(metadata.generation ?? 0),
    [END_FIELD]: (object) => bindingSpec(object).expiresAt ?? '',
  },
  ...kindSchema(
    'FleetRoleBinding',
    'Grants a role to subjects, in some clusters.',
    { spec: SpecSchema, status: StatusSchema },
    { strict: true },
  ),
  validate: bindingErrors,
  columns: [
    nameColumn,
    textColumn('Role', 'The role that is granted.', roleText),
    textColumn('Clusters', 'Where it holds.', (object) => clustersText(bindingSpec(object).clusters)),
    {
      name: 'Reaches',
      type: 'integer',
      format: '',
      description: 'The number of clusters in which it holds now.',
      priority: 0,
      cell: (object) => bindingStatus(object).clusters ?? null,
    },
    textColumn('Namespaces', 'The namespaces in which it holds.', (object) =>
      (bindingSpec(object).namespaces ?? ['<all>']).join(','),
    ),
    textColumn('Expires', 'When it ends.', (object) => bindingSpec(object).expiresAt ?? '<never>'),
    textColumn('Problem', 'Why it grants nothing.', (object) =>
      (bindingStatus(object).conditions ?? []).map(({ type = '' }) => type).join(','),
    ),
    ageColumn,
    ...subjectColumns((object) => bindingSpec(object).subjects ?? []),
  ],
};
