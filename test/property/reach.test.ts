import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ResourceQuestion } from '../../src/api/authorization.ts';
import type { Caller, User } from '../../src/api/caller.ts';
import type { BoundSubject, FoundGrant, Grant } from '../../src/api/decision.ts';
import type { ReachAction } from '../../src/api/reach.ts';
import { bindingId } from '../../src/authz/policy/binding-facts.ts';
import {
  account,
  ask,
  askCluster,
  binding,
  Fleet,
  fleetBinding,
  person,
  type Rules,
  role,
} from '../../src/authz/policy/rbac.fixture.ts';
import { referenceDecide } from '../../src/authz/policy/reference-evaluator.fixture.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';

/**
 * Who reaches a cluster, in random worlds: every caller to whom the reference evaluator allows something that gives
 * reach is listed with its binding, and no other subject.
 */

const CLUSTERS = ['a', 'b', 'gone'];
const NAMESPACES = ['n1', 'n2', 'other'];
const NAMES = ['a', 's1', 'other'];
const NOW = Date.parse('2026-06-01T00:00:00Z');
const CLUSTERPASS = 'clusterpass.dev';
const RBAC = 'rbac.authorization.k8s.io';

const CALLERS: readonly Caller[] = [
  person('u1'),
  person('u2', 'g1', 'system:authenticated'),
  account('a', 'n1', 's1'),
  account('b', 'n1', 's1'),
];

/** What a caller asks who does this: the requests by which the list can be wrong. */
const REQUESTS: Readonly<
  Record<ReachAction, (cluster: string, namespace: string, name: string) => readonly ResourceQuestion[]>
> = {
  See: (cluster) => ['get', 'list', 'watch'].map((verb) => askCluster(verb, cluster)),
  AccountPasses: (cluster, namespace, name) => [tokenOf(cluster, namespace, name)],
  ReviewedPasses: (cluster, namespace, name) => [tokenOf(cluster, namespace, name)],
  OwnPasses: (cluster) => [{ ...askCluster('create', cluster), subresource: 'userpass' }],
  AskForAccess: (cluster, namespace) => [
    ask({ verb: 'create', group: CLUSTERPASS, resource: 'accessrequests', namespace, cluster }),
  ],
  Approve: (cluster, namespace, name) =>
    ['accessrequests', 'passes'].map((resource) =>
      ask({ verb: 'approve', group: CLUSTERPASS, resource, namespace, name, cluster }),
    ),
  ActAsUser: (cluster, _, name) => [ask({ verb: 'impersonate', resource: 'users', name, cluster })],
  ActAsGroup: (cluster, _, name) => [ask({ verb: 'impersonate', resource: 'groups', name, cluster })],
  ActAsAccount: (cluster, namespace, name) => [
    ask({ verb: 'impersonate', resource: 'serviceaccounts', namespace, name, cluster }),
  ],
  Change: (cluster) => ['update', 'patch', 'delete', 'confirm'].map((verb) => askCluster(verb, cluster)),
  Grant: (_, namespace, name) => [
    ...writes(CLUSTERPASS, 'fleetrolebindings', '', name),
    ...['clusterroles', 'clusterrolebindings'].flatMap((resource) => writes(RBAC, resource, '', name)),
    ...['roles', 'rolebindings'].flatMap((resource) => writes(RBAC, resource, namespace, name)),
  ],
};

const tokenOf = (cluster: string, namespace: string, name: string): ResourceQuestion =>
  ask({ verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace, name, cluster });

const writes = (group: string, resource: string, namespace: string, name: string): ResourceQuestion[] => [
  ask({ verb: 'create', group, resource, namespace }),
  ...['update', 'patch'].map((verb) => ask({ verb, group, resource, namespace, name })),
];

const ACTIONS = Object.keys(REQUESTS) as ReachAction[];

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items], { minLength: 1, maxLength: 3 });

const resourceNames = fc.oneof(
  { weight: 3, arbitrary: fc.constant<string[]>([]) },
  { weight: 2, arbitrary: some(['a', 's1', 'b']) },
);

/** One of the permissions that give something. */
const permission: fc.Arbitrary<Rules[number]> = fc
  .tuple(fc.constantFrom(...ACTIONS.flatMap((action) => REQUESTS[action]('a', 'n1', 'a'))), resourceNames)
  .map(([{ verb, group, resource, subresource }, only]) => ({
    ...{ verbs: [verb], apiGroups: [group], resourceNames: only },
    resources: [subresource === '' ? resource : `${resource}/${subresource}`],
  }));

const anyRule: fc.Arbitrary<Rules[number]> = fc.record({
  verbs: some(['get', 'list', 'watch', 'create', 'update', 'delete', 'confirm', 'approve', 'impersonate', '*']),
  apiGroups: some(['', 'clusterregistry.k8s.io', CLUSTERPASS, RBAC, '*']),
  resources: some([
    ...['clusters', 'clusters/userpass', 'serviceaccounts/token', '*/token', 'serviceaccounts', 'pods', '*'],
    ...['accessrequests', 'passes', 'users', 'groups', 'fleetrolebindings', 'rolebindings', 'clusterroles'],
  ]),
  resourceNames,
});

const rule = fc.oneof({ weight: 3, arbitrary: permission }, { weight: 1, arbitrary: anyRule });

const roles = fc.tuple(
  ...['r1', 'r2', 'r3'].map((name) => fc.array(rule, { maxLength: 3 }).map((rules) => role(name, rules))),
);
const roleOf = fc.constantFrom('ClusterRole/r1', 'ClusterRole/r2', 'ClusterRole/r3', 'ClusterRole/missing', 'Role/r1');

const subjects = some([
  ...['User:u1', 'User:u2', 'Group:g1', 'Group:system:authenticated', 'ServiceAccount:n1/s1'],
  ...['Group:system:serviceaccounts:n1', 'Group:system:cluster:a:serviceaccounts'],
  ...['User:system:cluster:a:serviceaccount:n1:s1', 'User:system:serviceaccount:n1:s1'],
]);

const optional = <T>(...values: T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined });

const fleetFields = fc.record({
  clusters: optional('env=prod', 'env!=prod', 'kubernetes.io/metadata.name=gone'),
  namespaces: optional(['n1'], ['n1', 'n2']),
  expiresAt: optional('2026-05-01T00:00:00Z', '2026-07-01T00:00:00Z'),
  approval: optional('Requester', 'ApproverAlways'),
  agents: optional('Allow'),
  maxPassSeconds: optional(900),
});

const bindings = fc.array(
  fc.oneof(
    fc.tuple(roleOf, subjects, optional('n1')).map(
      ([of, who, namespace]) =>
        (name: string) =>
          binding(name, of, who, namespace === undefined ? {} : { namespace }),
    ),
    fc.tuple(roleOf, subjects, fleetFields).map(([of, who, fields]) => {
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      return (name: string) => fleetBinding(name, of, who, given);
    }),
  ),
  { minLength: 1, maxLength: 6 },
);

const names = ({ name, groups }: User, subject: BoundSubject): boolean =>
  subject.kind === 'user' ? subject.name === name : groups.includes(subject.name);

/** The bindings through which the list gives this to a caller, by the name that the caller has in such a request. */
function listed(
  found: readonly FoundGrant[],
  user: User,
  action: ReachAction,
  namespace: string,
  name: string,
): string[] {
  const holds = found.filter(
    ({ subjects: named, gives = [] }) =>
      named.some((subject) => names(user, subject)) &&
      gives.some(
        (given) =>
          given.action === action &&
          given.namespaces?.includes(namespace) !== false &&
          given.names?.includes(name) !== false,
      ),
  );
  // Of a binding that names the user twice, there may be two rows.
  return [...new Set(holds.flatMap(({ grant }) => (grant === undefined ? [] : [bindingId(grant)])))].sort();
}

const OF_THE_CLUSTER: readonly ReachAction[] = ['See', 'OwnPasses', 'Change'];

const placesOf = (action: ReachAction): (readonly [string, string])[] =>
  OF_THE_CLUSTER.includes(action)
    ? [['', '']]
    : NAMESPACES.flatMap((namespace) => NAMES.map((name) => [namespace, name] as const));

/** A caller that a binding can name so in this cluster, or outside of it. */
function callerOf({ kind, name }: BoundSubject, cluster: string): Caller {
  const [, home = cluster, part = ''] = /^system:(?:cluster:([^:]+):)?serviceaccounts?(?::(.*))?$/.exec(name) ?? [];
  const [namespace = '', of = ''] = part.split(':');
  if (name.startsWith('system:') && name !== 'system:authenticated') return account(home, namespace, of);
  return kind === 'user' ? person(name) : person('member', name);
}

const userOf = (caller: Caller, action: ReachAction, cluster: string): User =>
  caller.as(action === 'Grant' ? undefined : cluster);

it('lists every caller who reaches a cluster, with what and through which binding, and no other subject', () => {
  fc.assert(
    fc.property(roles, bindings, (defined, bound) => {
      const fleet = new Fleet({ now: () => NOW });
      fleet.clusters.set('a', { env: 'prod' }).set('b', { env: 'dev' });
      fleet.put(...defined, role('r1', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], { namespace: 'n1' }));
      fleet.put(...bound.map((make, index) => make(`b${index}`)));
      const snapshot = fleet.snapshot();
      const labelsOf = (cluster: string) => fleet.clusters.get(cluster);
      // The reference evaluator is slow, and some requests are equal.
      const decisions = new Map<string, ReturnType<typeof referenceDecide>>();
      const decide = (caller: Caller, question: ResourceQuestion) => {
        const key = JSON.stringify([caller.key, question]);
        const decision = decisions.get(key) ?? referenceDecide(snapshot, labelsOf, caller, question, NOW);
        decisions.set(key, decision);
        return decision;
      };
      const allowing = (caller: Caller, action: ReachAction, cluster: string, namespace: string, name: string) => {
        // Accounts and other names of the system get none, whatever a rule allows.
        if (action === 'OwnPasses' && caller.as(undefined).name.startsWith('system:')) return [];
        const all = REQUESTS[action](cluster, namespace, name).flatMap((question) => {
          const { bindings: direct, reviewed } = decide(caller, question);
          return action === 'ReviewedPasses' ? reviewed : direct;
        });
        return [...new Set(all)].sort();
      };
      for (const cluster of CLUSTERS) {
        const found = [...fleet.policy.reach()(cluster, true)].filter((each) => each !== undefined);
        for (const caller of CALLERS) {
          const own = [...fleet.policy.reach(caller)(cluster, true)].filter((each) => each !== undefined);
          for (const action of ACTIONS) {
            const user = userOf(caller, action, cluster);
            for (const [namespace, name] of placesOf(action)) {
              const expected = allowing(caller, action, cluster, namespace, name);
              const circumstances = JSON.stringify([cluster, caller.key, action, namespace, name]);
              expect(listed(found, user, action, namespace, name), circumstances).toEqual(expected);
              expect(listed(own, user, action, namespace, name), circumstances).toEqual(expected);
            }
          }
        }
        for (const { grant, subjects: named, gives = [] } of found) {
          for (const subject of grant === undefined ? [] : named) {
            for (const { action, namespaces = ['other'], names: only = ['other'] } of gives) {
              const caller = callerOf(subject, cluster);
              const ids = allowing(caller, action, cluster, namespaces[0] ?? '', only[0] ?? '');
              const isCaller =
                names(userOf(caller, action, cluster), subject) && ids.includes(bindingId(grant as Grant));
              expect(isCaller, JSON.stringify([cluster, action, subject])).toBe(true);
            }
          }
        }
      }
    }),
    propertyRuns(10, 600),
  );
});

it('lists each permission that gives something', () => {
  for (const action of ACTIONS) {
    for (const { verb, group, resource, subresource } of REQUESTS[action]('a', 'n1', 'a')) {
      const resources = [subresource === '' ? resource : `${resource}/${subresource}`];
      const approval = action === 'ReviewedPasses' ? { approval: 'ApproverAlways' } : {};
      const fleet = new Fleet().put(
        role('r1', [{ verbs: [verb], apiGroups: [group], resources }]),
        fleetBinding('b1', 'ClusterRole/r1', ['User:u1'], approval),
      );
      const found = [...fleet.policy.reach(person('u1'))('a', true)].flatMap((each) => each?.gives ?? []);
      expect(found, `${verb} ${resources}`).toEqual([{ action }]);
    }
  }
});
