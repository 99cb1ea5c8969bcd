import type { ApiObject } from '../api/kind.ts';
import { makeRequirement } from '../objects/selectors/label-requirement.ts';
import { type LabelOperator, LabelSelector, type Requirement } from '../objects/selectors/label-selector.ts';
import { field, isRecord, listOf, textEntries } from './plain-json.ts';
import { type Rule, ruleText } from './rules.ts';

/**
 * P-18: in Kubernetes a controller copies the rules of the selected ClusterRoles into the aggregating
 * one. There is no controller here, so they are gathered when they are needed. What the role itself
 * lists under `rules` does not count: the controller would overwrite it.
 */

/** What aggregation needs to know of a ClusterRole. */
export interface RoleNode {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly own: readonly Rule[];
  /** Undefined for an ordinary role. */
  readonly selectors: readonly LabelSelector[] | undefined;
}

export const roleLabels = (role: ApiObject): ReadonlyMap<string, string> => new Map(textEntries(role.metadata.labels));

/**
 * The selectors of an aggregating role; undefined when it is an ordinary one. If one of them cannot be
 * read the role gathers nothing: the controller too gives up on the whole role.
 */
export function readAggregation(role: ApiObject): LabelSelector[] | undefined {
  const rule = field(role, 'aggregationRule');
  if (rule === undefined || rule === null) return undefined;
  try {
    return listOf(field(rule, 'clusterRoleSelectors')).map(readSelector);
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

/** Strict, because what is left out of a selector widens it. */
function readSelector(value: unknown): LabelSelector {
  if (!isRecord(value)) throw new TypeError('not a selector');
  const labels = Object.entries(recordOrNothing(field(value, 'matchLabels'))).map(([key, text]) =>
    makeRequirement(key, '=', texts([text])),
  );
  const expressions = field(value, 'matchExpressions') ?? [];
  if (!Array.isArray(expressions)) throw new TypeError('not a list');
  return new LabelSelector([...labels, ...expressions.map(readExpression)]);
}

function readExpression(value: unknown): Requirement {
  const key = field(value, 'key');
  const operator = OPERATORS.get(field(value, 'operator'));
  const values = texts(field(value, 'values') ?? []);
  if (typeof key !== 'string' || operator === undefined) throw new TypeError('not a requirement');
  const needsValues = operator === 'in' || operator === 'notin';
  if (needsValues !== values.length > 0) throw new TypeError('the operator and the number of values disagree');
  return makeRequirement(key, operator, values);
}

function recordOrNothing(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw new TypeError('not a map');
  return value;
}

function texts(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError('not a list');
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw new TypeError('not a string');
    return item;
  });
}

export const selects = (node: RoleNode, labels: ReadonlyMap<string, string>): boolean =>
  node.selectors?.some((selector) => selector.matches(labels)) ?? false;

/**
 * Follows aggregating roles that select one another, to any depth and through circles, because the
 * controller would have copied the rules along the same way. Sorted by name, repeats folded.
 */
export function gatherRules(start: RoleNode, roles: Iterable<RoleNode>): Rule[] {
  const sorted = [...roles].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const seen = new Set<RoleNode>([start]);
  const rules = new Map<string, Rule>();
  const open = [start];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const other of sorted) {
      if (seen.has(other) || !selects(node, other.labels)) continue;
      seen.add(other);
      if (other.selectors !== undefined) open.push(other);
      else for (const rule of other.own) rules.set(ruleText(rule), rule);
    }
  }
  return [...rules.values()];
}
