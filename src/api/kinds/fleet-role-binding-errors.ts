import { isDeepStrictEqual } from 'node:util';
import type { ClustersField } from '../clusters-field.ts';
import { exactDuration } from '../codec/go-text/human-duration.ts';
import {
  checkEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  unsupportedValue,
} from '../field-error.ts';
import type { ApiObject } from '../kind.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName, isValidLabelValue, validateLabels } from '../names.ts';
import { isReservedLabel, RESERVED_LABEL } from '../reserved-keys.ts';
import {
  AGENTS_ALLOW,
  APPROVERS,
  bindingSpec,
  type FleetRoleBindingSpec,
  MIN_MAX_PASS_SECONDS,
} from './fleet-role-binding-spec.ts';
import { type LabelSelectorFields, selectorSizeErrors } from './label-selector-schema.ts';

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
