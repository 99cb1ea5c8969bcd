import { expect, it } from 'vitest';
import { MAX_LISTED_STRINGS } from './caller-rules.ts';
import { account, binding, Fleet, fleetBinding, person, role } from './rbac.fixture.ts';

const pods = (...verbs: string[]) => ({ verbs, apiGroups: [''], resources: ['pods'] });
const held = (...verbs: string[]) => expect.objectContaining({ ...pods(...verbs), resourceNames: [] });
const jane = person('jane', 'devs');

function fleetOf(...clusters: string[]): Fleet {
  const fleet = new Fleet();
  for (const name of clusters) fleet.clusters.set(name, { env: name });
  return fleet;
}

it('lists what holds in a cluster and a namespace', () => {
  const { policy } = fleetOf('prod', 'dev').put(
    role('everywhere', [pods('get')]),
    role('in-dev', [pods('list')]),
    role('in-n', [pods('watch')], { namespace: 'n' }),
    role('others', [pods('delete')]),
    binding('everywhere', 'ClusterRole/everywhere', ['User:jane']),
    fleetBinding('in-dev', 'ClusterRole/in-dev', ['Group:devs'], { clusters: 'env=dev' }),
    binding('in-n', 'Role/in-n', ['User:jane'], { namespace: 'n' }),
    binding('others', 'ClusterRole/others', ['User:joe']),
  );
  const at = (cluster: string | undefined, namespace: string) => policy.rulesFor(jane, { cluster, namespace });
  expect(at('dev', 'n').resourceRules).toEqual([held('get'), held('list'), held('watch')]);
  expect(at('dev', 'm').resourceRules).toEqual([held('get'), held('list')]);
  expect(at('prod', 'n').resourceRules).toEqual([held('get'), held('watch')]);
  expect(at(undefined, 'n').resourceRules).toEqual([held('get'), held('watch')]);
  // `restricted` is set only at the fleet: a review in the right cluster would list more.
  expect([at('dev', 'n'), at('prod', 'n'), at(undefined, 'n')].map(({ restricted }) => restricted)).toEqual([
    false,
    false,
    true,
  ]);
});

it('lists the paths of unrestricted ClusterRoleBindings only, since a path belongs to no cluster', () => {
  const path = (url: string) => ({ verbs: ['get'], nonResourceURLs: [url] });
  const { policy } = fleetOf('dev').put(
    role('a', [path('/a'), pods('get')]),
    role('b', [path('/b')]),
    role('c', [path('/c')]),
    binding('a', 'ClusterRole/a', ['User:jane']),
    fleetBinding('b', 'ClusterRole/b', ['User:jane'], { clusters: 'env=dev' }),
    binding('c', 'ClusterRole/c', ['User:jane'], { namespace: 'n' }),
  );
  const rules = policy.rulesFor(jane, { cluster: 'dev', namespace: 'n' });
  expect(rules.nonResourceRules).toEqual([expect.objectContaining(path('/a'))]);
  expect(rules.resourceRules).toEqual([held('get')]);
});

it('a service account holds at home what it does not hold elsewhere', () => {
  const { policy } = fleetOf('home', 'away').put(
    role('a', [pods('get')]),
    binding('a', 'ClusterRole/a', ['ServiceAccount:ci/builder']),
  );
  const builder = account('home', 'ci', 'builder');
  const at = (cluster: string | undefined) => policy.rulesFor(builder, { cluster, namespace: 'ci' }).resourceRules;
  expect(at('home')).toEqual([held('get')]);
  expect(at('away')).toEqual([]);
  expect(at(undefined)).toEqual([]);
});

it('A19: lists a limited number of strings and marks the list as shortened', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
  const fleet = new Fleet().put(
    role('a', [{ ...pods('get'), resourceNames: names(MAX_LISTED_STRINGS - 3) }]),
    binding('a', 'ClusterRole/a', ['User:jane']),
  );
  const list = () => fleet.policy.rulesFor(jane, { cluster: undefined, namespace: 'n' });
  expect(list()).toMatchObject({ resourceRules: [{ resources: ['pods'] }], shortened: false });
  fleet.put(role('b', [pods('list')]), binding('b', 'ClusterRole/b', ['User:jane']));
  expect(list()).toMatchObject({ resourceRules: [{ verbs: ['get'] }], shortened: true });
});

it('P-19: masters hold everything, whatever is bound', () => {
  const { policy } = new Fleet();
  expect(policy.rulesFor(person('root', 'system:masters'), { cluster: 'c', namespace: 'n' })).toEqual({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    restricted: false,
    shortened: false,
    needsApproval: false,
    reason: '',
  });
});

it('MC-90: lists nothing that needs an approval, and says that there is more', () => {
  const tokens = { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token', 'pods'] };
  const grants = { verbs: ['get', 'bind'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] };
  const fleet = fleetOf('dev').put(
    role('a', [tokens, grants, { verbs: ['impersonate'], apiGroups: [''], resources: ['users'] }]),
    fleetBinding('a', 'ClusterRole/a', ['User:jane'], { approval: 'ApproverAlways' }),
  );
  const list = () => fleet.policy.rulesFor(jane, { cluster: 'dev', namespace: 'n' });
  const listed = [
    { ...tokens, resources: ['pods'] },
    { ...grants, verbs: ['get'] },
  ];
  expect(list()).toMatchObject({ resourceRules: listed, needsApproval: true });
  expect(list().resourceRules).toHaveLength(2);

  // Another binding gives it without one.
  fleet.put(binding('b', 'ClusterRole/a', ['User:jane']));
  expect(list()).toMatchObject({ resourceRules: [tokens, grants, { verbs: ['impersonate'] }], needsApproval: false });
});

it.each([
  [{ verbs: ['*'], apiGroups: [''], resources: ['pods'] }, true],
  [{ verbs: ['create'], apiGroups: ['*'], resources: ['*'] }, true],
  [{ verbs: ['create'], apiGroups: ['clusterregistry.k8s.io'], resources: ['*'] }, true],
  [{ verbs: ['create'], apiGroups: ['apps'], resources: ['*'] }, false],
  [pods('get'), false],
])('MC-90: %j stays in the list; an approval gives more: %s', (rule, needsApproval) => {
  const { policy } = new Fleet().put(
    role('a', [rule]),
    fleetBinding('a', 'ClusterRole/a', ['User:jane'], { approval: 'ApproverAlways' }),
  );
  const rules = policy.rulesFor(jane, { cluster: undefined, namespace: 'n' });
  expect([rules.resourceRules, rules.needsApproval]).toEqual([[expect.objectContaining(rule)], needsApproval]);
});
