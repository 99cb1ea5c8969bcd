import { describe, expect, test } from 'vitest';
import type { Caller, User } from '../api/caller.ts';
import { impersonate } from './impersonation.ts';
import { account, ask, binding, Fleet, fleetBinding, person, role } from './policy/rbac.fixture.ts';

const wanted = (name: string, more: Partial<User> = {}): User => ({ name, uid: '', groups: [], extra: {}, ...more });

function fleet(): Fleet {
  const world = new Fleet();
  world.clusters.set('east', { env: 'prod' });
  world.clusters.set('west', { env: 'dev' });
  world.put(
    role('impersonator', [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'serviceaccounts'] }]),
    binding('everywhere', 'ClusterRole/impersonator', ['User:root']),
    fleetBinding('prod', 'ClusterRole/impersonator', ['User:alice', 'ServiceAccount:ci/robot'], {
      clusters: 'env=prod',
    }),
    role('reader', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]),
    binding('carol', 'ClusterRole/reader', ['User:carol']),
    binding('bot', 'ClusterRole/reader', ['ServiceAccount:ci/bot']),
  );
  return world;
}

function become(world: Fleet, caller: Caller, user: User, cluster: string | undefined): Caller {
  const outcome = impersonate(world.policy, caller, user, cluster);
  if (!outcome.allowed) throw new Error(`refused: ${outcome.question.resource} ${outcome.question.name}`);
  return outcome.caller;
}

const reads = (world: Fleet, caller: Caller, cluster: string | undefined): boolean =>
  world.policy.decide(caller, ask({ verb: 'get', cluster })).allowed;

describe('an impersonation', () => {
  test('that is allowed everywhere makes the caller that user everywhere', () => {
    const world = fleet();
    const carol = become(world, person('root'), wanted('carol'), 'east');
    expect([carol.as('east').name, carol.as('west').name, carol.as(undefined).name]).toEqual([
      'carol',
      'carol',
      'carol',
    ]);
    expect(carol.home).toBeUndefined();
  });

  test('that is allowed in some clusters holds in the cluster of the request only', () => {
    const world = fleet();
    const alice = person('alice');
    const carol = become(world, alice, wanted('carol'), 'east');
    expect([carol.as('east').name, carol.as('west').name, carol.as(undefined).name]).toEqual([
      'carol',
      'alice',
      'alice',
    ]);
    expect([reads(world, carol, 'east'), reads(world, carol, 'west')]).toEqual([true, false]);
    for (const cluster of ['west', 'gone', undefined]) {
      expect(impersonate(world.policy, alice, wanted('carol'), cluster).allowed, cluster).toBe(false);
    }
  });

  test('whose groups are allowed in some clusters holds in the cluster of the request only', () => {
    const world = fleet();
    world.put(
      role('groups', [{ verbs: ['impersonate'], apiGroups: [''], resources: ['groups'] }]),
      fleetBinding('groups', 'ClusterRole/groups', ['User:root'], { clusters: 'env=prod' }),
    );
    const carol = become(world, person('root'), wanted('carol', { groups: ['devs'] }), 'east');
    expect([carol.as('east').name, carol.as('west').name, carol.as(undefined).name]).toEqual(['carol', 'root', 'root']);
    expect(carol.isLive()).toBe(true);
    world.remove(fleetBinding('groups', 'ClusterRole/groups', []));
    expect(carol.isLive()).toBe(false);
  });

  test.each(['system:serviceaccount:Bad_NS:bot', 'system:serviceaccount:ci:Bad_Name', 'system:serviceaccount:ci:a:b'])(
    'IMP-20: of %s is that of a user: it is the name of no account',
    (name) => {
      const user = become(fleet(), person('root'), wanted(name), 'east');
      expect(user.as('west')).toMatchObject({ name, groups: ['system:authenticated'] });
    },
  );

  test('by a pass is that of its account: local permissions count at home', () => {
    const world = fleet();
    const robot = account('east', 'ci', 'robot');
    const carol = become(world, robot, wanted('carol'), 'east');
    expect([carol.as('east').name, carol.as('west').name]).toEqual([
      'carol',
      'system:cluster:east:serviceaccount:ci:robot',
    ]);
    expect(impersonate(world.policy, account('west', 'ci', 'robot'), wanted('carol'), 'east').allowed).toBe(false);
  });

  test('of an account is that of its pass: local in the cluster of the request', () => {
    const world = fleet();
    const bot = become(world, person('root'), wanted('system:serviceaccount:ci:bot'), 'east');
    const pass = account('east', 'ci', 'bot');
    for (const cluster of ['east', 'west', undefined]) {
      expect([bot.as(cluster).name, bot.as(cluster).groups]).toEqual([pass.as(cluster).name, pass.as(cluster).groups]);
    }
    expect(bot.home).toBe('east');
  });

  test('of an account without a cluster is that of a user: the fleet has no accounts', () => {
    const world = fleet();
    world.put(
      role('accounts', [{ verbs: ['impersonate'], apiGroups: [''], resources: ['serviceaccounts'] }]),
      binding('accounts', 'ClusterRole/accounts', ['User:dave']),
    );
    const bot = wanted('system:serviceaccount:ci:bot');
    expect(impersonate(world.policy, person('dave'), bot, 'east').allowed).toBe(true);
    expect(impersonate(world.policy, person('dave'), bot, undefined)).toMatchObject({
      allowed: false,
      question: { resource: 'users', name: 'system:serviceaccount:ci:bot' },
    });
    expect(become(world, person('root'), bot, undefined).as(undefined)).toMatchObject({
      name: 'system:serviceaccount:ci:bot',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
    });
  });

  test('of an account with groups has these in place of the groups of the account', () => {
    const world = fleet();
    world.put(
      role('groups', [{ verbs: ['impersonate'], apiGroups: [''], resources: ['groups'] }]),
      binding('groups', 'ClusterRole/groups', ['User:root']),
    );
    const bot = wanted('system:serviceaccount:ci:bot', { groups: ['devs'] });
    for (const cluster of ['east', undefined]) {
      expect(become(world, person('root'), bot, cluster).as(cluster).groups).toEqual(['devs', 'system:authenticated']);
    }
  });

  test('keeps the limits and the end of its impersonator', () => {
    const world = fleet();
    const root = { ...person('root'), expiresAt: 7, dependsOn: ['key'] };
    const carol = become(world, root, wanted('carol'), undefined);
    expect(carol).toMatchObject({ flow: root.flow, expiresAt: 7, dependsOn: ['key'], impersonator: root });
    expect(carol.key).not.toBe(become(world, root, wanted('dave'), undefined).key);
    expect(carol.key).not.toBe(become(world, person('root', 'g'), wanted('carol'), undefined).key);
  });

  test('ends with the permission', () => {
    const world = fleet();
    const carol = become(world, person('root'), wanted('carol'), 'east');
    expect(carol.isLive()).toBe(true);
    world.remove(binding('everywhere', 'ClusterRole/impersonator', []));
    expect(carol.isLive()).toBe(false);
  });

  test('needs a permission for each group, uid and extra value', () => {
    const world = fleet();
    const refused = (more: Partial<User>) => {
      const outcome = impersonate(world.policy, person('root'), wanted('carol', more), undefined);
      return outcome.allowed ? undefined : `${outcome.question.resource}/${outcome.question.subresource}`;
    };
    expect(refused({})).toBeUndefined();
    expect(refused({ groups: ['system:masters'] })).toBe('groups/');
    expect(refused({ uid: '1' })).toBe('uids/');
    expect(refused({ extra: { scopes: ['x'] } })).toBe('userextras/scopes');
  });

  test('of the anonymous user is not authenticated', () => {
    const world = fleet();
    const groupsOf = (name: string, groups: string[] = []) =>
      become(world, person('boss', 'system:masters'), wanted(name, { groups }), undefined).as(undefined).groups;
    expect(groupsOf('system:anonymous')).toEqual(['system:unauthenticated']);
    expect(groupsOf('carol', ['system:unauthenticated'])).toEqual(['system:unauthenticated']);
    expect(groupsOf('carol', ['system:authenticated', 'x'])).toEqual(['system:authenticated', 'x']);
    expect(groupsOf('system:serviceaccount:ci')).toEqual(['system:authenticated']);
  });
});
