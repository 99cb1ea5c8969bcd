import type {
  Authorizer,
  CallerRules,
  ClusterLabels,
  ClusterRule,
  ClusterVisibility,
  Decision,
  PathQuestion,
  ResourceQuestion,
  RuleLister,
} from '../api/authorization.ts';
import { type Caller, MASTERS, type User } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster.ts';
import { collectRules, RULES_OF_MASTERS } from './caller-rules.ts';
import { type ClusterGrant, ClusterRules, type VisibilityVerb } from './cluster-rule.ts';
import { type ClusterView, type Reach, reachText, viewCluster } from './cluster-selector.ts';
import { bindingId, CompiledBinding, readBinding } from './compiled-binding.ts';
import type { CompiledRole } from './compiled-role.ts';
import { DecisionCache } from './decision-cache.ts';
import { plainRuleSource, type RbacSnapshot } from './plain-evaluator.ts';
import { type RoleTarget, reasonFor, scopesFor } from './reasons.ts';
import { RoleTable } from './role-table.ts';
import { RecentRules, RuleMemo } from './rule-cache.ts';
import { type Match, PathMatch, ResourceMatch } from './rule-index.ts';
import type { Rule } from './rules.ts';
import { type SubjectEntry, SubjectTable } from './subject-table.ts';
import type { Subject } from './subjects.ts';

export interface PolicyChange {
  readonly resource: 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings';
  /** `""` for the two that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted. */
  readonly object: ApiObject | undefined;
  readonly revision: number;
}

export interface Policy extends Authorizer, RuleLister, ClusterVisibility {
  /** Takes one change. The changes of one object must come in order; decisions follow at once. */
  apply(change: PolicyChange): void;
  /**
   * The rules the user holds in a namespace (`""`: everywhere) through unrestricted bindings, and
   * through bindings of the same reach as `reach`. Incomplete on purpose: see escalation.ts.
   */
  heldRules(user: User, namespace: string, reach: Reach): Rule[];
  /** What a role grants, aggregation included; undefined when there is no such role. */
  rulesOf(target: RoleTarget): readonly Rule[] | undefined;
}

export interface PolicyOptions {
  /** The labels of a cluster as it is now: `{}` when it has none, undefined when it does not exist. */
  readonly labelsOf: (cluster: string) => ClusterLabels | undefined;
  /** The objects as they were. May throw when the revision is too old; so does `ruleAt` then. */
  readonly snapshot: (revision: number) => RbacSnapshot;
  /** How many rules are kept ready. */
  readonly maxRules?: number;
  /** How many subjects without bindings are remembered one by one. */
  readonly maxIdleSubjects?: number;
}

const MAX_PAST_RULES = 1_000;

const MASTERS_MAY: Decision = { allowed: true, reason: '' };
const NO_VIEW = (): undefined => undefined;

export const createPolicy = (options: PolicyOptions): Policy => new CompiledPolicy(options);

class CompiledPolicy implements Policy {
  readonly #labelsOf: PolicyOptions['labelsOf'];
  readonly #snapshot: PolicyOptions['snapshot'];
  readonly #bindings = new Map<string, CompiledBinding>();
  readonly #roles = new RoleTable();
  readonly #subjects: SubjectTable;
  readonly #rules = new ClusterRules();
  readonly #memo: RuleMemo;
  /** Of callers who were here since the last change: most ask for the same again before there is another. */
  readonly #recent = new RecentRules();
  readonly #decisions = new DecisionCache();
  /** What was does not change, and to find it all bindings are read: whoever comes back is seldom alone, or for the last time. */
  readonly #past = new Map<string, ClusterRule>();
  #step = 0;

  constructor({ labelsOf, snapshot, maxRules = 10_000, maxIdleSubjects = 10_000 }: PolicyOptions) {
    this.#labelsOf = labelsOf;
    this.#snapshot = snapshot;
    this.#memo = new RuleMemo(maxRules);
    this.#subjects = new SubjectTable(maxIdleSubjects);
  }

  apply(change: PolicyChange): void {
    this.#step++;
    const { resource, namespace, name } = change;
    if (resource === 'clusterroles') this.#applyRole({ kind: 'ClusterRole', namespace: '', name }, change);
    else if (resource === 'roles') this.#applyRole({ kind: 'Role', namespace, name }, change);
    else this.#applyBinding(resource === 'rolebindings' ? namespace : '', change);
  }

  #applyRole(target: RoleTarget, { object, revision }: PolicyChange): void {
    for (const role of this.#roles.set(target, object)) {
      for (const binding of role.bindings) {
        for (const scope of this.#subjects.scopesOf(binding)) scope.noteTrouble(binding);
        this.#subjects.touch(binding.facts.subjects, { step: this.#step, revision });
      }
    }
  }

  #applyBinding(namespace: string, { name, object, revision }: PolicyChange): void {
    const id = bindingId(namespace, name);
    const before = this.#bindings.get(id);
    const facts = object && readBinding(object, namespace, name);
    const after = facts && new CompiledBinding(facts, this.#roles.getOrCreate(facts.target));

    // The new one first: a subject or a role that both name must not be dropped in between.
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
    this.#subjects.touch(concerned(before, after), { step: this.#step, revision });
    this.#subjects.forgetIdle();
  }

  decide(caller: Caller, question: ResourceQuestion): Decision {
    const { cluster } = question;
    const user = caller.as(cluster);
    // P-19.
    if (user.groups.includes(MASTERS)) return MASTERS_MAY;
    const labelsNow = (): ClusterLabels | undefined => (cluster === undefined ? undefined : this.#labelsOf(cluster));
    return this.#decisions.get(this.#step, user, question, labelsNow, (labelsOf) => {
      const match = new ResourceMatch(question);
      if (cluster === undefined) return this.#decide(user, question.namespace, match, NO_VIEW);
      let view: ClusterView | undefined;
      const look = (): ClusterView => {
        view ??= viewCluster(cluster, labelsOf());
        return view;
      };
      return this.#decide(user, question.namespace, match, look);
    });
  }

  decidePath(caller: Caller, question: PathQuestion): Decision {
    const user = caller.as(undefined);
    return user.groups.includes(MASTERS) ? MASTERS_MAY : this.#decide(user, '', new PathMatch(question), NO_VIEW);
  }

  /** P-10: ClusterRoleBindings first, then the RoleBindings of the namespace, none when there is no namespace. */
  #decide(user: User, namespace: string, match: Match, view: () => ClusterView | undefined): Decision {
    const entries = this.#subjects.entriesOf(user);
    for (const entry of entries) {
      const binding = entry.scopes.get('')?.find(match, view);
      if (binding !== undefined) return { allowed: true, binding: binding.id, grant: binding.facts, reason: '' };
    }
    if (namespace !== '') {
      for (const entry of entries) {
        const binding = entry.scopes.get(namespace)?.find(match, view);
        if (binding !== undefined) return { allowed: true, binding: binding.id, grant: binding.facts, reason: '' };
      }
    }
    return { allowed: false, reason: reasonFor(entries, namespace) };
  }

  rulesFor(caller: Caller, { cluster, namespace }: Parameters<RuleLister['rulesFor']>[1]): CallerRules {
    const user = caller.as(cluster);
    if (user.groups.includes(MASTERS)) return RULES_OF_MASTERS;
    const collected = collectRules({
      forResources: scopesFor(namespace).flatMap((scope) => [...this.#bindingsOf(user, scope)]),
      forPaths: [...this.#bindingsOf(caller.as(undefined), '')],
      view: cluster === undefined ? undefined : viewCluster(cluster, this.#labelsOf(cluster)),
    });
    return { ...collected, reason: reasonFor(this.#subjects.entriesOf(user), namespace) };
  }

  ruleFor(caller: Caller, verb: VisibilityVerb): ClusterRule {
    return this.#recent.get(verb, caller.key, this.#step, () => this.#ruleOf(caller, verb));
  }

  #ruleOf(caller: Caller, verb: VisibilityVerb): ClusterRule {
    // By the contract of Caller, `home` is the only cluster in which `as` answers differently, so what
    // it answers for no cluster is what it answers for every cluster but that one.
    const { home } = caller;
    const elsewhere = this.#standing(caller.as(undefined));
    const local = home === undefined ? undefined : this.#standing(caller.as(home));

    // Not by caller but by what it is bound through: the thousands in a group share one computation.
    const key = JSON.stringify([verb, elsewhere.key, home, local?.key]);
    return this.#memo.get(key, Math.max(elsewhere.step, local?.step ?? 0), () =>
      this.#rules.of({
        elsewhere: grantsOf(elsewhere, verb),
        home: home === undefined || local === undefined ? undefined : { cluster: home, grants: grantsOf(local, verb) },
      }),
    );
  }

  /** Clusters are not namespaced: no RoleBinding can grant one (P-10), so only subjects in ClusterRoleBindings count. */
  #standing(user: User): Standing {
    if (user.groups.includes(MASTERS)) return { isMaster: true, entries: [], key: 'masters', step: 0 };
    const entries = this.#subjects.entriesOf(user).filter(({ scopes }) => scopes.has(''));
    const key = entries
      .map(({ id }) => id)
      .sort()
      .join();
    return { isMaster: false, entries, key, step: Math.max(0, ...entries.map(({ changed }) => changed.step)) };
  }

  *#bindingsOf(user: User, namespace: string): Generator<CompiledBinding> {
    for (const { scopes } of this.#subjects.entriesOf(user)) yield* scopes.get(namespace)?.bindings ?? [];
  }

  changedAt(caller: Caller): number {
    return this.#subjects.changedFor(identities(caller)).revision;
  }

  /**
   * If nothing that concerns the caller changed since, the rule of then is the rule of now. A change at
   * or before `revision` that has not arrived here yet makes no difference: it is also missing from
   * `ruleFor`, and whoever compares the two learns of it when it arrives.
   */
  ruleAt(caller: Caller, verb: VisibilityVerb, revision: number): ClusterRule {
    if (this.changedAt(caller) <= revision) return this.ruleFor(caller, verb);
    const which = JSON.stringify([revision, verb, caller.key]);
    const known = this.#past.get(which);
    if (known !== undefined) return known;
    const rule = this.#rules.of(plainRuleSource(this.#snapshot(revision), caller, verb));
    if (this.#past.size >= MAX_PAST_RULES) this.#past.clear();
    this.#past.set(which, rule);
    return rule;
  }

  heldRules(user: User, namespace: string, reach: Reach): Rule[] {
    const accepted = new Set(['everywhere', reachText(reach)]);
    const roles = new Set<CompiledRole>();
    for (const scope of scopesFor(namespace)) {
      for (const { facts, role } of this.#bindingsOf(user, scope)) {
        if (facts.reach.kind === 'nowhere' || !accepted.has(reachText(facts.reach))) continue;
        roles.add(role);
      }
    }
    return [...roles].flatMap(({ index }) => index.rules);
  }

  rulesOf(target: RoleTarget): readonly Rule[] | undefined {
    return this.#roles.find(target)?.index.rules;
  }
}

/** What a user's rules depend on. Equal keys mean the same subjects; a change of one of them raises the step. */
interface Standing {
  readonly isMaster: boolean;
  readonly entries: readonly SubjectEntry[];
  readonly key: string;
  readonly step: number;
}

function* grantsOf({ isMaster, entries }: Standing, verb: VisibilityVerb): Generator<ClusterGrant> {
  if (isMaster) yield { names: undefined, selector: undefined };
  const match = new ResourceMatch({ verb, group: CLUSTER_GROUP, resource: 'clusters', subresource: '', name: '' });
  for (const { scopes } of entries) {
    for (const { role, facts } of scopes.get('')?.bindings ?? []) {
      const { reach } = facts;
      if (reach.kind === 'nowhere') continue;
      const selector = reach.kind === 'clusters' ? reach.selector : undefined;
      for (const names of role.index.namesFor(match)) yield { names, selector };
    }
  }
}

const identities = (caller: Caller): User[] =>
  caller.home === undefined ? [caller.as(undefined)] : [caller.as(undefined), caller.as(caller.home)];

/** If only subjects came or went, those that stayed have what they had. */
function concerned(before: CompiledBinding | undefined, after: CompiledBinding | undefined): Iterable<Subject> {
  const old = before?.facts.subjects ?? [];
  const now = after?.facts.subjects ?? [];
  if (before === undefined || after === undefined || before.grantText !== after.grantText) return [...old, ...now];
  const text = ({ kind, name }: Subject): string => `${kind}:${name}`;
  const oldTexts = new Set(old.map(text));
  const nowTexts = new Set(now.map(text));
  return [...old, ...now].filter((subject) => oldTexts.has(text(subject)) !== nowTexts.has(text(subject)));
}
