import type { PassBounds } from '../../api/decision.ts';
import { type ClusterSelector, type ClusterView, labelText } from './cluster-selector.ts';
import { type CompiledBinding, NO_LABEL } from './compiled-rbac.ts';
import type { RoleKey } from './rbac-objects.ts';
import type { Rule } from './rules.ts';

/** A binding that begins to hold in a cluster. */
export interface BeginningGrant {
  /** As `Decision.binding`. */
  readonly binding: string;
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: RoleKey;
  /** Undefined when the role does not exist: it may be created later, with any rules. */
  readonly rules: readonly Rule[] | undefined;
  readonly bounds: PassBounds;
}

/** The bindings with one selector, by what they grant: role, namespace and expiry. */
interface SelectorEntry {
  readonly selector: ClusterSelector;
  readonly grants: Map<string, Set<CompiledBinding>>;
}

/** Bindings with a cluster selector, by selector: a change of labels reads only the selectors that it can affect. */
export class SelectorIndex {
  readonly #byText = new Map<string, SelectorEntry>();
  readonly #byLabel = new Map<string, Set<SelectorEntry>>();

  add(binding: CompiledBinding): void {
    const { reach, subjects } = binding.facts;
    // Without subjects it grants nothing. Adding one is checked by escalation.ts.
    if (reach.kind !== 'clusters' || subjects.length === 0) return;
    let entry = this.#byText.get(reach.selector.text);
    if (entry === undefined) {
      entry = { selector: reach.selector, grants: new Map() };
      this.#byText.set(reach.selector.text, entry);
      for (const label of labelsOf(binding)) {
        const entries = this.#byLabel.get(label);
        if (entries === undefined) this.#byLabel.set(label, new Set([entry]));
        else entries.add(entry);
      }
    }
    const grant = grantKey(binding);
    const bindings = entry.grants.get(grant);
    if (bindings === undefined) entry.grants.set(grant, new Set([binding]));
    else bindings.add(binding);
  }

  remove(binding: CompiledBinding): void {
    const { reach } = binding.facts;
    const entry = reach.kind === 'clusters' ? this.#byText.get(reach.selector.text) : undefined;
    const bindings = entry?.grants.get(grantKey(binding));
    if (entry === undefined || !bindings?.delete(binding) || bindings.size > 0) return;
    entry.grants.delete(grantKey(binding));
    if (entry.grants.size > 0) return;
    this.#byText.delete(entry.selector.text);
    for (const label of labelsOf(binding)) {
      const entries = this.#byLabel.get(label);
      if (entries?.delete(entry) && entries.size === 0) this.#byLabel.delete(label);
    }
  }

  /** Bindings that hold in `after` and not in `before`: one for each role, namespace and expiry. */
  *beginning(before: ClusterView, after: ClusterView): Generator<CompiledBinding> {
    const seen = new Set<SelectorEntry>();
    const labels = Object.entries(after.labels).map(([key, value]) => labelText({ key, value }));
    for (const label of [labelText(NO_LABEL), ...labels]) {
      for (const entry of this.#byLabel.get(label) ?? []) {
        if (seen.has(entry)) continue;
        seen.add(entry);
        if (!entry.selector.holdsIn(after) || entry.selector.holdsIn(before)) continue;
        for (const [binding] of entry.grants.values()) if (binding !== undefined) yield binding;
      }
    }
  }
}

const labelsOf = ({ requiredLabels = [] }: CompiledBinding): readonly string[] => requiredLabels.map(labelText);

const grantKey = ({ grantText, facts }: CompiledBinding): string => `${grantText}\0${facts.maxPassSeconds}`;
