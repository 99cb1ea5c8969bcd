import { describe, expect, it } from 'vitest';
import { account, binding, Fleet, fleetBinding, person, type Rules, role } from './rbac.fixture.ts';

const jane = person('jane', 'devs');
const getPods: Rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];

describe('changes', () => {
  it('of what a binding grants change the rules of all its subjects', () => {
    const see = { verbs: ['list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
    const fleet = new Fleet().put(
      role('one', [{ ...see, resourceNames: ['one'] }]),
      role('all', [see]),
      binding('b', 'ClusterRole/one', ['User:jane']),
    );
    expect(fleet.policy.ruleFor(jane, 'list').candidates?.names).toEqual(['one']);
    fleet.put(binding('b', 'ClusterRole/all', ['User:jane']));
    expect([fleet.policy.ruleFor(jane, 'list').all, fleet.policy.changedAt(jane)]).toEqual([true, fleet.revision]);
    fleet.remove(binding('b', '', []));
    fleet.put(fleetBinding('b', 'ClusterRole/all', ['User:jane']));
    fleet.put(fleetBinding('b', 'ClusterRole/all', ['User:jane'], { clusters: 'env=dev' }));
    expect([fleet.policy.ruleFor(jane, 'list').all, fleet.policy.changedAt(jane)]).toEqual([false, fleet.revision]);
  });

  it('have the revision of the last change of the subjects bound', () => {
    const fleet = new Fleet().put(
      role('r', getPods),
      binding('b', 'ClusterRole/r', ['User:jane']),
      binding('c', 'ClusterRole/other', ['User:john', 'ServiceAccount:n/ci']),
    );
    const john = person('john');
    const home = account('c', 'n', 'ci');
    const changed = (): number[] => [jane, john, home, person('stranger')].map((who) => fleet.policy.changedAt(who));
    expect(changed()).toEqual([2, 3, 3, 0]);
    fleet.put(role('r', []));
    expect(changed()).toEqual([4, 3, 3, 0]);
    fleet.put(role('other', getPods));
    expect(changed()).toEqual([4, 5, 5, 0]);
    fleet.put(role('r', [], { labels: { a: 'b' } })).put(role('unused', getPods));
    expect(changed()).toEqual([6, 5, 5, 0]);
    fleet.remove(binding('b', '', []));
    expect(changed()).toEqual([8, 5, 5, 0]);
  });

  it('that change nothing keep the revision of the subjects', () => {
    const fleet = new Fleet().put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:jane']));
    fleet.put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:jane', 'User:john']));
    expect(fleet.policy.changedAt(jane)).toBe(2);
    expect(fleet.policy.changedAt(person('john'))).toBe(4);
  });

  it('keep the revision of subjects without bindings, and of dropped ones for every subject', () => {
    const fleet = new Fleet({ maxIdleSubjects: 4 }).put(role('r', getPods));
    for (let i = 0; i < 10; i++) {
      const one = binding('b', 'ClusterRole/r', [`User:u${i}`]);
      fleet.put(one).remove(one);
    }
    for (let i = 0; i < 10; i++) {
      expect(fleet.policy.changedAt(person(`u${i}`))).toBeGreaterThanOrEqual(3 + 2 * i);
      expect(fleet.policy.changedAt(person(`u${i}`))).toBeLessThanOrEqual(fleet.revision);
    }
    expect(fleet.policy.changedAt(person('stranger'))).toBeLessThan(fleet.revision);
  });
});
