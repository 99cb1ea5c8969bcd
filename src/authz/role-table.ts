import type { ApiObject } from '../api/kind.ts';
import { gatherRules, selects } from './aggregation.ts';
import { CompiledRole } from './compiled-role.ts';
import type { RoleTarget } from './reasons.ts';

const keyOf = ({ kind, namespace, name }: RoleTarget): string => `${kind}\0${namespace}\0${name}`;

/** Every role there is, and a place for every one that a binding refers to. */
export class RoleTable {
  readonly #roles = new Map<string, CompiledRole>();
  readonly #clusterRoles = new Set<CompiledRole>();
  readonly #aggregating = new Set<CompiledRole>();

  find(target: RoleTarget): CompiledRole | undefined {
    const role = this.#roles.get(keyOf(target));
    return role?.exists ? role : undefined;
  }

  /** The role, or its empty place. */
  getOrCreate(target: RoleTarget): CompiledRole {
    const key = keyOf(target);
    let role = this.#roles.get(key);
    if (role === undefined) {
      role = new CompiledRole(target, (start) => gatherRules(start, this.#clusterRoles));
      this.#roles.set(key, role);
    }
    return role;
  }

  /** Drops a place nobody needs. */
  release(role: CompiledRole): void {
    if (!role.exists && role.bindings.size === 0) this.#roles.delete(keyOf(role.target));
  }

  /** Takes a stored role or its deletion; returns the roles that may grant something else now. */
  set(target: RoleTarget, object: ApiObject | undefined): Set<CompiledRole> {
    const role = this.getOrCreate(target);
    const labelsBefore = role.labels;
    for (const pool of role.pools) pool.leave(role);
    const changed = role.take(object);
    for (const pool of role.pools) pool.enter(role);

    if (target.kind === 'ClusterRole') {
      putIf(this.#clusterRoles, role, role.exists);
      putIf(this.#aggregating, role, role.selectors !== undefined);
    }
    const affected = changed ? this.#gatherers(role, labelsBefore) : new Set<CompiledRole>();
    this.release(role);
    return affected;
  }

  /** The role itself, the aggregating roles that select it or did, those that select these, and so on. */
  #gatherers(role: CompiledRole, labelsBefore: ReadonlyMap<string, string>): Set<CompiledRole> {
    const affected = new Set([role]);
    const labels = role.target.kind === 'ClusterRole' ? [labelsBefore, role.labels] : [];
    for (let next = labels.pop(); next !== undefined; next = labels.pop()) {
      for (const other of this.#aggregating) {
        if (affected.has(other) || !selects(other, next)) continue;
        affected.add(other);
        other.forgetRules();
        labels.push(other.labels);
      }
    }
    return affected;
  }
}

function putIf<T>(set: Set<T>, item: T, condition: boolean): void {
  if (condition) set.add(item);
  else set.delete(item);
}
