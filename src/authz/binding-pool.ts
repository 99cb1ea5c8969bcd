import type { ClusterView } from './cluster-selector.ts';
import { type CompiledBinding, UNPINNED } from './compiled-binding.ts';
import type { CompiledRole } from './compiled-role.ts';
import type { Match } from './rule-index.ts';

/** Up to this many roles are looked at in turn, which is quicker than an index and costs no memory. */
const WALKED_ROLES = 16;

/** The bindings of one subject in one scope that share a pin, by role. */
export class BindingPool {
  readonly #byRole = new Map<CompiledRole, Set<CompiledBinding>>();
  /** Roles by the keys they answer to; only in a pool that is too big to walk. */
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
    role.pools.add(this);
    if (this.#byKey !== undefined) {
      this.enter(role);
    } else if (this.#byRole.size > WALKED_ROLES) {
      this.#byKey = new Map();
      for (const each of this.#byRole.keys()) this.enter(each);
    }
  }

  remove(binding: CompiledBinding): void {
    const { role } = binding;
    const bindings = this.#byRole.get(role);
    if (!bindings?.delete(binding) || bindings.size > 0) return;
    this.leave(role);
    this.#byRole.delete(role);
    role.pools.delete(this);
  }

  /** Puts the role under its keys; to be called after its rules changed, as `leave` before. */
  enter(role: CompiledRole): void {
    if (this.#byKey === undefined) return;
    const { keys } = role;
    if (keys === undefined) this.#keyless.add(role);
    for (const key of keys ?? []) {
      const roles = this.#byKey.get(key);
      if (roles === undefined) this.#byKey.set(key, new Set([role]));
      else roles.add(role);
    }
  }

  leave(role: CompiledRole): void {
    if (this.#byKey === undefined) return;
    this.#keyless.delete(role);
    for (const key of role.keys ?? []) {
      const roles = this.#byKey.get(key);
      if (roles?.delete(role) && roles.size === 0) this.#byKey.delete(key);
    }
  }

  /** A binding that allows this, where it holds: `view` is the cluster asked about. */
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
        if (holds(binding, view)) return binding;
      }
    }
    return undefined;
  }
}

export function holds({ facts: { reach } }: CompiledBinding, view: ClusterView | undefined): boolean {
  if (reach.kind === 'clusters') return view !== undefined && reach.selector.holdsIn(view);
  return reach.kind === 'everywhere';
}

/** The bindings of one subject in one scope: the ClusterRoleBindings, or the RoleBindings of a namespace. */
export class SubjectScope {
  readonly bindings = new Set<CompiledBinding>();
  /** Those that cannot be followed, so that a refusal finds its reasons without walking the others. */
  readonly troubled = new Set<CompiledBinding>();
  readonly #unrestricted = new BindingPool();
  readonly #restricted = new Map<string, BindingPool>();

  add(binding: CompiledBinding): void {
    this.bindings.add(binding);
    this.noteTrouble(binding);
    if (binding.pins === undefined) this.#unrestricted.add(binding);
    for (const pin of binding.pins ?? []) {
      let pool = this.#restricted.get(pin);
      if (pool === undefined) {
        pool = new BindingPool();
        this.#restricted.set(pin, pool);
      }
      pool.add(binding);
    }
  }

  remove(binding: CompiledBinding): void {
    this.bindings.delete(binding);
    this.troubled.delete(binding);
    if (binding.pins === undefined) this.#unrestricted.remove(binding);
    for (const pin of binding.pins ?? []) {
      const pool = this.#restricted.get(pin);
      pool?.remove(binding);
      if (pool?.isEmpty) this.#restricted.delete(pin);
    }
  }

  noteTrouble(binding: CompiledBinding): void {
    if (binding.trouble === undefined) this.troubled.delete(binding);
    else this.troubled.add(binding);
  }

  /** `view` is called only if there are bindings for which the cluster matters. */
  find(match: Match, view: () => ClusterView | undefined): CompiledBinding | undefined {
    const unrestricted = this.#unrestricted.find(match, undefined);
    if (unrestricted !== undefined || this.#restricted.size === 0) return unrestricted;
    const cluster = view();
    if (cluster === undefined) return undefined;
    const unpinned = this.#restricted.get(UNPINNED)?.find(match, cluster);
    if (unpinned !== undefined) return unpinned;
    for (const key in cluster.labels) {
      const found = this.#restricted.get(`${key}=${cluster.labels[key]}`)?.find(match, cluster);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
