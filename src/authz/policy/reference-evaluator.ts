import type { Decision, PathQuestion, ResourceQuestion } from '../../api/authorization.ts';
import { type Caller, MASTERS, type User } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import { type BindingFacts, bindingId, readBinding, reasonText, resolutionError } from './binding-facts.ts';
import type { RuleGrant, RuleSource, VisibilityVerb } from './cluster-rule.ts';
import { type ClusterView, viewCluster } from './cluster-selector.ts';
import { isAlwaysReviewed, withApprovalHint } from './pass-decision.ts';
import { type RoleKey, readAggregation, readRules, readSubjects, roleLabels } from './rbac-objects.ts';
import { GRANTING_VERBS } from './rule-index.ts';
import { ANY, pathMatches, type Rule } from './rules.ts';

/**
 * RBAC evaluated straight from the objects: a scan of all bindings, no index and no cache. It evaluates past revisions,
 * which are seldom needed, and tests compare the compiled policy with it.
 */

/** The objects that decide which clusters are visible, at one revision. */
interface RbacSnapshot {
  clusterRoles(): Iterable<ApiObject>;
  clusterRoleBindings(): Iterable<ApiObject>;
  clusterRole(name: string): ApiObject | undefined;
}

export interface NamespacedRbacSnapshot extends RbacSnapshot {
  roleBindings(namespace: string): Iterable<ApiObject>;
  role(namespace: string, name: string): ApiObject | undefined;
}

/** The objects at a past revision, with what is needed to find the bindings of one caller among them. */
export interface PastRbacSnapshot extends NamespacedRbacSnapshot {
  /** A ClusterRoleBinding for the namespace `""`. */
  binding(namespace: string, name: string): ApiObject | undefined;
  /** The names of all bindings in the namespace that were created, changed or deleted since. */
  changedBindings(namespace: string): Iterable<string>;
}

/** The snapshot with these bindings and those that have changed since, as far as they held, and no others. */
export function withBindings(
  snapshot: PastRbacSnapshot,
  namesIn: (namespace: string) => Iterable<string>,
  held: (binding: { namespace: string; name: string; object: ApiObject }) => boolean,
): PastRbacSnapshot {
  const bindings = (namespace: string): ApiObject[] => {
    const names = new Set([...snapshot.changedBindings(namespace), ...namesIn(namespace)]);
    return [...names].flatMap((name) => {
      const object = snapshot.binding(namespace, name);
      return object !== undefined && held({ namespace, name, object }) ? object : [];
    });
  };
  return { ...snapshot, clusterRoleBindings: () => bindings(''), roleBindings: bindings };
}

const nameOf = (object: ApiObject): string => object.metadata.name ?? '';

function named({ subjects }: Pick<BindingFacts, 'subjects'>, user: User): boolean {
  return subjects.some(({ kind, name }) => (kind === 'user' ? name === user.name : user.groups.includes(name)));
}

/** P-18: adds the rules of selected roles until there is no further one. */
export function effectiveRules(role: ApiObject, snapshot: RbacSnapshot): Rule[] {
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
  readonly error: string | undefined;
}

function* boundRules(
  bindings: Iterable<ApiObject>,
  namespace: string,
  user: User,
  roleOf: (key: RoleKey) => ApiObject | undefined,
  rulesOf: (role: ApiObject) => Rule[],
): Generator<BoundRules> {
  for (const object of bindings) {
    // Most bindings do not name the user: their selectors are not parsed.
    if (!named({ subjects: readSubjects(object.subjects, namespace) }, user)) continue;
    const facts = readBinding(object, namespace, nameOf(object));
    const role = roleOf(facts.roleRef);
    const error = resolutionError(facts, role !== undefined);
    yield { facts, rules: role === undefined ? [] : rulesOf(role), error };
  }
}

const clusterRoleOf =
  (snapshot: RbacSnapshot) =>
  ({ kind, name }: RoleKey): ApiObject | undefined =>
    kind === 'ClusterRole' ? snapshot.clusterRole(name) : undefined;

/** One rule against one question, as in P-12, P-13 and P-15. */
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

/** `bindings` are all that allow it, in order of precedence. */
export function referenceDecide(
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

  const roleOf = (key: RoleKey): ApiObject | undefined =>
    key.kind === 'Role' ? snapshot.role(key.namespace, key.name) : clusterRoleOf(snapshot)(key);
  const rulesOf = (role: ApiObject): Rule[] =>
    role.kind === 'Role' ? readRules(role.rules) : effectiveRules(role, snapshot);
  const bound = [...boundRules(sorted(snapshot.clusterRoleBindings()), '', user, roleOf, rulesOf)];
  if (namespace !== '') {
    bound.push(...boundRules(sorted(snapshot.roleBindings(namespace)), namespace, user, roleOf, rulesOf));
  }
  const matching = bound.filter(
    ({ facts, rules }) => reaches(facts, view) && rules.some((rule) => ruleAllows(rule, question)),
  );
  const isAboutToken = isAboutTokens(question);
  const isReviewed = isAboutToken || GRANTING_VERBS.has(question.verb);
  const reviewed = isReviewed ? matching.filter(({ facts }) => isAlwaysReviewed(facts)) : [];
  const bindings = matching.filter((each) => !reviewed.includes(each)).map(({ facts }) => bindingId(facts));
  const [binding] = bindings;
  if (binding !== undefined) return { allowed: true, binding, reason: '', bindings };
  const errors = bound.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const refused = withApprovalHint({ allowed: false, reason: reasonText(errors) }, isAboutToken && reviewed.length > 0);
  return { ...refused, bindings };
}

function isAboutTokens(question: ResourceQuestion | PathQuestion): boolean {
  if ('path' in question) return false;
  const { group, resource, subresource } = question;
  if (subresource === 'token') return group === '' && resource === 'serviceaccounts';
  return subresource === 'userpass' && group === CLUSTER_GROUP && resource === 'clusters';
}

const sorted = (objects: Iterable<ApiObject>): ApiObject[] =>
  [...objects].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));

/** Which clusters the caller sees under the objects of the snapshot. */
export function referenceRuleSource(snapshot: RbacSnapshot, caller: Caller, verb: VisibilityVerb): RuleSource {
  const { home } = caller;
  return {
    elsewhere: referenceGrants(snapshot, caller.as(undefined), verb),
    home: home === undefined ? undefined : { cluster: home, grants: referenceGrants(snapshot, caller.as(home), verb) },
  };
}

function* referenceGrants(snapshot: RbacSnapshot, user: User, verb: VisibilityVerb): Generator<RuleGrant> {
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
