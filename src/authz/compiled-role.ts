import type { ApiObject } from '../api/kind.ts';
import type { LabelSelector } from '../objects/selectors/label-selector.ts';
import { type RoleNode, readAggregation, roleLabels } from './aggregation.ts';
import type { BindingPool } from './binding-pool.ts';
import type { CompiledBinding } from './compiled-binding.ts';
import type { RoleTarget } from './reasons.ts';
import { RuleIndex } from './rule-index.ts';
import { type Rule, readRules, rulesText } from './rules.ts';

const NO_LABELS: ReadonlyMap<string, string> = new Map();

/**
 * A role, or the place of one that bindings refer to and that does not exist (yet). Bindings hold on
 * to this object, so a role that comes, changes or goes touches only what is bound to it.
 */
export class CompiledRole implements RoleNode {
  readonly target: RoleTarget;
  exists = false;
  own: readonly Rule[] = [];
  labels = NO_LABELS;
  selectors: readonly LabelSelector[] | undefined;
  readonly bindings = new Set<CompiledBinding>();
  /** Where it must be found again under other keys when its rules change. */
  readonly pools = new Set<BindingPool>();
  readonly #gather: (role: CompiledRole) => Rule[];
  #index: RuleIndex | undefined;
  #fingerprint = '';

  constructor(target: RoleTarget, gather: (role: CompiledRole) => Rule[]) {
    this.target = target;
    this.#gather = gather;
  }

  get name(): string {
    return this.target.name;
  }

  /** Takes the state of the stored object; returns whether anything that counts is different now. */
  take(object: ApiObject | undefined): boolean {
    const own = object === undefined ? [] : readRules(object.rules);
    const isCluster = object !== undefined && this.target.kind === 'ClusterRole';
    const labels = isCluster ? roleLabels(object) : NO_LABELS;
    const selectors = isCluster ? readAggregation(object) : undefined;
    const fingerprint = JSON.stringify([
      object !== undefined,
      rulesText(own),
      [...labels].sort(),
      selectors?.map(String) ?? null,
    ]);
    if (fingerprint === this.#fingerprint) return false;
    this.#fingerprint = fingerprint;
    this.exists = object !== undefined;
    this.own = own;
    this.labels = labels;
    this.selectors = selectors;
    // Now, one role at a time, rather than all that somebody holds together when they are first asked for.
    this.#index = selectors === undefined ? new RuleIndex(own) : undefined;
    return true;
  }

  /** What an aggregating role gathers may be different now. */
  forgetRules(): void {
    if (this.selectors !== undefined) this.#index = undefined;
  }

  /** Gathered on first use: while many roles are loaded, an aggregating one would be gathered as many times. */
  get index(): RuleIndex {
    this.#index ??= new RuleIndex(this.selectors === undefined ? this.own : this.#gather(this));
    return this.#index;
  }

  /** An aggregating role is in no index, because its keys change with roles it is not told of. */
  get keys(): readonly string[] | undefined {
    return this.selectors === undefined ? this.index.keys : undefined;
  }
}
