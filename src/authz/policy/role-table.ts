import type { ApiObject } from '../../api/kind.ts';
import { CompiledRole } from './compiled-rbac.ts';
import type { RoleKey } from './rbac-objects.ts';
import { type Rule, ruleText } from './rules.ts';

const roleText = ({ kind, namespace, name }: RoleKey): string => `${kind}\0${namespace}\0${name}`;

/** Every role that exists, and a placeholder for every other role that a binding refers to. */
export class RoleTable {
  readonly #roles = new Map<string, CompiledRole>();
  readonly #clusterRoles = new Set<CompiledRole>();
  readonly #aggregating = new Set<CompiledRole>();

  all(): Iterable<CompiledRole> {
    return this.#roles.values();
  }

  find(key: RoleKey): CompiledRole | undefined {
    const role = this.#roles.get(roleText(key));
    return role?.exists ? role : undefined;
  }

  findOrReserve(key: RoleKey): CompiledRole {
    const text = roleText(key);
    let role = this.#roles.get(text);
    if (role === undefined) {
      role = new CompiledRole(key, (start) => aggregateRules(start, this.#clusterRoles));
      this.#roles.set(text, role);
    }
    return role;
  }

  /** Drops a placeholder that no binding refers to. */
  release(role: CompiledRole): void {
    if (!role.exists && role.bindings.size === 0) this.#roles.delete(roleText(role.key));
  }

  /** Takes a stored role or its deletion; returns the roles that may grant something else now. */
  set(key: RoleKey, object: ApiObject | undefined): Set<CompiledRole> {
    const role = this.findOrReserve(key);
    const labelsBefore = role.labels;
    const changed = role.update(object);
    if (key.kind === 'ClusterRole') {
      putIf(this.#clusterRoles, role, role.exists);
      putIf(this.#aggregating, role, role.selectors !== undefined);
    }
    const affected = changed ? this.#affectedBy(role, labelsBefore) : new Set<CompiledRole>();
    this.release(role);
    return affected;
  }

  /** The role itself, the aggregating roles that select it or did, those that select these, and so on. */
  #affectedBy(role: CompiledRole, labelsBefore: Readonly<Record<string, string>>): Set<CompiledRole> {
    const affected = new Set([role]);
    const labels = role.key.kind === 'ClusterRole' ? [labelsBefore, role.labels] : [];
    for (let next = labels.pop(); next !== undefined; next = labels.pop()) {
      for (const other of this.#aggregating) {
        if (affected.has(other) || !selects(other, next)) continue;
        affected.add(other);
        other.invalidateAggregation();
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

const selects = ({ selectors }: CompiledRole, labels: Readonly<Record<string, string>>): boolean =>
  selectors?.some((selector) => selector.matches(labels)) ?? false;

/**
 * P-18: in Kubernetes a controller copies the rules of the selected ClusterRoles into the aggregating one. There is no
 * controller here, so they are collected when they are needed. The role's own `rules` do not count: the controller
 * would overwrite them. Aggregating roles that select one another are followed to any depth and through cycles, as the
 * controller's copies would be. Sorted by name, without duplicates.
 */
function aggregateRules(start: CompiledRole, roles: Iterable<CompiledRole>): Rule[] {
  const sorted = [...roles].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const seen = new Set([start]);
  const rules = new Map<string, Rule>();
  const open = [start];
  for (let role = open.pop(); role !== undefined; role = open.pop()) {
    for (const other of sorted) {
      if (seen.has(other) || !selects(role, other.labels)) continue;
      seen.add(other);
      if (other.selectors !== undefined) open.push(other);
      else for (const rule of other.own) rules.set(ruleText(rule), rule);
    }
  }
  return [...rules.values()];
}
