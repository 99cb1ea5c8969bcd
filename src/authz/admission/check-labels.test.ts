import { describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../api/cluster.fixture.ts';
import type { ApiObject } from '../../api/kind.ts';
import { refusalIfAny } from '../../api/refusal.fixture.ts';
import { account, binding, Fleet, fleetBinding, person, type Rules, role } from '../policy/rbac.fixture.ts';
import { checkLabels } from './check-labels.ts';

const KIND = { group: 'clusterregistry.k8s.io', resource: 'clusters' };
const TOKEN: Rules = [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }];
const carl = person('carl');

const cluster = (labels: Record<string, string>): ApiObject => ({ ...CLUSTER_TYPE, metadata: { name: 'a', labels } });

/** The message when `caller` changes the labels of cluster `a` from `before` to `after`. */
function refusal(
  fleet: Fleet,
  before: Record<string, string> | undefined,
  after: Record<string, string>,
  caller = carl,
) {
  if (before !== undefined) fleet.clusters.set('a', before);
  const old = before === undefined ? undefined : cluster(before);
  return refusalIfAny(() => checkLabels(fleet.policy, caller, KIND, cluster(after), old))?.message;
}

const minting = (...clusters: string[]): Fleet =>
  new Fleet().put(
    role('mint', TOKEN),
    ...clusters.map((each, index) => fleetBinding(`b${index}`, 'ClusterRole/mint', ['User:x'], { clusters: each })),
  );

describe('A30: bindings that begin to hold', () => {
  it.each([
    ['env=prod', { env: 'dev' }, { env: 'prod' }, true],
    ['env=prod', { env: 'prod' }, { env: 'prod', x: 'y' }, false],
    ['env=prod', { env: 'prod' }, {}, false],
    ['!env', { env: 'prod' }, {}, true],
    ['env!=prod', { env: 'prod' }, { env: 'dev' }, true],
    ['env=prod,tier=1', { env: 'prod' }, { env: 'prod', tier: '1' }, true],
    ['env=prod', undefined, { env: 'prod' }, true],
    ['env!=prod', undefined, {}, true],
    // By name it was granted before the cluster existed.
    ['kubernetes.io/metadata.name=a', undefined, {}, false],
    ['kubernetes.io/metadata.name=b', undefined, { 'kubernetes.io/metadata.name': 'b' }, false],
  ])('%s, from %j to %j', (selector, before, after, isRefused) => {
    expect(refusal(minting(selector), before, after) !== undefined).toBe(isRefused);
  });

  it('are forgotten when they are removed, rewritten, or have no subjects', () => {
    const fleet = minting('env=prod', 'env=prod');
    const [first, second] = ['b0', 'b1'].map((name) =>
      fleetBinding(name, 'ClusterRole/mint', [], { clusters: 'env=prod' }),
    );
    fleet.remove(first as ApiObject);
    expect(refusal(fleet, {}, { env: 'prod' })).toContain('FleetRoleBinding/b1');
    fleet.put(second as ApiObject);
    expect(refusal(fleet, {}, { env: 'prod' })).toBeUndefined();
    fleet.put(fleetBinding('b1', 'ClusterRole/mint', ['User:x'], { clusters: 'env=test' }));
    expect(refusal(fleet, {}, { env: 'prod' })).toBeUndefined();
    expect(refusal(fleet, {}, { env: 'test' })).toContain('FleetRoleBinding/b1');
  });

  it.each([
    ['deleted', minting('env=prod').remove(role('mint', TOKEN))],
    ['not created yet', new Fleet().put(fleetBinding('b0', 'ClusterRole/mint', ['User:x'], { clusters: 'env=prod' }))],
  ])('count as granting everything while their role is %s', (_, fleet) => {
    // What the role had, and anything less than everything, is not enough.
    fleet.put(role('held', TOKEN), binding('held', 'ClusterRole/held', ['User:carl']));
    expect(refusal(fleet, {}, { env: 'prod' })).toBe(
      'clusters.clusterregistry.k8s.io "a" is forbidden: user "carl" (groups=[]) may not set ' +
        'these labels: with these labels FleetRoleBinding/b0 would begin to hold in cluster "a", and its ClusterRole ' +
        '"mint" does not exist: it could be created with any permissions',
    );
    expect(refusal(fleet, undefined, { env: 'prod' })).toContain('does not exist');
    const all: Rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    fleet.put(role('all', all), binding('all', 'ClusterRole/all', ['User:carl']));
    expect(refusal(fleet, {}, { env: 'prod' })).toBeUndefined();
  });

  it('are compared with what an account holds in its home cluster, if that is the cluster', () => {
    const fleet = minting('env=prod').put(binding('own', 'ClusterRole/mint', ['ServiceAccount:n/s']));
    expect(refusal(fleet, {}, { env: 'prod' }, account('a', 'n', 's'))).toBeUndefined();
    expect(refusal(fleet, {}, { env: 'prod' }, account('b', 'n', 's'))).toContain('FleetRoleBinding/b0');
  });

  it.each([
    // What is held until some time does not justify a grant that lasts longer.
    ['2026-11-16T18:00:00Z', undefined, true],
    ['2026-11-16T18:00:00Z', '2026-11-16T18:00:01Z', true],
    ['2026-11-16T18:00:00Z', '2026-11-16T18:00:00Z', false],
    ['2026-11-16T18:00:00Z', '2026-11-16T17:59:59Z', false],
    [undefined, '2026-11-16T18:00:00Z', false],
    [undefined, undefined, false],
  ])('held until %s, granted until %s', (held, granted, isRefused) => {
    const fleet = new Fleet({ now: () => Date.parse('2026-11-16T12:00:00Z') }).put(
      role('mint', TOKEN),
      fleetBinding('carl', 'ClusterRole/mint', ['User:carl'], { ...(held && { expiresAt: held }) }),
      // Of the same role, so that only its end tells it from the other.
      fleetBinding('b0', 'ClusterRole/mint', ['User:y'], { clusters: 'env=prod', expiresAt: '2026-11-16T12:00:01Z' }),
      fleetBinding('b1', 'ClusterRole/mint', ['User:x'], {
        clusters: 'env=prod',
        ...(granted && { expiresAt: granted }),
      }),
    );
    expect(refusal(fleet, {}, { env: 'prod' }) !== undefined).toBe(isRefused);
  });

  it('without a right to compare: paths are not granted by restricted bindings', () => {
    const paths: Rules = [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }];
    const fleet = new Fleet().put(
      role('paths', paths),
      fleetBinding('p', 'ClusterRole/paths', ['User:x'], { clusters: 'env=prod' }),
    );
    expect(refusal(fleet, {}, { env: 'prod' })).toBeUndefined();
  });

  it('A19: are refused together when there is too much to compare', () => {
    const fleet = new Fleet();
    const names = (from: number): string[] => Array.from({ length: 400 }, (_, index) => `n${from + index}`);
    for (let index = 0; index < 400; index++) {
      const rules: Rules = [
        { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: names(index * 400) },
      ];
      fleet.put(
        role(`r${index}`, rules),
        binding(`held${index}`, `ClusterRole/r${index}`, ['User:carl']),
        fleetBinding(`b${index}`, `ClusterRole/r${index}`, ['User:x'], { clusters: 'env=prod' }),
      );
    }
    expect(refusal(fleet, {}, { env: 'prod' })).toContain('more RBAC permissions than can be compared');
    const escalate: Rules = [{ verbs: ['escalate'], apiGroups: [KIND.group], resources: ['clusters'] }];
    fleet.put(role('escalate', escalate), binding('escalate', 'ClusterRole/escalate', ['User:carl']));
    expect(refusal(fleet, {}, { env: 'prod' })).toBeUndefined();
  });
});
