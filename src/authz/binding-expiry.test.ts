import { describe, expect, test } from 'vitest';
import type { Kind } from '../api/kind.ts';
import { fleetRoleBindingKind } from '../api/kinds/fleet-role-binding.ts';
import { clusterRoleBindingKind, clusterRoleKind } from '../api/kinds/rbac.ts';
import { refusalIfAny } from '../api/refusal.fixture.ts';
import { checkGrant } from './admission/escalation.ts';
import { ask, askCluster, binding, Fleet, fleetBinding, person, role } from './policy/rbac.fixture.ts';

const END = Date.parse('2026-11-16T18:00:00Z');

const ending = (name: string, roleRef: string, subjects: string[], expiresAt = '2026-11-16T18:00:00Z') =>
  fleetBinding(name, roleRef, subjects, { expiresAt });

function fleet() {
  const clock = { now: END - 1_000 };
  const world = new Fleet({ now: () => clock.now });
  world.clusters.set('a', { env: 'prod' });
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const paths = { verbs: ['*'], nonResourceURLs: ['*'] };
  world.put(role('all', [all, paths]), ending('temporary', 'ClusterRole/all', ['User:jane', 'Group:devs']));
  return { clock, world, jane: person('jane') };
}

describe('a binding with an end', () => {
  test('grants until then, in every kind of decision', () => {
    const { clock, world, jane } = fleet();
    const { policy } = world;
    const view = { name: 'a', labels: {}, exists: true };
    const bounds = { expiresAt: END - 2_000, maxPassSeconds: 60 };
    const answers = () => [
      policy.decide(jane, ask({ verb: 'get' })).allowed,
      policy.decide(person('x', 'devs'), ask({ verb: 'get', cluster: 'a' })).allowed,
      policy.decidePath(jane, { verb: 'get', path: '/x' }).allowed,
      policy.decidePass(jane, ask({ verb: 'create', resource: 'x' }), 'person').allowed,
      policy.decideForAnyLabels(jane, askCluster('get', 'a')).allowed,
      policy.ruleFor(jane, 'list').all,
      policy.approvalRule(jane, { group: 'x', resource: 'y' }).all,
      policy.rulesFor(jane, { cluster: undefined, namespace: 'x' }).resourceRules.length > 0,
      policy.heldRules(jane, '', { kind: 'everywhere' }, bounds).length > 0,
      policy.rulesHeldIn(view, jane, '', bounds).length > 0,
      [...policy.grantsOf(ask({ verb: 'get' }), { isKnown: true })].some((found) => found?.grant?.name === 'temporary'),
      [...policy.reach()('a', true)].some((found) => found?.grant?.name === 'temporary'),
      [...policy.grantsIn({ cluster: 'a', isKnown: true, labels: undefined })].some((each) => each !== undefined),
    ];
    expect(new Set(answers())).toEqual(new Set([true]));
    clock.now = END;
    expect(new Set(answers())).toEqual(new Set([false]));
    // B13: the clock was ahead.
    clock.now = END - 1;
    expect(new Set(answers())).toEqual(new Set([true]));
  });

  test('does not begin to hold in a cluster after its end', () => {
    const { clock, world } = fleet();
    world.put(
      fleetBinding('prod', 'ClusterRole/all', ['User:jane'], {
        clusters: 'env=prod',
        expiresAt: '2026-11-16T18:00:00Z',
      }),
    );
    const [before, after] = [{}, { env: 'prod' }].map((labels) => ({ name: 'b', labels, exists: true }));
    if (before === undefined || after === undefined) throw new Error('no labels');
    const beginning = () => [...world.policy.beginningGrants(before, after)].map(({ binding: id }) => id);
    expect(beginning()).toEqual(['FleetRoleBinding/prod']);
    clock.now = END;
    expect(beginning()).toEqual([]);
  });

  test('leaves no revision that says since when the rules are what they are, until it is deleted', () => {
    const { clock, world, jane } = fleet();
    const created = world.revision;
    world.put(role('other', []));
    expect([world.policy.changedAt(jane), world.policy.spanOf(jane).until]).toEqual([created, END]);
    clock.now = END;
    expect([world.policy.changedAt(jane), world.policy.changedAt(person('kim'))]).toEqual([
      Number.POSITIVE_INFINITY,
      0,
    ]);
    expect(world.policy.spanOf(jane)).toEqual({ from: END, until: Number.POSITIVE_INFINITY });
    world.remove(ending('temporary', '', []));
    expect(world.policy.changedAt(jane)).toBe(world.revision);
  });

  test('has no end any more when a finalizer keeps it: no watch is 410 for that', () => {
    const { clock, world, jane } = fleet();
    const { metadata, ...rest } = ending('temporary', 'ClusterRole/all', ['User:jane']);
    clock.now = END;
    world.put({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-11-16T18:00:00Z' } });
    expect(world.policy.changedAt(jane)).toBe(world.revision);
  });

  test('can be given more time, also after it has ended, which changes the rules of its subjects', () => {
    const { clock, world, jane } = fleet();
    const may = () => world.policy.decide(jane, ask({ verb: 'get' })).allowed;
    clock.now = END;
    expect(may()).toBe(false);
    world.put(ending('temporary', 'ClusterRole/all', ['User:jane'], '2026-11-16T19:00:00Z'));
    expect([may(), world.policy.changedAt(jane)]).toEqual([true, world.revision]);
    clock.now = END + 3_600_000;
    expect(may()).toBe(false);
  });

  test('that has ended when it is read grants nothing, nor does one whose end cannot be parsed', () => {
    const { clock, world } = fleet();
    clock.now = END + 1;
    world.put(
      ending('old', 'ClusterRole/all', ['User:kim']),
      ending('odd', 'ClusterRole/all', ['User:ann'], 'tomorrow'),
    );
    expect(world.policy.decide(person('kim'), ask({ verb: 'get' })).allowed).toBe(false);
    const { allowed, reason } = world.policy.decide(person('ann'), ask({ verb: 'get' }));
    expect([allowed, reason]).toEqual([false, expect.stringContaining('spec.expiresAt: Invalid value')]);
    // It never held: clients are not asked to list again.
    expect(world.policy.changedAt(person('ann'))).toBe(world.revision);
  });

  test('cannot be made permanent by its subject, unless `bind` is granted', () => {
    const { world } = fleet();
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
    world.put(role('pods', rules), ending('kim', 'ClusterRole/pods', ['User:kim']));
    const kim = person('kim');
    const write = (object: ReturnType<typeof binding>, kind: Kind) =>
      refusalIfAny(() => checkGrant(world.policy, kim, kind, object, undefined))?.code;
    const mine = (expiresAt?: string) =>
      write(
        fleetBinding('mine', 'ClusterRole/pods', ['User:kim'], expiresAt === undefined ? {} : { expiresAt }),
        fleetRoleBindingKind,
      );
    expect(write(binding('mine', 'ClusterRole/pods', ['User:kim']), clusterRoleBindingKind)).toBe(403);
    expect(mine()).toBe(403);
    expect(mine('2026-11-16T18:00:01Z')).toBe(403);
    expect(mine('2026-11-16T18:00:00Z')).toBeUndefined();
    expect(write(role('new', rules), clusterRoleKind)).toBe(403);
  });
});
