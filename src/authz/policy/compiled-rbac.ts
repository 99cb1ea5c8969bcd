import type { ApiObject } from '../../api/kind.ts';
import type { LabelSelector } from '../../objects/selectors/label-selector.ts';
import { type BindingFacts, resolutionError } from './binding-facts.ts';
import { type Reach, type RequiredLabel, reachText } from './cluster-selector.ts';
import { type RoleKey, readAggregation, readRules, roleLabels } from './rbac-objects.ts';
import { RuleIndex } from './rule-index.ts';
import { type Rule, rulesText } from './rules.ts';

const NO_LABELS: Readonly<Record<string, string>> = {};

/**
 * A role, or a placeholder for one that bindings refer to and that does not exist (yet). Bindings refer to this object,
 * so creating, changing or deleting a role costs what is bound to it, not the whole policy.
 */
export class CompiledRole {
  readonly key: RoleKey;
  exists = false;
  own: readonly Rule[] = [];
  labels = NO_LABELS;
  /** Undefined for an ordinary role. */
  selectors: readonly LabelSelector[] | undefined;
  readonly bindings = new Set<CompiledBinding>();
  readonly #aggregate: (role: CompiledRole) => Rule[];
  #index: RuleIndex | undefined;
  #fingerprint = '';

  /** `aggregate` collects the rules of the roles that an aggregating role selects. */
  constructor(key: RoleKey, aggregate: (role: CompiledRole) => Rule[]) {
    this.key = key;
    this.#aggregate = aggregate;
  }

  get name(): string {
    return this.key.name;
  }

  /** Takes the state of the stored object; returns whether rules, labels, selectors or existence changed. */
  update(object: ApiObject | undefined): boolean {
    const own = object === undefined ? [] : readRules(object.rules);
    const isCluster = object !== undefined && this.key.kind === 'ClusterRole';
    const labels = isCluster ? roleLabels(object) : NO_LABELS;
    const selectors = isCluster ? readAggregation(object) : undefined;
    const fingerprint = JSON.stringify([
      object !== undefined,
      rulesText(own),
      Object.entries(labels).sort(),
      selectors?.map(String) ?? null,
    ]);
    if (fingerprint === this.#fingerprint) return false;
    this.#fingerprint = fingerprint;
    this.exists = object !== undefined;
    this.own = own;
    this.labels = labels;
    this.selectors = selectors;
    // Built now, one role per change. Built on first use, the first request of a caller would pay for all its roles.
    this.#index = selectors === undefined ? new RuleIndex(own) : undefined;
    return true;
  }

  /** To be called when a role that this one may aggregate changed. */
  invalidateAggregation(): void {
    if (this.selectors !== undefined) this.#index = undefined;
  }

  /** Aggregated on first use: while many roles are loaded, an aggregating one would be rebuilt for each of them. */
  get index(): RuleIndex {
    this.#index ??= new RuleIndex(this.selectors === undefined ? this.own : this.#aggregate(this));
    return this.#index;
  }
}

/** For the index: a restricted binding whose selector requires no label. No label has an empty key. */
export const NO_LABEL: RequiredLabel = { key: '', value: '' };

export class CompiledBinding {
  readonly id: string;
  readonly facts: BindingFacts;
  readonly role: CompiledRole;
  /** Equal for bindings that grant the same, where and as long: an update then concerns only changed subjects. */
  readonly grantText: string;
  /** The index keys of a restricted binding; undefined for an unrestricted one. */
  readonly requiredLabels: readonly RequiredLabel[] | undefined;

  constructor(facts: BindingFacts, role: CompiledRole) {
    this.id = facts.id;
    this.facts = facts;
    this.role = role;
    const { roleRef, scopes, reach, agents, approval, expiresAt } = facts;
    const how = [agents, approval, String(expiresAt)];
    this.grantText = JSON.stringify([roleRef.kind, roleRef.name, scopes, reachText(reach), ...how]);
    this.requiredLabels = requiredLabelsOf(facts.reach);
  }

  /** Whether it ends by itself. One that holds nowhere does not: a finalizer may keep it long after its end. */
  get ends(): boolean {
    return this.facts.reach.kind !== 'nowhere' && this.facts.expiresAt !== Number.POSITIVE_INFINITY;
  }

  get resolutionError(): string | undefined {
    return resolutionError(this.facts, this.role.exists);
  }
}

function requiredLabelsOf(reach: Reach): readonly RequiredLabel[] | undefined {
  switch (reach.kind) {
    case 'everywhere':
      return undefined;
    case 'clusters':
      return reach.selector.requiredLabels ?? [NO_LABEL];
    case 'nowhere':
      return [];
  }
}
