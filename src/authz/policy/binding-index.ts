import type { ClusterView } from './cluster-selector.ts';
import { type CompiledBinding, NO_LABEL } from './compiled-rbac.ts';
import type { Match } from './rule-index.ts';

export function bindingAppliesIn({ facts: { reach } }: CompiledBinding, view: ClusterView | undefined): boolean {
  if (reach.kind === 'clusters') return view !== undefined && reach.selector.holdsIn(view);
  return reach.kind === 'everywhere';
}

/** The bindings of one subject in one scope: the ClusterRoleBindings, or the RoleBindings of a namespace. */
export class ScopeBindings {
  readonly all = new Set<CompiledBinding>();
  /** Those with a resolution error: a refusal finds its reasons without a scan of the others. */
  readonly unresolved = new Set<CompiledBinding>();
  readonly #unrestricted = new Set<CompiledBinding>();
  /** By label, then by its value: a decision looks up the labels of a cluster without joining the two. */
  readonly #byLabel = new Map<string, Map<string, Set<CompiledBinding>>>();

  add(binding: CompiledBinding): void {
    this.all.add(binding);
    this.updateResolution(binding);
    if (binding.requiredLabels === undefined) this.#unrestricted.add(binding);
    for (const { key, value } of binding.requiredLabels ?? []) {
      const byValue = this.#byLabel.get(key) ?? new Map<string, Set<CompiledBinding>>();
      byValue.set(value, (byValue.get(value) ?? new Set()).add(binding));
      this.#byLabel.set(key, byValue);
    }
  }

  remove(binding: CompiledBinding): void {
    this.all.delete(binding);
    this.unresolved.delete(binding);
    this.#unrestricted.delete(binding);
    for (const { key, value } of binding.requiredLabels ?? []) {
      const byValue = this.#byLabel.get(key);
      const bindings = byValue?.get(value);
      bindings?.delete(binding);
      if (bindings?.size === 0) byValue?.delete(value);
      if (byValue?.size === 0) this.#byLabel.delete(key);
    }
  }

  /** To be called when the role of the binding was created or deleted. */
  updateResolution(binding: CompiledBinding): void {
    if (binding.resolutionError === undefined) this.unresolved.delete(binding);
    else this.unresolved.add(binding);
  }

  /** A binding that allows this. `view` is called only if there are bindings that are restricted to clusters. */
  find(match: Match, view: () => ClusterView | undefined): CompiledBinding | undefined {
    const unrestricted = findIn(this.#unrestricted, match, undefined);
    if (unrestricted !== undefined || this.#byLabel.size === 0) return unrestricted;
    const cluster = view();
    if (cluster === undefined) return undefined;
    const anywhere = findIn(this.#byLabel.get(NO_LABEL.key)?.get(NO_LABEL.value), match, cluster);
    if (anywhere !== undefined) return anywhere;
    for (const key in cluster.labels) {
      const found = findIn(this.#byLabel.get(key)?.get(cluster.labels[key] ?? ''), match, cluster);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function findIn(bindings: Iterable<CompiledBinding> | undefined, match: Match, view: ClusterView | undefined) {
  for (const binding of bindings ?? []) {
    const { facts, role } = binding;
    const allows = match.admits(role.index) && bindingAppliesIn(binding, view) && match.counts(facts);
    if (allows && match.settles(facts)) return binding;
  }
  return undefined;
}
