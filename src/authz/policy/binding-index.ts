import type { ClusterView } from './cluster-selector.ts';
import { type CompiledBinding, type CompiledRole, NO_LABEL, type RoleHolder } from './compiled-rbac.ts';
import type { Match } from './rule-index.ts';

/** Up to this many roles are scanned, which is faster than an index and takes no memory. */
const MAX_SCANNED_ROLES = 16;

/** The bindings of one subject in one scope that require the same label, by role. */
class BindingIndex implements RoleHolder {
  readonly #byRole = new Map<CompiledRole, Set<CompiledBinding>>();
  /** Roles by their keys; undefined while there are few enough to scan. */
  #byKey: Map<string, Set<CompiledRole>> | undefined;
  /** Roles without keys. */
  readonly #keyless = new Set<CompiledRole>();

  get isEmpty(): boolean {
    return this.#byRole.size === 0;
  }

  add(binding: CompiledBinding): void {
    const { role } = binding;
    const bindings = this.#byRole.get(role);
    if (bindings !== undefined) {
      bindings.add(binding);
      return;
    }
    this.#byRole.set(role, new Set([binding]));
    role.holders.add(this);
    if (this.#byKey !== undefined) {
      this.addKeys(role);
    } else if (this.#byRole.size > MAX_SCANNED_ROLES) {
      this.#byKey = new Map();
      for (const each of this.#byRole.keys()) this.addKeys(each);
    }
  }

  remove(binding: CompiledBinding): void {
    const { role } = binding;
    const bindings = this.#byRole.get(role);
    if (!bindings?.delete(binding) || bindings.size > 0) return;
    this.removeKeys(role);
    this.#byRole.delete(role);
    role.holders.delete(this);
  }

  addKeys(role: CompiledRole): void {
    if (this.#byKey === undefined) return;
    const { keys } = role;
    if (keys === undefined) this.#keyless.add(role);
    for (const key of keys ?? []) {
      const roles = this.#byKey.get(key);
      if (roles === undefined) this.#byKey.set(key, new Set([role]));
      else roles.add(role);
    }
  }

  removeKeys(role: CompiledRole): void {
    if (this.#byKey === undefined) return;
    this.#keyless.delete(role);
    for (const key of role.keys ?? []) {
      const roles = this.#byKey.get(key);
      if (roles?.delete(role) && roles.size === 0) this.#byKey.delete(key);
    }
  }

  /** A binding that allows this and holds in `view`, the cluster of the question. */
  find(match: Match, view: ClusterView | undefined): CompiledBinding | undefined {
    if (this.#byKey === undefined) return this.#findIn(this.#byRole.keys(), match, view);
    for (const key of match.keys) {
      const roles = this.#byKey.get(key);
      const found = roles && this.#findIn(roles, match, view);
      if (found !== undefined) return found;
    }
    return this.#findIn(this.#keyless, match, view);
  }

  #findIn(roles: Iterable<CompiledRole>, match: Match, view: ClusterView | undefined): CompiledBinding | undefined {
    for (const role of roles) {
      if (!match.admits(role.index)) continue;
      for (const binding of this.#byRole.get(role) ?? []) {
        const { facts } = binding;
        if (bindingAppliesIn(binding, view) && match.counts(facts) && match.settles(facts)) return binding;
      }
    }
    return undefined;
  }
}

export function bindingAppliesIn({ facts: { reach } }: CompiledBinding, view: ClusterView | undefined): boolean {
  if (reach.kind === 'clusters') return view !== undefined && reach.selector.holdsIn(view);
  return reach.kind === 'everywhere';
}

/** The bindings of one subject in one scope: the ClusterRoleBindings, or the RoleBindings of a namespace. */
export class ScopeBindings {
  readonly all = new Set<CompiledBinding>();
  /** Those with a resolution error: a refusal finds its reasons without a scan of the others. */
  readonly unresolved = new Set<CompiledBinding>();
  readonly #unrestricted = new BindingIndex();
  /** By label, then by its value: a decision looks up the labels of a cluster without joining the two. */
  readonly #byLabel = new Map<string, Map<string, BindingIndex>>();

  add(binding: CompiledBinding): void {
    this.all.add(binding);
    this.updateResolution(binding);
    if (binding.requiredLabels === undefined) this.#unrestricted.add(binding);
    for (const { key, value } of binding.requiredLabels ?? []) {
      const byValue = this.#byLabel.get(key) ?? new Map<string, BindingIndex>();
      const index = byValue.get(value) ?? new BindingIndex();
      index.add(binding);
      byValue.set(value, index);
      this.#byLabel.set(key, byValue);
    }
  }

  remove(binding: CompiledBinding): void {
    this.all.delete(binding);
    this.unresolved.delete(binding);
    if (binding.requiredLabels === undefined) this.#unrestricted.remove(binding);
    for (const { key, value } of binding.requiredLabels ?? []) {
      const byValue = this.#byLabel.get(key);
      const index = byValue?.get(value);
      index?.remove(binding);
      if (index?.isEmpty) byValue?.delete(value);
      if (byValue?.size === 0) this.#byLabel.delete(key);
    }
  }

  /** To be called when the role of the binding was created or deleted. */
  updateResolution(binding: CompiledBinding): void {
    if (binding.resolutionError === undefined) this.unresolved.delete(binding);
    else this.unresolved.add(binding);
  }

  /** `view` is called only if there are bindings that are restricted to clusters. */
  find(match: Match, view: () => ClusterView | undefined): CompiledBinding | undefined {
    const unrestricted = this.#unrestricted.find(match, undefined);
    if (unrestricted !== undefined || this.#byLabel.size === 0) return unrestricted;
    const cluster = view();
    if (cluster === undefined) return undefined;
    const anywhere = this.#indexOf(NO_LABEL.key, NO_LABEL.value)?.find(match, cluster);
    if (anywhere !== undefined) return anywhere;
    for (const key in cluster.labels) {
      const found = this.#indexOf(key, cluster.labels[key] ?? '')?.find(match, cluster);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #indexOf(key: string, value: string): BindingIndex | undefined {
    return this.#byLabel.get(key)?.get(value);
  }
}
