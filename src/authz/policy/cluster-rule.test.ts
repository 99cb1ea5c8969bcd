import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL_VISIBLE, NONE_VISIBLE } from '../../api/visibility.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { clusterRule, type RuleGrant } from './cluster-rule.ts';
import { ClusterSelector } from './cluster-selector.ts';
import { binding, Fleet, person, role } from './rbac.fixture.ts';

const grant = (names: string[] | undefined, selector?: string): RuleGrant => ({
  names: names && new Set(names),
  selector: selector === undefined ? undefined : new ClusterSelector(parseLabelSelector(selector)),
});

describe('cluster rules', () => {
  it('differ when they admit different clusters', () => {
    const different = [
      [grant(['a'])],
      [grant(['b'])],
      [grant(['a'], 'x=1')],
      [grant(undefined, 'x=1')],
      [grant(undefined, 'x!=1')],
    ].map((elsewhere) => clusterRule({ elsewhere }));
    const home = clusterRule({ elsewhere: [grant(['a'])], home: { cluster: 'a', grants: [] } });
    expect(new Set([...different, home].map(({ fingerprint }) => fingerprint)).size).toBe(6);
    expect(home.admits('a', {})).toBe(false);
  });

  it('are everything or nothing when labels do not matter', () => {
    expect(clusterRule({ elsewhere: [grant(['a']), grant(undefined)] })).toBe(ALL_VISIBLE);
    expect(clusterRule({ elsewhere: [grant(undefined, '')] })).toBe(ALL_VISIBLE);
    expect(clusterRule({ elsewhere: [] })).toBe(NONE_VISIBLE);
    expect(clusterRule({ elsewhere: [grant([])] })).toBe(NONE_VISIBLE);
    const all = [grant(undefined)];
    expect(clusterRule({ elsewhere: all, home: { cluster: 'h', grants: all } })).toBe(ALL_VISIBLE);
    const notHome = clusterRule({ elsewhere: all, home: { cluster: 'h', grants: [] } });
    expect([notHome.all, notHome.admits('h', {}), notHome.admits('x', {}), notHome.candidates]).toEqual([
      false,
      false,
      true,
      undefined,
    ]);
  });

  it('say where two of them differ, and leave out no cluster on which they do', () => {
    const of = (...elsewhere: RuleGrant[]) => clusterRule({ elsewhere });
    const wide = of(grant(['a', 'b']), grant(undefined, 'x=1'), grant(['c'], 'y=1'));
    expect(wide.differsFrom?.(of(grant(['a']), grant(undefined, 'x=1')))).toEqual({ names: ['b', 'c'], labels: [] });
    expect(wide.differsFrom?.(of(grant(['a', 'b']), grant(['c'], 'y=1')))).toEqual({
      names: [],
      labels: [{ key: 'x', value: '1' }],
    });
    expect(wide.differsFrom?.(of(grant(undefined, 'x!=1')))).toBeUndefined();
    expect(wide.differsFrom?.(ALL_VISIBLE)).toBeUndefined();

    const grants = fc.array(
      fc
        .tuple(
          fc.option(fc.subarray(['a', 'b', 'c']), { nil: undefined }),
          fc.constantFrom(undefined, 'x=1', 'x in (1,2)', 'x=1,y=1', 'y', 'x!=1', 'kubernetes.io/metadata.name=b'),
        )
        .map(([names, selector]) => grant(names, selector)),
      { maxLength: 4 },
    );
    const fleet = ['a', 'b', 'c', 'd'].flatMap((name) =>
      [{}, { x: '1' }, { x: '2', y: '1' }, { x: '1', y: '1' }].map((labels) => ({ name, labels })),
    );
    fc.assert(
      fc.property(grants, grants, (one, other) => {
        const [before, after] = [of(...one), of(...other)];
        const lookup = after.differsFrom?.(before);
        if (lookup === undefined) return;
        for (const { name, labels } of fleet) {
          if (before.admits(name, labels) === after.admits(name, labels)) continue;
          const isThere = lookup.labels.some(({ key, value }) => (labels as Record<string, string>)[key] === value);
          expect(isThere || lookup.names.includes(name)).toBe(true);
        }
      }),
    );
  });

  it('of a caller change when one of its subjects does', () => {
    const see = { verbs: ['list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
    const fleet = new Fleet().put(
      role('a', [{ ...see, resourceNames: ['a'] }]),
      role('b', [{ ...see, resourceNames: ['b'] }]),
      binding('a', 'ClusterRole/a', ['User:jane']),
      binding('b', 'ClusterRole/b', ['Group:devs']),
    );
    const jane = person('jane', 'devs');
    const rule = fleet.policy.ruleFor(jane, 'list');
    expect(rule.candidates?.names).toEqual(['a', 'b']);
    expect(fleet.policy.ruleFor(jane, 'get').none).toBe(true);
    // Both names through one role: other grants, the same rule.
    fleet.put(role('a', [{ ...see, resourceNames: ['b', 'a'] }]));
    expect(fleet.policy.ruleFor(jane, 'list').fingerprint).toBe(rule.fingerprint);
    fleet.remove(role('a', []));
    expect(fleet.policy.ruleFor(jane, 'list').candidates?.names).toEqual(['b']);
  });
});
