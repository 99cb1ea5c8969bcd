import { describe, expect, test } from 'vitest';
import { EXPIRES_ANNOTATION } from '../api/kinds/rbac.ts';
import { refusalIfAny } from '../api/refusal.fixture.ts';
import { atRevision, compareMoments, justAfter, type PolicyMoment } from '../api/visibility.ts';
import { checkGrant } from './admission/escalation.ts';
import { ask, askCluster, binding, Fleet, person, role } from './policy/rbac.fixture.ts';

const END = Date.parse('2026-11-16T18:00:00Z');

const ending = (object: ReturnType<typeof binding>, at = '2026-11-16T18:00:00Z') => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [EXPIRES_ANNOTATION]: at } },
});

function fleet() {
  const clock = { now: END - 1_000 };
  const world = new Fleet({ now: () => clock.now });
  world.clusters.set('a', { env: 'prod' });
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  world.put(role('all', [all]), ending(binding('temporary', 'ClusterRole/all', ['User:jane', 'Group:devs'])));
  return { clock, world, jane: person('jane') };
}

describe('a binding with an expiry', () => {
  test('grants until then, in every kind of decision', () => {
    const { clock, world, jane } = fleet();
    const { policy } = world;
    const answers = () => [
      policy.decide(jane, ask({ verb: 'get' })).allowed,
      policy.decide(person('x', 'devs'), ask({ verb: 'get', cluster: 'a' })).allowed,
      policy.decideForAnyLabels(jane, askCluster('get', 'a')).allowed,
      policy.ruleFor(jane, 'list').all,
      policy.rulesFor(jane, { cluster: undefined, namespace: 'x' }).resourceRules.length > 0,
      [...policy.grantsOf(ask({ verb: 'get' }), { isKnown: true })].some((grant) => grant?.name === 'temporary'),
    ];
    expect(answers()).toEqual([true, true, true, true, true, true]);
    clock.now = END;
    expect(answers()).toEqual([false, false, false, false, false, false]);
    expect([...policy.expiredBindings()].map(({ name }) => name)).toEqual(['temporary']);
    expect([policy.recordExpired(), policy.recordExpired()]).toEqual([[justAfter(world.revision)], []]);
  });

  test('B13: grants again after a clock that was ahead is right, until its expiry', () => {
    const { clock, world, jane } = fleet();
    const { policy } = world;
    const may = () => policy.decide(jane, ask({ verb: 'get' })).allowed;
    const longer = ending(binding('longer', 'ClusterRole/all', ['User:kim']), '2026-11-16T19:00:00Z');
    world.put(longer, ending(binding('odd', 'ClusterRole/all', ['User:ann']), 'tomorrow'));
    const held = world.revision;
    clock.now = END + 7_200_000;
    expect([may(), policy.ruleFor(jane, 'list').all]).toEqual([false, false]);
    expect(policy.recordExpired()).toEqual([justAfter(held)]);
    // The role may have been replaced meanwhile.
    const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    world.remove(role('all', [all]));
    world.put(role('all', [all]));
    clock.now = END - 500;
    expect([may(), policy.ruleFor(jane, 'list').all, policy.hasUnrecorded]).toEqual([true, true, true]);
    expect([...policy.expiredBindings()].map(({ name }) => name)).toEqual(['odd']);
    expect([policy.recordExpired(), policy.recordExpired()]).toEqual([[justAfter(held + 2)], []]);
    expect(policy.changedAt(jane)).toEqual(justAfter(held + 2));
    // What was decided in between stays decided.
    const decidedAt = (moment: PolicyMoment) => policy.decideAt(jane, ask({ verb: 'get' }), moment).allowed;
    const moments = [atRevision(held), justAfter(held), atRevision(held + 2), justAfter(held + 2)];
    expect(moments.map(decidedAt)).toEqual([true, false, false, true]);
    world.remove(longer);
    clock.now = END;
    expect(may()).toBe(false);
  });

  test('B13: changes without a write in between have an order', () => {
    const { clock, world } = fleet();
    const { policy, revision } = world;
    clock.now = END;
    policy.recordExpired();
    clock.now = END - 1;
    expect(policy.recordExpired()).toEqual([{ revision, change: 2 }]);
    // It expires and holds again before watches have followed.
    clock.now = END;
    policy.decide(person('jane'), ask({ verb: 'get' }));
    clock.now = END - 1;
    expect(policy.recordExpired()).toEqual([
      { revision, change: 3 },
      { revision, change: 4 },
    ]);
    let last = { revision, change: 4 };
    for (let i = 0; i < 200; i++) {
      clock.now = i % 2 === 0 ? END : END - 1;
      for (const moment of policy.recordExpired()) {
        expect(compareMoments(moment, last)).toBeGreaterThan(0);
        expect(moment.revision).toBe(revision);
        last = moment;
      }
    }
    expect(policy.decide(person('jane'), ask({ verb: 'get' })).allowed).toBe(true);
  });

  test('B13: does not hold at a moment after it has expired again', () => {
    const { clock, world, jane } = fleet();
    const { policy } = world;
    for (const time of [END, END - 1, END]) {
      clock.now = time;
      expect(policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(time < END);
    }
    const last = policy.recordExpired().at(-1) ?? atRevision(0);
    world.put(binding('later', 'ClusterRole/all', ['User:jane']));
    expect(policy.decideAt(jane, ask({ verb: 'get' }), last).allowed).toBe(false);
  });

  test('the rules of its subjects count as changed, so that nothing cached is used', () => {
    const { clock, world, jane } = fleet();
    const before = world.policy.ruleFor(jane, 'watch');
    world.put(role('other', []));
    expect(world.policy.changedAt(jane).revision).toBeLessThan(world.revision);
    clock.now = END;
    expect(world.policy.changedAt(jane)).toEqual(justAfter(world.revision));
    expect(world.policy.ruleFor(jane, 'watch').fingerprint).not.toBe(before.fingerprint);
  });

  test('the rule just after its end is that of the other bindings of the same revision', () => {
    const { clock, world, jane } = fleet();
    const clusters = { verbs: ['list'], apiGroups: ['*'], resources: ['clusters'], resourceNames: ['a'] };
    const lasting = binding('lasting', 'ClusterRole/list', ['User:jane']);
    world.put(role('list', [clusters]), lasting);
    const end = world.revision;
    clock.now = END;
    world.policy.recordExpired();
    world.remove(lasting);
    const moments = [atRevision(end), justAfter(end), atRevision(world.revision)];
    const rules = moments.map((moment) => world.policy.ruleAt(jane, 'list', moment));
    expect(rules.map((rule) => ['a', 'b'].filter((name) => rule.admits(name, {})))).toEqual([['a', 'b'], ['a'], []]);
  });

  test('can be given more time, also after it has expired, and can be deleted', () => {
    const { clock, world, jane } = fleet();
    const may = () => world.policy.decide(jane, ask({ verb: 'get' })).allowed;
    clock.now = END;
    expect(may()).toBe(false);
    const longer = ending(binding('temporary', 'ClusterRole/all', ['User:jane']), '2026-11-16T19:00:00Z');
    world.put(longer);
    expect([may(), [...world.policy.expiredBindings()]]).toEqual([true, []]);
    clock.now = END + 3_600_000;
    expect(may()).toBe(false);
    world.remove(longer);
    expect([...world.policy.expiredBindings()]).toEqual([]);
  });

  test('that has expired when it is read grants nothing, nor does one whose expiry cannot be parsed', () => {
    const { clock, world } = fleet();
    clock.now = END + 1;
    world.put(
      ending(binding('old', 'ClusterRole/all', ['User:kim'])),
      ending(binding('odd', 'ClusterRole/all', ['User:kim']), 'tomorrow'),
    );
    expect(world.policy.decide(person('kim'), ask({ verb: 'get' })).allowed).toBe(false);
  });

  test('in a past state, grants up to the revision at which it expired', () => {
    const { clock, world, jane } = fleet();
    world.put(
      binding('permanent', 'ClusterRole/all', ['User:kim']),
      ending(binding('odd', 'ClusterRole/all', ['User:ann']), 'tomorrow'),
    );
    const held = world.revision;
    const grantedAt = (revision: number) =>
      [jane, person('kim'), person('ann')].map(
        (caller) => world.policy.decideAt(caller, ask({ verb: 'get' }), atRevision(revision)).allowed,
      );
    clock.now = END;
    world.policy.recordExpired();
    world.put(role('other', []));
    // A later change of their permissions: the present ones do not answer for the past.
    world.put(binding('later', 'ClusterRole/other', ['User:jane', 'User:kim', 'User:ann']));
    expect(grantedAt(held)).toEqual([true, true, false]);
    expect(grantedAt(held + 1)).toEqual([false, true, false]);
  });

  test('cannot be made permanent by its subject, unless `bind` is granted', () => {
    const { world } = fleet();
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
    world.put(role('pods', rules), ending(binding('kim', 'ClusterRole/pods', ['User:kim'])));
    const kim = person('kim');
    const kind = { group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' };
    const write = (object: ReturnType<typeof binding>, { resource }: { resource: string } = kind) =>
      refusalIfAny(() => checkGrant(world.policy, kim, { ...kind, resource }, object, undefined));
    const mine = binding('mine', 'ClusterRole/pods', ['User:kim']);
    expect(write(mine)?.code).toBe(403);
    expect(write(ending(mine, '2026-11-16T18:00:01Z'))?.code).toBe(403);
    expect(write(ending(mine))).toBeUndefined();
    expect(write(role('new', rules), { resource: 'clusterroles' })?.code).toBe(403);
  });
});
