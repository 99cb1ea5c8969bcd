import { accountUserName } from '../../api/caller.ts';
import type { BoundSubject } from '../../api/decision.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { LabelSelectorFields } from '../../api/kinds/label-selector-schema.ts';
import type { PolicyRule } from '../../api/kinds/rbac.ts';
import { makeRequirement } from '../../objects/selectors/label-requirement.ts';
import { type LabelOperator, LabelSelector, type Requirement } from '../../objects/selectors/label-selector.ts';
import type { Rule } from './rules.ts';

/**
 * Reads stored roles and bindings. Their fields have the types of the schema: another stored value counts as deleted
 * (`requireTypes`). Others can write to the store as well, so what else the API refuses must not grant more than was
 * meant.
 */

export const readRules = (rules: unknown): Rule[] =>
  ((rules ?? []) as PolicyRule[]).map(
    ({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => ({
      verbs,
      apiGroups,
      resources,
      resourceNames,
      nonResourceURLs,
    }),
  );

export type Subject = BoundSubject;

/** Identifies a role: that of a binding, with the namespace in which it is looked up. */
export interface RoleKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A Role is looked up in the binding's namespace, so a ClusterRoleBinding never finds one. */
export function readRoleRef(roleRef: unknown, bindingNamespace: string): RoleKey {
  const { kind = '', name = '' } = (roleRef ?? {}) as Partial<RoleKey>;
  return { kind, namespace: kind === 'Role' ? bindingNamespace : '', name };
}

/**
 * P-16: users and groups by exact name; a service account is the user of that name. Its namespace defaults to the
 * binding's. In a ClusterRoleBinding, which has none, it then matches no user. The subject's apiGroup is ignored.
 */
export function readSubjects(subjects: unknown, bindingNamespace: string): Subject[] {
  const distinct = new Map<string, Subject>();
  for (const item of (subjects ?? []) as StoredSubject[]) {
    const subject = readSubject(item, bindingNamespace);
    if (subject === undefined) continue;
    const key = `${subject.kind}:${subject.name}`;
    if (!distinct.has(key)) distinct.set(key, subject);
  }
  return [...distinct.values()];
}

interface StoredSubject {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

function readSubject({ kind, name, namespace = '' }: StoredSubject, bindingNamespace: string): Subject | undefined {
  if (name === undefined) return undefined;
  switch (kind) {
    case 'User':
      return { kind: 'user', name };
    case 'Group':
      return { kind: 'group', name };
    case 'ServiceAccount': {
      const own = namespace || bindingNamespace;
      return own === ''
        ? undefined
        : { kind: 'user', name: accountUserName(own, name), account: { namespace: own, name } };
    }
    default:
      return undefined;
  }
}

export const roleLabels = ({ metadata }: ApiObject): Readonly<Record<string, string>> => metadata.labels ?? {};

/**
 * The selectors of an aggregating role; undefined for an ordinary one. If one selector cannot be read, the role
 * aggregates nothing: Kubernetes' controller too gives up on the whole role.
 */
export function readAggregation({ aggregationRule }: ApiObject): LabelSelector[] | undefined {
  if (aggregationRule === undefined) return undefined;
  const { clusterRoleSelectors = [] } = aggregationRule as { clusterRoleSelectors?: LabelSelectorFields[] };
  try {
    return clusterRoleSelectors.map(readSelector);
  } catch {
    return [];
  }
}

const OPERATORS: ReadonlyMap<unknown, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/** Strict: a requirement that is left out of a selector widens it. */
export function readSelector(selector: LabelSelectorFields): LabelSelector {
  requireKnown(selector, ['matchLabels', 'matchExpressions']);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.entries(matchLabels).map(([key, text]) => makeRequirement(key, 'in', [text]));
  return new LabelSelector([...labels, ...matchExpressions.map(readExpression)]);
}

type Expression = NonNullable<LabelSelectorFields['matchExpressions']>[number];

function readExpression(expression: Expression): Requirement {
  requireKnown(expression, ['key', 'operator', 'values']);
  const { key, values = [] } = expression;
  const operator = OPERATORS.get(expression.operator);
  if (key === undefined || operator === undefined) throw new TypeError('not a requirement');
  const needsValues = operator === 'in' || operator === 'notin';
  if (needsValues !== values.length > 0) throw new TypeError('the operator and the number of values disagree');
  return makeRequirement(key, operator, values);
}

/** A field that no reader knows: it may be a restriction, misspelled. */
function requireKnown(value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new TypeError(`unknown field ${unknown}`);
}
