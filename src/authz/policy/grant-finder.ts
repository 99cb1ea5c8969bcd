import type { GrantInCluster } from '../../api/authorization.ts';
import { absentIn } from '../../api/caller.ts';
import type { FoundGrant } from '../../api/decision.ts';
import { bindingAppliesIn } from './binding-index.ts';
import type { ClusterView } from './cluster-selector.ts';
import type { CompiledBinding, CompiledRole } from './compiled-rbac.ts';
import type { Match } from './rule-index.ts';

/**
 * The bindings that hold in these namespaces (`""`: in all of them) and allow something in a cluster. Undefined for
 * every other one: the reader may pause anywhere.
 */
export function* findGrants(
  roles: Iterable<CompiledRole>,
  match: Match,
  namespaces: readonly string[],
  view: ClusterView | undefined,
): Generator<FoundGrant | undefined> {
  for (const role of roles) {
    const resourceNames = role.bindings.size > 0 && role.exists ? match.namesIn(role.index) : undefined;
    if (resourceNames !== undefined) {
      for (const binding of role.bindings) {
        const { facts } = binding;
        const holds =
          facts.scopes.some((scope) => namespaces.includes(scope)) &&
          bindingAppliesIn(binding, view) &&
          match.counts(facts);
        const subjects = facts.subjects.filter(
          (subject) => absentIn(subject.kind, subject.name) !== (view?.name ?? ''),
        );
        yield holds ? { grant: facts, subjects, ...(resourceNames === 'all' ? {} : { resourceNames }) } : undefined;
      }
    }
    yield undefined;
  }
}

/**
 * The bindings that hold in a cluster before or after a change of its labels, also those whose role does not exist: it
 * may be created later. Undefined for every other one.
 */
export function* findGrantsIn(
  bindings: Iterable<CompiledBinding>,
  now: number,
  before: ClusterView,
  after: ClusterView,
): Generator<GrantInCluster | undefined> {
  for (const binding of bindings) {
    const [holdsBefore, holdsAfter] = [bindingAppliesIn(binding, before), bindingAppliesIn(binding, after)];
    const isGrant = (holdsBefore || holdsAfter) && binding.facts.subjects.length > 0 && binding.facts.expiresAt > now;
    yield isGrant ? { grant: binding.facts, before: holdsBefore, after: holdsAfter } : undefined;
  }
}
