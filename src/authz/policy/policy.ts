import {
  type Authorizer,
  type CallerRules,
  type ClusterLabelChange,
  clusterQuestion,
  type GrantFinder,
  type GrantInCluster,
  type PassAuthorizer,
  type PassDecision,
  type PassHolder,
  type PathQuestion,
  questionAbout,
  type ResourceQuestion,
  type RuleLister,
} from '../../api/authorization.ts';
import { type Caller, type Identity, MASTERS, type User } from '../../api/caller.ts';
import type { Decision, FoundGrant, Grant, PassBounds } from '../../api/decision.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { accessRequestKind } from '../../api/kinds/access-request.ts';
import type { ApprovalRule, ClusterLabels, ClusterVisibility, TimeSpan, VisibilityRule } from '../../api/visibility.ts';
import { Cache } from '../../lib/cache.ts';
import { approvalRule } from './approval-rule.ts';
import { type BindingFacts, bindingId, readBinding } from './binding-facts.ts';
import { bindingAppliesIn } from './binding-index.ts';
import { collectRules, RULES_OF_MASTERS, rulesOfHeld } from './caller-rules.ts';
import { clusterRule, type VisibilityVerb } from './cluster-rule.ts';
import { type ClusterView, type Reach, viewCluster, widerThan } from './cluster-selector.ts';
import { CompiledBinding } from './compiled-rbac.ts';
import { connectorMay } from './connector-rights.ts';
import { findGrants, findGrantsIn } from './grant-finder.ts';
import { affectedSubjects, type Grantees, grantsOf } from './grantees.ts';
import { decidePass, isAlwaysReviewed, throughForGrants, withApprovalHint } from './pass-decision.ts';
import type { RoleKey } from './rbac-objects.ts';
import { reachFinder } from './reach-finder.ts';
import { RoleTable } from './role-table.ts';
import { GRANTING_VERBS, type Match, PathMatch, ResourceMatch, type Through } from './rule-index.ts';
import type { Rule } from './rules.ts';
import { identities, reasonFor, SubjectTable, scopesFor, spanAround } from './subject-table.ts';

export interface PolicyOptions {
  /** The labels of a cluster as it is now: `{}` when it has none, undefined when it does not exist. */
  readonly labelsOf: (cluster: string) => ClusterLabels | undefined;
  /** Epoch milliseconds, for bindings that end. */
  readonly now?: () => number;
  /** The size of the rule cache. */
  readonly maxRules?: number;
  /** How many subjects without bindings are kept, for the revision of their last change. */
  readonly maxIdleSubjects?: number;
}

/** A change of a stored role or binding. */
export interface PolicyChange {
  readonly kind: 'ClusterRole' | 'Role' | Grant['kind'];
  /** `""` for those that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted, or not in force. */
  readonly object: ApiObject | undefined;
  readonly revision: number;
}

/** A binding that begins to hold in a cluster. */
interface BeginningGrant {
  /** As `Decision.binding`. */
  readonly binding: string;
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: RoleKey;
  /** Undefined when the role does not exist: it may be created later, with any rules. */
  readonly rules: readonly Rule[] | undefined;
  readonly bounds: PassBounds;
}

const ALLOWED_WITHOUT_BINDING: Decision = { allowed: true, reason: '' };
const allowedBy = (grant: BindingFacts): Decision => ({ allowed: true, binding: grant.id, grant, reason: '' });
const NO_VIEW = (): undefined => undefined;

/** Roles and bindings, compiled as they change. */
export class Policy implements Authorizer, PassAuthorizer, GrantFinder, RuleLister, ClusterVisibility {
  readonly #labelsOf: PolicyOptions['labelsOf'];
  readonly #bindings = new Map<string, CompiledBinding>();
  readonly #roles = new RoleTable();
  readonly #subjects: SubjectTable;
  /**
   * The rules that `ruleFor` returns, owned by this policy. Bound: `maxRules`, least recently used out. A key names
   * everything that its rule depends on: the subjects, the generation of their last change, and the span of time in
   * which none of their bindings ends. So an entry is never wrong; later it is not looked up any more, and is evicted.
   */
  readonly #rules: Cache<string, VisibilityRule>;
  readonly #now: () => number;
  /** Counts the changes applied. */
  #generation = 0;

  constructor(options: PolicyOptions) {
    const { labelsOf, now = Date.now, maxRules = 10_000, maxIdleSubjects = 10_000 } = options;
    this.#now = now;
    this.#labelsOf = labelsOf;
    this.#rules = new Cache({ maxEntries: maxRules });
    this.#subjects = new SubjectTable(maxIdleSubjects);
  }

  /** Takes one change. The changes of one object must come in order; the next decision follows the change. */
  apply(change: PolicyChange): void {
    this.#generation++;
    const { kind, namespace, name } = change;
    if (kind === 'ClusterRole' || kind === 'Role') this.#applyRole({ kind, namespace, name }, change);
    else this.#applyBinding(kind, change);
  }

  #applyRole(key: RoleKey, { object, revision }: PolicyChange): void {
    for (const role of this.#roles.set(key, object)) {
      for (const binding of role.bindings) {
        for (const scope of this.#subjects.scopesOf(binding)) scope.updateResolution(binding);
        this.#subjects.markChanged(binding.facts.subjects, { generation: this.#generation, revision });
      }
    }
  }

  #applyBinding(kind: Grant['kind'], { namespace, name, object, revision }: PolicyChange): void {
    const id = bindingId({ kind, namespace, name });
    const before = this.#bindings.get(id);
    const facts = object && readBinding(object, namespace, name);
    const after = facts && new CompiledBinding(facts, this.#roles.findOrReserve(facts.roleRef));
    // The new binding is added before the old one is removed: a subject or role that both name must not be dropped.
    if (after !== undefined) {
      after.role.bindings.add(after);
      this.#subjects.add(after);
      this.#bindings.set(id, after);
    } else {
      this.#bindings.delete(id);
    }
    if (before !== undefined) {
      before.role.bindings.delete(before);
      this.#subjects.remove(before);
      this.#roles.release(before.role);
    }
    this.#subjects.markChanged(affectedSubjects(before, after), { generation: this.#generation, revision });
    this.#subjects.dropIdle();
  }

  decide(caller: Identity, question: ResourceQuestion): Decision {
    const user = caller.as(question.cluster);
    // P-19.
    if (user.groups.includes(MASTERS) || connectorMay(caller, question)) return ALLOWED_WITHOUT_BINDING;
    const isGrant = GRANTING_VERBS.has(question.verb);
    const match = new ResourceMatch(question, this.#now, isGrant ? throughForGrants(caller) : undefined);
    const decision = this.#decideBy(caller, question, match);
    if (decision.allowed || !match.isAboutTokens) return decision;
    const reviewed = new ResourceMatch(question, this.#now, isAlwaysReviewed);
    return withApprovalHint(decision, this.#decideBy(caller, question, reviewed).allowed);
  }

  decidePass(caller: Identity, question: ResourceQuestion, holder: PassHolder): PassDecision {
    const user = caller.as(question.cluster);
    if (user.groups.includes(MASTERS) && holder === 'person') return { ...ALLOWED_WITHOUT_BINDING, approval: 'none' };
    const decide = (through?: Through): Decision =>
      through === undefined
        ? this.decide(caller, question)
        : this.#decideBy(caller, question, new ResourceMatch(question, this.#now, through));
    return decidePass(decide, holder);
  }

  #decideBy(caller: Identity, question: ResourceQuestion, match: ResourceMatch): Decision {
    const { cluster, namespace } = question;
    const user = caller.as(cluster);
    if (cluster === undefined) return this.#decide(user, namespace, match, NO_VIEW);
    let view: ClusterView | undefined;
    return this.#decide(user, namespace, match, () => {
      view ??= viewCluster(cluster, this.#isHidden(caller, question, cluster) ? undefined : this.#labelsOf(cluster));
      return view;
    });
  }

  /** A caller who asks for access must not learn by labels that a cluster exists: they count where it is seen. */
  #isHidden(caller: Identity, { verb, group, resource }: ResourceQuestion, cluster: string): boolean {
    const isAsking = verb === 'create' && group === accessRequestKind.group && resource === accessRequestKind.resource;
    return isAsking && !this.decide(caller, clusterQuestion('get', cluster)).allowed;
  }

  decidePath(caller: Identity, question: PathQuestion): Decision {
    const user = caller.as(undefined);
    return user.groups.includes(MASTERS)
      ? ALLOWED_WITHOUT_BINDING
      : this.#decide(user, '', new PathMatch(question, this.#now), NO_VIEW);
  }

  /** P-10: ClusterRoleBindings first, then the RoleBindings of the namespace, none when there is no namespace. */
  #decide(user: User, namespace: string, match: Match, view: () => ClusterView | undefined): Decision {
    const entries = this.#subjects.entriesOf(user);
    for (const scope of scopesFor(namespace)) {
      for (const entry of entries) {
        const binding = entry.scopes.get(scope)?.find(match, view);
        if (binding !== undefined) return allowedBy(binding.facts);
      }
    }
    if (match.longest !== undefined) return { ...allowedBy(match.longest), passBounds: match.longest };
    return { allowed: false, reason: reasonFor(entries, namespace) };
  }

  grantsOf(
    question: ResourceQuestion | PathQuestion,
    { isKnown }: Pick<ClusterLabelChange, 'isKnown'>,
  ): Iterable<FoundGrant | undefined> {
    if ('path' in question) return findGrants(this.#roles.all(), new PathMatch(question, this.#now), [''], undefined);
    const { cluster, namespace } = question;
    const view = cluster === undefined ? undefined : this.#viewOf(cluster, isKnown);
    return findGrants(this.#roles.all(), new ResourceMatch(question, this.#now), scopesFor(namespace), view);
  }

  grantsIn({ cluster, isKnown, labels }: ClusterLabelChange): Iterable<GrantInCluster | undefined> {
    const before = this.#viewOf(cluster, isKnown);
    return findGrantsIn(this.#bindings.values(), this.#now(), before, labels ? viewCluster(cluster, labels) : before);
  }

  reach(of?: Identity): (cluster: string, isKnown: boolean) => Iterable<FoundGrant | undefined> {
    const reachIn = reachFinder(this.#now, of);
    return (cluster, isKnown) => reachIn(this.#viewOf(cluster, isKnown), this.#boundTo(of, cluster));
  }

  /** Without a user: all bindings. */
  #boundTo(of: Identity | undefined, cluster: string): Iterable<CompiledBinding> {
    if (of === undefined) return this.#bindings.values();
    const entries = [of.as(cluster), of.as(undefined)].flatMap((user) => this.#subjects.entriesOf(user));
    return new Set(entries.flatMap(({ scopes }) => [...scopes.values()].flatMap(({ all }) => [...all])));
  }

  readonly #viewOf = (name: string, isKnown: boolean) => viewCluster(name, isKnown ? this.#labelsOf(name) : undefined);

  rulesFor(caller: Caller, { cluster, namespace }: Parameters<RuleLister['rulesFor']>[1]): CallerRules {
    const user = caller.as(cluster);
    if (user.groups.includes(MASTERS)) return RULES_OF_MASTERS;
    const collected = collectRules({
      forResources: scopesFor(namespace).flatMap((scope) => [...this.#bindingsOf(user, scope)]),
      forPaths: [...this.#bindingsOf(caller.as(undefined), '')],
      view: cluster === undefined ? undefined : viewCluster(cluster, this.#labelsOf(cluster)),
    });
    const mayAsk = this.decide(caller, questionAbout(accessRequestKind, 'create', { namespace, cluster })).allowed;
    const resourceRules = collected.resourceRules.filter(
      ({ resources, verbs }) => mayAsk || `${verbs} ${resources}` !== `create ${accessRequestKind.resource}`,
    );
    return { ...collected, resourceRules, reason: reasonFor(this.#subjects.entriesOf(user), namespace) };
  }

  ruleFor(caller: Identity & Partial<Pick<Caller, 'home'>>, verb: VisibilityVerb): VisibilityRule {
    // By the contract of Caller, `home` is the only cluster for which `as` returns another user: the user of no cluster
    // is the user of every other cluster.
    const { home } = caller;
    const elsewhere = this.#grantees(caller.as(undefined));
    const local = home === undefined ? undefined : this.#grantees(caller.as(home));

    // By subjects and not by caller: the thousands of members of a group share one entry.
    const key = `${verb} ${elsewhere.key} ${local === undefined ? '' : `${local.key} ${home}`}`;
    const grants = (grantees: Grantees) => grantsOf(grantees, verb, this.#now);
    const atHome = () => home !== undefined && local && { home: { cluster: home, grants: grants(local) } };
    return this.#rules.getOrCompute(key, () => clusterRule({ elsewhere: grants(elsewhere), ...atHome() }));
  }

  /** Clusters are not namespaced: no RoleBinding can grant one (P-10), so only ClusterRoleBindings count. */
  #grantees(user: User): Grantees {
    if (user.groups.includes(MASTERS)) return { isMaster: true, entries: [], key: 'masters' };
    const entries = this.#subjects.entriesOf(user).filter(({ scopes }) => scopes.has(''));
    let generation = 0;
    for (const { changed } of entries) if (changed.generation > generation) generation = changed.generation;
    const ids = entries.map(({ id }) => id).sort((a, b) => a - b);
    const { from, until } = spanAround(entries, this.#now);
    const isSteady = from === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY;
    return { isMaster: false, entries, key: `${generation}:${isSteady ? '' : `${from}:${until}`}:${ids.join()}` };
  }

  *#bindingsOf(user: User, namespace: string): Generator<CompiledBinding> {
    const now = this.#now();
    for (const { scopes } of this.#subjects.entriesOf(user)) {
      for (const binding of scopes.get(namespace)?.all ?? []) if (binding.facts.expiresAt > now) yield binding;
    }
  }

  approvalRule(caller: Caller, kind: Pick<Kind, 'group' | 'resource'>): ApprovalRule {
    return approvalRule(caller, kind, (user) => this.#subjects.entriesOf(user), this.#labelsOf, this.#now);
  }

  changedAt(caller: Caller): number {
    const users = identities(caller);
    // P-19: allowed by every set of rules.
    if (users.every(({ groups }) => groups.includes(MASTERS))) return 0;
    const entries = users.flatMap((user) => this.#subjects.entriesOf(user));
    const hasEnded = spanAround(entries, this.#now).from !== Number.NEGATIVE_INFINITY;
    return hasEnded ? Number.POSITIVE_INFINITY : this.#subjects.changedFor(entries).revision;
  }

  spanOf(caller: Caller): TimeSpan {
    const entries = identities(caller).flatMap((user) => this.#subjects.entriesOf(user));
    return spanAround(entries, this.#now);
  }

  /** The decision by bindings that do not depend on the cluster's labels. */
  decideForAnyLabels(caller: Caller, question: ResourceQuestion): Decision {
    const { cluster, namespace } = question;
    const user = caller.as(cluster);
    if (user.groups.includes(MASTERS)) return ALLOWED_WITHOUT_BINDING;
    // In a cluster that does not exist, only bindings hold that do not depend on labels.
    const view = cluster === undefined ? undefined : viewCluster(cluster, undefined);
    return this.#decide(user, namespace, new ResourceMatch(question, this.#now), () => view);
  }

  /**
   * The rules that the caller holds in a namespace (`""`: everywhere) through unrestricted bindings, and through
   * bindings of the same reach as `reach`, within `bounds`, that need no approval for tokens. Incomplete on purpose:
   * see escalation.ts.
   */
  heldRules(caller: Identity, namespace: string, reach: Reach, bounds: PassBounds): Rule[] {
    const isWider = widerThan(reach);
    const user = caller.as(undefined);
    const bindings = scopesFor(namespace).flatMap((scope) => [...this.#bindingsOf(user, scope)]);
    return rulesOfHeld(bindings, bounds, throughForGrants(caller), ({ facts }) => isWider(facts.reach));
  }

  /** What a role grants, aggregation included; undefined when there is no such role. */
  rulesOf(key: RoleKey): readonly Rule[] | undefined {
    return this.#roles.find(key)?.index.rules;
  }

  /**
   * The rules of the caller's bindings in a namespace (`""`: ClusterRoleBindings) that hold in a cluster, within
   * `bounds`, and that need no approval for tokens.
   */
  rulesHeldIn(cluster: ClusterView, caller: Identity, namespace: string, bounds: PassBounds): Rule[] {
    const bindings = this.#bindingsOf(caller.as(cluster.name), namespace);
    return rulesOfHeld(bindings, bounds, throughForGrants(caller), (binding) => bindingAppliesIn(binding, cluster));
  }

  /**
   * What is granted in a cluster after a change of its labels, and was not before: one binding for each role, namespace
   * and expiry.
   */
  *beginningGrants(before: ClusterView, after: ClusterView): Generator<BeginningGrant> {
    const seen = new Set<string>();
    for (const { id, facts, role, grantText } of this.#bindings.values()) {
      const { reach, subjects, expiresAt, maxPassSeconds, scopes } = facts;
      // Without subjects it grants nothing. Adding one is checked by escalation.ts.
      if (reach.kind !== 'clusters' || subjects.length === 0 || expiresAt <= this.#now()) continue;
      const grant = `${grantText}\0${maxPassSeconds}`;
      if (!reach.selector.holdsIn(after) || reach.selector.holdsIn(before) || seen.has(grant)) continue;
      seen.add(grant);
      const rules = role.exists ? role.index.rules : undefined;
      for (const namespace of scopes) yield { binding: id, role: role.key, namespace, rules, bounds: facts };
    }
  }
}
