import { goQuote } from '../api/go-quote.ts';
import { RBAC_GROUP } from '../api/kinds/rbac.ts';
import { qualified } from '../api/status.ts';
import type { Reach } from './cluster-selector.ts';

/** What a binding refers to. */
export interface RoleTarget {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** P-17: a dangling reference is remembered and skipped, not fatal. */
function missingRole({ kind, name }: RoleTarget): string {
  if (kind !== 'ClusterRole' && kind !== 'Role') return `unsupported role reference kind: ${goQuote(kind)}`;
  return `${qualified(RBAC_GROUP, kind.toLowerCase())} ${goQuote(name)} not found`;
}

/** Why a binding cannot be followed; undefined when it can. */
export function troubleOf(
  binding: { readonly kind: string; readonly name: string; readonly reach: Reach; readonly target: RoleTarget },
  roleExists: boolean,
): string | undefined {
  if (binding.reach.kind === 'nowhere') {
    return `${qualified(RBAC_GROUP, binding.kind.toLowerCase())} ${goQuote(binding.name)}: ${binding.reach.reason}`;
  }
  return roleExists ? undefined : missingRole(binding.target);
}

/** P-35: the reason of a refusal, with repeats folded as Kubernetes' error aggregate does. */
export function reasonText(troubles: readonly string[]): string {
  const distinct = [...new Set(troubles)];
  if (distinct.length === 0) return '';
  return distinct.length === 1 ? `RBAC: ${distinct[0]}` : `RBAC: [${distinct.join(', ')}]`;
}
