import type { ClusterLabels, Decision, PathQuestion, ResourceQuestion } from '../api/authorization.ts';
import { type Caller, MASTERS, type User } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster.ts';
import { readAggregation, roleLabels } from './aggregation.ts';
import type { ClusterGrant, RuleSource, VisibilityVerb } from './cluster-rule.ts';
import { type ClusterView, viewCluster } from './cluster-selector.ts';
import { type BindingFacts, bindingId, readBinding } from './compiled-binding.ts';
import { type RoleTarget, reasonText, troubleOf } from './reasons.ts';
import { ANY, pathMatches, type Rule, readRules } from './rules.ts';

/**
 * RBAC read straight from the objects: every binding is looked at, nothing is kept. Slow and plain.
 * It answers for past revisions, which are asked about seldom, and it is the model that the compiled
 * policy is compared with.
 */

/** The objects that decide which clusters are seen, as they were at one revision. */
export interface RbacSnapshot {
  clusterRoles(): Iterable<ApiObject>;
  clusterRoleBindings(): Iterable<ApiObject>;
  clusterRole(name: string): ApiObject | undefined;
}

export interface NamespacedRbacSnapshot extends RbacSnapshot {
  roleBindings(namespace: string): Iterable<ApiObject>;
  role(namespace: string, name: string): ApiObject | undefined;
}

const nameOf = (object: ApiObject): string => object.metadata.name ?? '';

function named(facts: BindingFacts, user: User): boolean {
  return facts.subjects.some(({ kind, name }) => (kind === 'user' ? name === user.name : user.groups.includes(name)));
}

/** P-18, by adding what is selected until nothing is added any more. */
function effectiveRules(role: ApiObject, snapshot: RbacSnapshot): Rule[] {
  const first = readAggregation(role);
  if (first === undefined) return readRules(role.rules);
  const selectors = [...first];
  const reached = new Set([nameOf(role)]);
  const rules: Rule[] = [];
  for (let growing = true; growing; ) {
    growing = false;
    for (const other of snapshot.clusterRoles()) {
      const labels = roleLabels(other);
      if (reached.has(nameOf(other)) || !selectors.some((selector) => selector.matches(labels))) continue;
      growing = true;
      reached.add(nameOf(other));
      const further = readAggregation(other);
      if (further === undefined) rules.push(...readRules(other.rules));
      else selectors.push(...further);
    }
  }
  return rules;
}

interface BoundRules {
  readonly facts: BindingFacts;
  readonly rules: readonly Rule[];
  readonly trouble: string | undefined;
}

function* boundRules(
  bindings: Iterable<ApiObject>,
  namespace: string,
  user: User,
  roleOf: (target: RoleTarget) => ApiObject | undefined,
  rulesOf: (role: ApiObject) => Rule[],
): Generator<BoundRules> {
  for (const object of bindings) {
    const facts = readBinding(object, namespace, nameOf(object));
    if (!named(facts, user)) continue;
    const role = roleOf(facts.target);
    const trouble = troubleOf(facts, role !== undefined);
    yield { facts, rules: role === undefined ? [] : rulesOf(role), trouble };
  }
}

const clusterRoleOf =
  (snapshot: RbacSnapshot) =>
  ({ kind, name }: RoleTarget): ApiObject | undefined =>
    kind === 'ClusterRole' ? snapshot.clusterRole(name) : undefined;

/** One rule against one question, word by word as in P-12, P-13 and P-15. */
function ruleAllows(rule: Rule, question: ResourceQuestion | PathQuestion): boolean {
  if (!rule.verbs.includes(ANY) && !rule.verbs.includes(question.verb)) return false;
  if ('path' in question) return rule.nonResourceURLs.some((pattern) => pathMatches(pattern, question.path));
  const { group, resource, subresource, name } = question;
  if (!rule.apiGroups.includes(ANY) && !rule.apiGroups.includes(group)) return false;
  if (rule.resourceNames.length > 0 && !rule.resourceNames.includes(name)) return false;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return rule.resources.some(
    (element) => element === ANY || element === combined || (subresource !== '' && element === `*/${subresource}`),
  );
}

function reaches({ reach }: BindingFacts, view: ClusterView | undefined): boolean {
  if (reach.kind === 'clusters') return view !== undefined && reach.selector.holdsIn(view);
  return reach.kind === 'everywhere';
}

/** All bindings that allow it are named, in the order in which they count. */
export function plainDecide(
  snapshot: NamespacedRbacSnapshot,
  labelsOf: (cluster: string) => ClusterLabels | undefined,
  caller: Caller,
  question: ResourceQuestion | PathQuestion,
): Decision & { readonly bindings: readonly string[] } {
  const cluster = 'path' in question ? undefined : question.cluster;
  const namespace = 'path' in question ? '' : question.namespace;
  const user = caller.as(cluster);
  if (user.groups.includes(MASTERS)) return { allowed: true, reason: '', bindings: [] };
  const view = cluster === undefined ? undefined : viewCluster(cluster, labelsOf(cluster));

  const roleOf = (target: RoleTarget): ApiObject | undefined =>
    target.kind === 'Role' ? snapshot.role(target.namespace, target.name) : clusterRoleOf(snapshot)(target);
  const rulesOf = (role: ApiObject): Rule[] =>
    role.kind === 'Role' ? readRules(role.rules) : effectiveRules(role, snapshot);
  const bound = [...boundRules(sorted(snapshot.clusterRoleBindings()), '', user, roleOf, rulesOf)];
  if (namespace !== '') {
    bound.push(...boundRules(sorted(snapshot.roleBindings(namespace)), namespace, user, roleOf, rulesOf));
  }
  const bindings = bound
    .filter(({ facts, rules }) => reaches(facts, view) && rules.some((rule) => ruleAllows(rule, question)))
    .map(({ facts }) => bindingId(facts.namespace, facts.name));
  const [binding] = bindings;
  if (binding !== undefined) return { allowed: true, binding, reason: '', bindings };
  const troubles = bound.flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]));
  return { allowed: false, reason: reasonText(troubles), bindings };
}

const sorted = (objects: Iterable<ApiObject>): ApiObject[] =>
  [...objects].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));

/** Which clusters the caller sees, from the objects as they are in the snapshot. */
export function plainRuleSource(snapshot: RbacSnapshot, caller: Caller, verb: VisibilityVerb): RuleSource {
  const { home } = caller;
  return {
    elsewhere: plainGrants(snapshot, caller.as(undefined), verb),
    home: home === undefined ? undefined : { cluster: home, grants: plainGrants(snapshot, caller.as(home), verb) },
  };
}

function* plainGrants(snapshot: RbacSnapshot, user: User, verb: VisibilityVerb): Generator<ClusterGrant> {
  if (user.groups.includes(MASTERS)) {
    yield { names: undefined, selector: undefined };
    return;
  }
  const question = { verb, group: CLUSTER_GROUP, resource: 'clusters', subresource: '', namespace: '' };
  const rulesOf = (role: ApiObject): Rule[] => effectiveRules(role, snapshot);
  const bound = boundRules(snapshot.clusterRoleBindings(), '', user, clusterRoleOf(snapshot), rulesOf);
  for (const { facts, rules } of bound) {
    if (facts.reach.kind === 'nowhere') continue;
    const selector = facts.reach.kind === 'clusters' ? facts.reach.selector : undefined;
    for (const rule of rules) {
      const names = rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames);
      if (ruleAllows({ ...rule, resourceNames: [] }, { ...question, name: '', cluster: undefined })) {
        yield { names, selector };
      }
    }
  }
}
