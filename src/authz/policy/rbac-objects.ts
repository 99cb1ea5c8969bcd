import { accountUserName } from '../../api/caller.ts';
import type { BoundSubject } from '../../api/decision.ts';
import type { ApiObject } from '../../api/kind.ts';
import { isJsonObject, memberOf } from '../../lib/json.ts';
import { makeRequirement } from '../../objects/selectors/label-requirement.ts';
import { type LabelOperator, LabelSelector, type Requirement } from '../../objects/selectors/label-selector.ts';
import { RULE_FIELDS, type Rule } from './rules.ts';

/**
 * Reads stored roles and bindings. They were validated when written, but others can write to the store as well: an
 * object that is malformed must neither make a decision throw nor grant more than was meant.
 */

/**
 * A rule with anything in it that is not a list of strings is left out whole. Leaving out only the malformed field
 * would widen it: no `resourceNames` means every name.
 */
export function readRules(value: unknown): Rule[] {
  return listOf(value).flatMap((item) => {
    const rule = readRule(item);
    return rule === undefined ? [] : [rule];
  });
}

function readRule(item: unknown): Rule | undefined {
  if (!isJsonObject(item)) return undefined;
  const rule: Record<(typeof RULE_FIELDS)[number], readonly string[]> = {
    verbs: [],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    nonResourceURLs: [],
  };
  for (const name of RULE_FIELDS) {
    const list = memberOf(item, name) ?? [];
    if (!isStrings(list)) return undefined;
    rule[name] = list;
  }
  return rule;
}

export type Subject = BoundSubject;

/** Identifies a role: that of a binding, with the namespace in which it is looked up. */
export interface RoleKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A Role is looked up in the binding's namespace, so a ClusterRoleBinding never finds one. */
export function readRoleRef(roleRef: unknown, bindingNamespace: string): RoleKey {
  const kind = stringOf(memberOf(roleRef, 'kind'));
  return { kind, namespace: kind === 'Role' ? bindingNamespace : '', name: stringOf(memberOf(roleRef, 'name')) };
}

/**
 * P-16: users and groups by exact name; a service account is the user of that name. Its namespace defaults to the
 * binding's. In a ClusterRoleBinding, which has none, it then matches no user. The subject's apiGroup is ignored.
 */
export function readSubjects(value: unknown, bindingNamespace: string): Subject[] {
  const distinct = new Map<string, Subject>();
  for (const item of listOf(value)) {
    const subject = readSubject(item, bindingNamespace);
    if (subject === undefined) continue;
    const key = `${subject.kind}:${subject.name}`;
    if (!distinct.has(key)) distinct.set(key, subject);
  }
  return [...distinct.values()];
}

function readSubject(item: unknown, bindingNamespace: string): Subject | undefined {
  const name = memberOf(item, 'name');
  if (typeof name !== 'string') return undefined;
  switch (memberOf(item, 'kind')) {
    case 'User':
      return { kind: 'user', name };
    case 'Group':
      return { kind: 'group', name };
    case 'ServiceAccount': {
      const namespace = stringOf(memberOf(item, 'namespace')) || bindingNamespace;
      if (namespace === '') return undefined;
      return { kind: 'user', name: accountUserName(namespace, name), account: { namespace, name } };
    }
    default:
      return undefined;
  }
}

export const roleLabels = (role: ApiObject): ReadonlyMap<string, string> =>
  new Map(stringEntries(role.metadata.labels));

/**
 * The selectors of an aggregating role; undefined for an ordinary one. If one selector cannot be read, the role
 * aggregates nothing: Kubernetes' controller too gives up on the whole role.
 */
export function readAggregation(role: ApiObject): LabelSelector[] | undefined {
  const rule = memberOf(role, 'aggregationRule');
  if (rule === undefined || rule === null) return undefined;
  try {
    return listOf(memberOf(rule, 'clusterRoleSelectors')).map(readSelector);
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
export function readSelector(value: unknown): LabelSelector {
  if (!isJsonObject(value)) throw new TypeError('not a selector');
  requireKnown(value, ['matchLabels', 'matchExpressions']);
  const matchLabels = memberOf(value, 'matchLabels') ?? {};
  if (!isJsonObject(matchLabels)) throw new TypeError('not a map');
  const labels = Object.entries(matchLabels).map(([key, text]) => makeRequirement(key, 'in', stringsOf([text])));
  const expressions = memberOf(value, 'matchExpressions') ?? [];
  if (!Array.isArray(expressions)) throw new TypeError('not a list');
  return new LabelSelector([...labels, ...expressions.map(readExpression)]);
}

function readExpression(value: unknown): Requirement {
  requireKnown(value, ['key', 'operator', 'values']);
  const key = memberOf(value, 'key');
  const operator = OPERATORS.get(memberOf(value, 'operator'));
  const values = stringsOf(memberOf(value, 'values') ?? []);
  if (typeof key !== 'string' || operator === undefined) throw new TypeError('not a requirement');
  const needsValues = operator === 'in' || operator === 'notin';
  if (needsValues !== values.length > 0) throw new TypeError('the operator and the number of values disagree');
  return makeRequirement(key, operator, values);
}

/** A field that no reader knows: it may be a restriction, misspelled. */
function requireKnown(value: unknown, known: readonly string[]): void {
  const unknown = isJsonObject(value) ? Object.keys(value).find((key) => !known.includes(key)) : undefined;
  if (unknown !== undefined) throw new TypeError(`unknown field ${unknown}`);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function stringsOf(value: unknown): string[] {
  if (!isStrings(value)) throw new TypeError('not a list of strings');
  return value;
}

/** The entries of a map of strings, without those of another type. */
function stringEntries(value: unknown): [string, string][] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
