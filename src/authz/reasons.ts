import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { RBAC_GROUP } from '../api/kinds/rbac.ts';
import { qualified } from '../api/status.ts';
import type { Reach } from './cluster-selector.ts';
import type { SubjectEntry } from './subject-table.ts';

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

/** P-10: where bindings are looked for. */
export const scopesFor = (namespace: string): string[] => (namespace === '' ? [''] : ['', namespace]);

/**
 * P-35. Also the troubles of bindings that do not reach the cluster asked about: if they were left out
 * for some clusters, the text of a refusal would tell which clusters exist.
 */
export function reasonFor(entries: readonly SubjectEntry[], namespace: string): string {
  const troubles: string[] = [];
  for (const scope of scopesFor(namespace)) {
    const troubled = new Set(entries.flatMap(({ scopes }) => [...(scopes.get(scope)?.troubled ?? [])]));
    const sorted = [...troubled].sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const { trouble } of sorted) if (trouble !== undefined) troubles.push(trouble);
  }
  return reasonText(troubles);
}

/** P-35: the reason of a refusal, with repeats folded as Kubernetes' error aggregate does. */
export function reasonText(troubles: readonly string[]): string {
  const distinct = [...new Set(troubles)];
  if (distinct.length === 0) return '';
  return distinct.length === 1 ? `RBAC: ${distinct[0]}` : `RBAC: [${distinct.join(', ')}]`;
}
