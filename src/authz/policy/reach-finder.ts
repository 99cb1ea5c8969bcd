import { absentIn, type Identity, isSystemName, MASTERS } from '../../api/caller.ts';
import { CONFIRM_VERB } from '../../api/clusters/confirmed-endpoint.ts';
import type { BoundSubject, FoundGrant } from '../../api/decision.ts';
import type { Kind } from '../../api/kind.ts';
import { accessRequestKind } from '../../api/kinds/access-request.ts';
import { APPROVE_VERB } from '../../api/kinds/approval-kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { serviceAccountKind } from '../../api/kinds/core.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import { passKind } from '../../api/kinds/pass.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from '../../api/kinds/rbac.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';
import type { Given, ReachAction } from '../../api/reach.ts';
import { bindingAppliesIn } from './binding-index.ts';
import type { ClusterView } from './cluster-selector.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import { isAlwaysReviewed } from './pass-decision.ts';
import { ResourceMatch, RuleIndex } from './rule-index.ts';
import type { Rule } from './rules.ts';

/** What a permission is asked for: the fleet, the cluster, with a namespace or without one, or the Cluster object. */
type Place = 'fleet' | 'fleet namespace' | 'cluster' | 'namespace' | 'itself';

const REVIEWED: Partial<Record<ReachAction, ReachAction>> = { AccountPasses: 'ReviewedPasses' };

/** A role gives it with one of these verbs on a resource of one of these kinds. */
const row = (
  action: ReachAction,
  place: Place,
  kinds: readonly Pick<Kind, 'group' | 'resource'>[],
  verbs: readonly string[],
  subresource = '',
) => ({
  action,
  place,
  matches: kinds.flatMap(({ group, resource }) =>
    verbs.map((verb) => new ResourceMatch({ verb, group, resource, subresource, name: '' }, () => 0)),
  ),
  // Through a binding whose passes need a review: see `ResourceMatch.counts`.
  reviewed: verbs.includes('impersonate') || action === 'OwnPasses' ? undefined : (REVIEWED[action] ?? action),
  // An object that is created has no name yet (P-13); a pass is created for an account that has one.
  namedVerbs: verbs.filter((verb) => verb !== 'create' || subresource !== ''),
});

type Row = ReturnType<typeof row>;

const CLUSTERS = [{ group: CLUSTER_GROUP, resource: 'clusters' }];
const WRITES = ['create', 'update', 'patch'];

/** Every permission that gives something in a cluster, or lets its holder give it. */
const ROWS: readonly Row[] = [
  row('See', 'itself', CLUSTERS, ['get', 'list', 'watch']),
  row('AccountPasses', 'namespace', [serviceAccountKind], ['create'], 'token'),
  row('OwnPasses', 'itself', CLUSTERS, ['create'], USERPASS),
  row('AskForAccess', 'namespace', [accessRequestKind], ['create']),
  row('Approve', 'namespace', [accessRequestKind, passKind], [APPROVE_VERB]),
  row('ActAsUser', 'cluster', [{ group: '', resource: 'users' }], ['impersonate']),
  row('ActAsGroup', 'cluster', [{ group: '', resource: 'groups' }], ['impersonate']),
  row('ActAsAccount', 'namespace', [serviceAccountKind], ['impersonate']),
  row('Change', 'itself', CLUSTERS, ['update', 'patch', 'delete', CONFIRM_VERB]),
  row('Grant', 'fleet', [fleetRoleBindingKind, clusterRoleBindingKind, clusterRoleKind], WRITES),
  row('Grant', 'fleet namespace', [roleBindingKind, roleKind], WRITES),
];

/** What a role gives, for these names. */
interface RoleReach {
  readonly row: Row;
  readonly names: 'all' | ReadonlySet<string>;
}

const reachOfRole = (role: RuleIndex): RoleReach[] =>
  ROWS.flatMap((row) => {
    const found = row.matches.map((match) => {
      const names = match.namesIn(role) ?? [];
      return names === 'all' || row.namedVerbs.includes(match.verb) ? names : [];
    });
    const names = found.includes('all') ? 'all' : new Set(found.flat());
    return names === 'all' || names.size > 0 ? [{ row, names }] : [];
  });

/** Whether these rules allow tokens of some account, or passes for people. */
export const givesTokens = (rules: readonly Rule[] = []): boolean =>
  reachOfRole(new RuleIndex(rules)).some(({ row: { action } }) => action === 'AccountPasses' || action === 'OwnPasses');

const distinct = (all: readonly Given[]): Given[] => [
  ...new Map(all.map((given) => [JSON.stringify(given), given])).values(),
];
const OF_MASTERS = distinct(ROWS.map(({ action }) => ({ action })));

/** For one review: finds what bindings give in each cluster, to all subjects, or to those that name one user. */
export function reachFinder(now: () => number, of: Identity | undefined) {
  const roles = new Map<RuleIndex, readonly RoleReach[]>();

  /** Undefined for every binding: the reader may pause anywhere. */
  return function* reachIn(view: ClusterView, bindings: Iterable<CompiledBinding>): Generator<FoundGrant | undefined> {
    const masters = { grant: undefined, subjects: [{ kind: 'group', name: MASTERS }], gives: OF_MASTERS } as const;
    if (of?.as(undefined).groups.includes(MASTERS) !== false) yield masters;
    for (const binding of bindings) {
      yield undefined;
      const { facts } = binding;
      if (facts.expiresAt <= now()) continue;
      const all = givenBy(binding, view);
      const bySubject = Map.groupBy(facts.subjects, (subject) =>
        all.flatMap(([row], at) => (isMeant(subject, row, view.name, of) ? [at] : [])).join(),
      );
      for (const [ats, subjects] of bySubject) {
        const gives = distinct(ats.split(',').flatMap((at) => all[Number(at)]?.[1] ?? []));
        if (ats !== '') yield { grant: facts, subjects, gives };
      }
    }
  };

  function givenBy(binding: CompiledBinding, view: ClusterView): (readonly [Row, Given])[] {
    const { facts, role } = binding;
    const reaches = roles.get(role.index) ?? reachOfRole(role.index);
    roles.set(role.index, reaches);
    const isEverywhere = facts.scopes.includes('');
    return reaches.flatMap(({ row, names }) => {
      const { place } = row;
      const action = isAlwaysReviewed(facts) ? row.reviewed : row.action;
      const holds =
        bindingAppliesIn(binding, place.startsWith('fleet') ? undefined : view) &&
        (isEverywhere || place.endsWith('namespace')) &&
        (place !== 'itself' || names === 'all' || names.has(view.name));
      if (!holds || action === undefined) return [];
      const only = place === 'itself' || names === 'all' ? {} : { names: [...names].sort() };
      return [[row, { action, ...(isEverywhere ? {} : { namespaces: facts.scopes }), ...only }] as const];
    });
  }
}

/** Whether a caller of this name can be the one who asks; with a user, whether it is that one. */
function isMeant(subject: BoundSubject, { action, place }: Row, name: string, of: Identity | undefined): boolean {
  const cluster = place.startsWith('fleet') ? undefined : name;
  const user = of?.as(cluster) ?? { name: subject.kind === 'user' ? subject.name : '', groups: [subject.name] };
  const accountsOf = absentIn(subject.kind, subject.name);
  // Accounts get no passes as themselves, whatever a rule allows.
  if (action === 'OwnPasses' && (isSystemName(user.name) || accountsOf !== undefined)) return false;
  if (accountsOf === (cluster ?? '')) return false;
  return subject.kind === 'user' ? subject.name === user.name : user.groups.includes(subject.name);
}
