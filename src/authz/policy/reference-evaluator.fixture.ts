import type { PathQuestion, ResourceQuestion } from '../../api/authorization.ts';
import { type Caller, MASTERS, type User } from '../../api/caller.ts';
import type { Decision } from '../../api/decision.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import { type BindingFacts, readBinding, reasonText, resolutionError } from './binding-facts.ts';
import type { RuleGrant, RuleSource, VisibilityVerb } from './cluster-rule.ts';
import { type ClusterView, viewCluster } from './cluster-selector.ts';
import { isAlwaysReviewed, withApprovalHint } from './pass-decision.ts';
import { type RoleKey, readAggregation, readRules, roleLabels } from './rbac-objects.ts';
import { GRANTING_VERBS } from './rule-index.ts';
import { ANY, pathMatches, type Rule } from './rules.ts';

/**
 * RBAC evaluated straight from the objects: a scan of all bindings, no index and no cache. Tests compare the compiled
 * policy with it.
 */

/** All roles and bindings. */
export interface RbacSnapshot {
  clusterRoles(): Iterable<ApiObject>;
  clusterRole(name: string): ApiObject | undefined;
  role(namespace: string, name: string): ApiObject | undefined;
  /** Of the three kinds. */
  bindings(): Iterable<ApiObject>;
}

const nameOf = (object: ApiObject): string => object.metadata.name ?? '';

const factsOf = (object: ApiObject): BindingFacts =>
  readBinding(object, object.metadata.namespace ?? '', nameOf(object));

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

function* boundRules(snapshot: RbacSnapshot, namespace: string, user: User): Generator<BoundRules> {
  const rulesOf = (role: ApiObject): Rule[] =>
    role.kind === 'Role' ? readRules(role.rules) : effectiveRules(role, snapshot);
  for (const facts of sorted(snapshot.bindings())) {
    if (!named(facts, user) || !facts.scopes.includes(namespace)) continue;
    const role = roleOf(snapshot, facts.roleRef);
    const error = resolutionError(facts, role !== undefined);
    yield { facts, rules: role === undefined ? [] : rulesOf(role), error };
  }
}

function roleOf(snapshot: RbacSnapshot, { kind, namespace, name }: RoleKey): ApiObject | undefined {
  if (kind === 'Role') return snapshot.role(namespace, name);
  return kind === 'ClusterRole' ? snapshot.clusterRole(name) : undefined;
}

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

function reaches({ reach, expiresAt }: BindingFacts, view: ClusterView | undefined, now: number): boolean {
  if (expiresAt <= now) return false;
  if (reach.kind === 'clusters') return view !== undefined && reach.selector.holdsIn(view);
  return reach.kind === 'everywhere';
}

/** `bindings` are all that allow it, in order of precedence; `reviewed` those that allow it after an approval. */
export function referenceDecide(
  snapshot: RbacSnapshot,
  labelsOf: (cluster: string) => ClusterLabels | undefined,
  caller: Caller,
  question: ResourceQuestion | PathQuestion,
  now = 0,
): Decision & { readonly bindings: readonly string[]; readonly reviewed: readonly string[] } {
  const cluster = 'path' in question ? undefined : question.cluster;
  const namespace = 'path' in question ? '' : question.namespace;
  const user = caller.as(cluster);
  if (user.groups.includes(MASTERS)) return { allowed: true, reason: '', bindings: [], reviewed: [] };
  const view = cluster === undefined ? undefined : viewCluster(cluster, labelsOf(cluster));

  const bound = (namespace === '' ? [''] : ['', namespace]).flatMap((scope) => [...boundRules(snapshot, scope, user)]);
  const matching = bound.filter(
    ({ facts, rules }) => reaches(facts, view, now) && rules.some((rule) => ruleAllows(rule, question)),
  );
  const isAboutToken = isAboutTokens(question);
  const isReviewed = isAboutToken || GRANTING_VERBS.has(question.verb);
  const reviewed = isReviewed ? matching.filter(({ facts }) => isAlwaysReviewed(facts)) : [];
  const through = matching.filter((each) => !reviewed.includes(each)).map(({ facts }) => facts);
  const found = { bindings: through.map(({ id }) => id), reviewed: reviewed.map(({ facts }) => facts.id) };
  const [binding] = found.bindings;
  if (binding !== undefined) {
    return { allowed: true, binding, reason: '', ...found, ...(isAboutToken && longestPass(through, now)) };
  }
  const errors = bound.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const refused = withApprovalHint({ allowed: false, reason: reasonText(errors) }, isAboutToken && reviewed.length > 0);
  return { ...refused, ...found };
}

/** The bounds of the longest pass; nothing if one of the bindings sets none. */
function longestPass(bindings: readonly BindingFacts[], now: number): Pick<Decision, 'passBounds'> {
  const endOf = ({ expiresAt, maxPassSeconds }: BindingFacts): number =>
    Math.min(expiresAt, now + maxPassSeconds * 1000);
  const [longest] = bindings.toSorted((a, b) => (endOf(a) === endOf(b) ? 0 : endOf(b) > endOf(a) ? 1 : -1));
  return longest === undefined || endOf(longest) === Number.POSITIVE_INFINITY ? {} : { passBounds: longest };
}

function isAboutTokens(question: ResourceQuestion | PathQuestion): boolean {
  if ('path' in question) return false;
  const { group, resource, subresource } = question;
  if (subresource === 'token') return group === '' && resource === 'serviceaccounts';
  return subresource === 'userpass' && group === CLUSTER_GROUP && resource === 'clusters';
}

const sorted = (objects: Iterable<ApiObject>): BindingFacts[] =>
  [...objects].map(factsOf).sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));

/** Which clusters the caller sees under the objects of the snapshot. */
export function referenceRuleSource(snapshot: RbacSnapshot, caller: Caller, verb: VisibilityVerb, now = 0): RuleSource {
  const { home } = caller;
  const grants = (cluster: string | undefined) => referenceGrants(snapshot, caller.as(cluster), verb, now);
  return {
    elsewhere: grants(undefined),
    home: home === undefined ? undefined : { cluster: home, grants: grants(home) },
  };
}

function* referenceGrants(snapshot: RbacSnapshot, user: User, verb: VisibilityVerb, now: number): Generator<RuleGrant> {
  if (user.groups.includes(MASTERS)) {
    yield { names: undefined, selector: undefined };
    return;
  }
  const question = { verb, group: CLUSTER_GROUP, resource: 'clusters', subresource: '', namespace: '' };
  for (const { facts, rules } of boundRules(snapshot, '', user)) {
    if (facts.reach.kind === 'nowhere' || facts.expiresAt <= now) continue;
    const selector = facts.reach.kind === 'clusters' ? facts.reach.selector : undefined;
    for (const rule of rules) {
      const names = rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames);
      if (ruleAllows({ ...rule, resourceNames: [] }, { ...question, name: '', cluster: undefined })) {
        yield { names, selector };
      }
    }
  }
}
