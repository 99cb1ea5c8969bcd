import { describe, expect, it } from 'vitest';
import { account, ask, askCluster, binding, Fleet, person, type Rules, role } from './rbac.fixture.ts';

const jane = person('jane', 'devs');
const getPods: Rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];

/** A fleet in which jane has one ClusterRole, bound everywhere. */
const granting = (rules: Rules): Fleet =>
  new Fleet().put(role('r', rules), binding('b', 'ClusterRole/r', ['User:jane']));

describe('rules', () => {
  it.each([
    ['resource', ['pods'], { resource: 'pods' }, true],
    ['another resource', ['pods'], { resource: 'secrets' }, false],
    [
      'a subresource by its resource',
      ['serviceaccounts'],
      { resource: 'serviceaccounts', subresource: 'token' },
      false,
    ],
    ['a subresource', ['serviceaccounts/token'], { resource: 'serviceaccounts', subresource: 'token' }, true],
    ['a resource by its subresource', ['serviceaccounts/token'], { resource: 'serviceaccounts' }, false],
    ["any resource's subresource", ['*/token'], { resource: 'serviceaccounts', subresource: 'token' }, true],
    ["any resource's other subresource", ['*/token'], { resource: 'pods', subresource: 'log' }, false],
    ['a resource by */token', ['*/token'], { resource: 'token' }, false],
    ['serviceaccounts/*', ['serviceaccounts/*'], { resource: 'serviceaccounts', subresource: 'token' }, false],
    ['everything', ['*'], { resource: 'serviceaccounts', subresource: 'token' }, true],
    ['no globbing', ['pod*'], { resource: 'pods' }, false],
  ])('P-12: %s', (_, resources, question, allowed) => {
    const { policy } = granting([{ verbs: ['get'], apiGroups: [''], resources }]);
    expect(policy.decide(jane, ask({ verb: 'get', ...question })).allowed).toBe(allowed);
  });

  it('P-12: verbs and groups match whole or by *', () => {
    const { policy } = granting([
      { verbs: ['get'], apiGroups: ['*'], resources: ['a'] },
      { verbs: ['*'], apiGroups: ['g'], resources: ['b'] },
    ]);
    const may = (verb: string, group: string, resource: string): boolean =>
      policy.decide(jane, ask({ verb, group, resource })).allowed;
    expect(may('get', 'any', 'a')).toBe(true);
    expect(may('list', 'any', 'a')).toBe(false);
    expect(may('whatever', 'g', 'b')).toBe(true);
    expect(may('get', '', 'b')).toBe(false);
  });

  it('P-13: names restrict; a collection has none, a subresource has one', () => {
    const { policy } = granting([
      {
        verbs: ['create', 'list'],
        apiGroups: [''],
        resources: ['serviceaccounts/token', 'pods'],
        resourceNames: ['sa-a'],
      },
    ]);
    const token = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'n', cluster: 'c' };
    expect(policy.decide(jane, ask({ ...token, name: 'sa-a' })).allowed).toBe(true);
    expect(policy.decide(jane, ask({ ...token, name: 'sa-b' })).allowed).toBe(false);
    expect(policy.decide(jane, ask({ verb: 'list' })).allowed).toBe(false);
    expect(policy.decide(jane, ask({ verb: 'list', name: 'sa-a' })).allowed).toBe(true);
  });

  it.each([
    ['/apis', '/apis', true],
    ['/apis/*', '/apis', false],
    ['/apis/*', '/apis/x/y', true],
    ['*', '/anything', true],
    ['/a*', '/apis', true],
    ['/apis', '/apis/', false],
  ])('P-15: %s for %s', (url, path, allowed) => {
    const { policy } = granting([{ verbs: ['get'], nonResourceURLs: [url] }]);
    expect(policy.decidePath(jane, { verb: 'get', path }).allowed).toBe(allowed);
    expect(policy.decidePath(jane, { verb: 'post', path }).allowed).toBe(false);
  });

  it('a rule that is not what it should be grants nothing, rather than more than was meant', () => {
    const broken = { ...role('r', []), rules: [{ ...getPods[0], resourceNames: 'only-this' }, null, 'x'] };
    const fleet = new Fleet().put(broken, binding('b', 'ClusterRole/r', ['User:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get', name: 'other' }))).toEqual({ allowed: false, reason: '' });
  });
});

describe('bindings', () => {
  it('P-10: RoleBindings count in their namespace only, ClusterRoleBindings come first', () => {
    const fleet = new Fleet().put(
      role('r', getPods),
      role('local', getPods, { namespace: 'n' }),
      binding('in-n', 'Role/local', ['User:jane'], { namespace: 'n' }),
    );
    const inN = ask({ verb: 'get', namespace: 'n' });
    expect(fleet.policy.decide(jane, inN)).toEqual({
      allowed: true,
      binding: 'RoleBinding/n/in-n',
      grant: expect.objectContaining({ kind: 'RoleBinding', namespace: 'n', name: 'in-n' }),
      reason: '',
    });
    expect(fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'm' })).allowed).toBe(false);
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    fleet.put(binding('all', 'ClusterRole/r', ['Group:devs']));
    expect(fleet.policy.decide(jane, inN).binding).toBe('ClusterRoleBinding/all');
  });

  it('P-16: users, groups and service accounts', () => {
    const fleet = new Fleet().put(
      role('r', getPods),
      binding('crb', 'ClusterRole/r', ['ServiceAccount:n/in-crb', 'ServiceAccount:/no-namespace']),
      binding('rb', 'ClusterRole/r', ['ServiceAccount:/local', 'ServiceAccount:other/away'], { namespace: 'n' }),
    );
    const may = (namespace: string, name: string): boolean =>
      fleet.policy.decide(account('c', namespace, name), ask({ verb: 'get', namespace: 'n', cluster: 'c' })).allowed;
    expect(may('n', 'in-crb')).toBe(true);
    expect(may('n', 'no-namespace')).toBe(false);
    expect(may('', 'no-namespace')).toBe(false);
    expect(may('n', 'local')).toBe(true);
    expect(may('other', 'local')).toBe(false);
    expect(may('other', 'away')).toBe(true);
  });

  it('P-16: a user is no group of that name, and the subject of a kind unknown is nobody', () => {
    const fleet = new Fleet().put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:devs', 'Robot:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    expect(fleet.policy.decide(person('devs'), ask({ verb: 'get' })).allowed).toBe(true);
  });

  it('P-17: a ClusterRole bound in a namespace counts there only', () => {
    const fleet = new Fleet().put(
      role('r', [...getPods, { verbs: ['get'], nonResourceURLs: ['*'] }]),
      binding('b', 'ClusterRole/r', ['User:jane'], { namespace: 'n' }),
    );
    expect(fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'n' })).allowed).toBe(true);
    expect(fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'm' })).allowed).toBe(false);
    expect(fleet.policy.decidePath(jane, { verb: 'get', path: '/x' }).allowed).toBe(false);
  });

  it('P-17, P-35: a role that does not exist is the reason of a refusal, and no hindrance otherwise', () => {
    const fleet = new Fleet().put(binding('b', 'ClusterRole/x', ['User:jane']));
    const question = ask({ verb: 'get', namespace: 'n' });
    const refusal = 'clusterrole.rbac.authorization.k8s.io "x" not found';
    expect(fleet.policy.decide(jane, question).reason).toBe(`RBAC: ${refusal}`);
    fleet.put(binding('b2', 'ClusterRole/x', ['Group:devs']));
    expect(fleet.policy.decide(jane, question).reason).toBe(`RBAC: ${refusal}`);
    fleet.put(binding('a', 'Role/y', ['User:jane'], { namespace: 'n' }));
    const both = `RBAC: [${refusal}, role.rbac.authorization.k8s.io "y" not found]`;
    expect(fleet.policy.decide(jane, question).reason).toBe(both);
    fleet.put(role('x', getPods));
    expect(fleet.policy.decide(jane, question)).toEqual({
      allowed: true,
      binding: expect.any(String),
      grant: expect.anything(),
      reason: '',
    });
    expect(fleet.policy.decide(person('other'), question)).toEqual({ allowed: false, reason: '' });
  });

  it('P-17: a ClusterRoleBinding never finds a Role', () => {
    const fleet = new Fleet().put(role('r', getPods, { namespace: 'n' }), binding('b', 'Role/r', ['User:jane']));
    const decision = fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'n' }));
    expect(decision).toEqual({ allowed: false, reason: 'RBAC: role.rbac.authorization.k8s.io "r" not found' });
  });

  it('P-19: system:masters may do anything', () => {
    const { policy } = new Fleet();
    const root = person('root', 'system:masters');
    expect(policy.decide(root, ask({ verb: 'anything', cluster: 'gone' })).allowed).toBe(true);
    expect(policy.decidePath(root, { verb: 'get', path: '/' }).allowed).toBe(true);
    expect(policy.ruleFor(root, 'update').all).toBe(true);
  });
});

describe('P-18: aggregation', () => {
  const whole = role('whole', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], {
    aggregate: [{ matchLabels: { to: 'whole' } }],
  });
  const part = role('part', getPods, { labels: { to: 'whole' } });

  it('counts the rules of the roles selected, and not its own', () => {
    const fleet = new Fleet().put(whole, binding('b', 'ClusterRole/whole', ['User:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    fleet.put(part);
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
    expect(fleet.policy.decide(jane, ask({ verb: 'get', resource: 'secrets' })).allowed).toBe(false);
    fleet.put(role('part', getPods));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
  });

  it('follows aggregating roles through one another and through circles', () => {
    const first = role('first', [], { aggregate: [{ matchLabels: { to: 'first' } }], labels: { to: 'second' } });
    const second = role('second', [], { aggregate: [{ matchLabels: { to: 'second' } }], labels: { to: 'first' } });
    const fleet = new Fleet().put(first, second, binding('b', 'ClusterRole/first', ['User:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    const before = fleet.policy.changedAt(jane);
    fleet.put(role('leaf', getPods, { labels: { to: 'second' } }));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
    expect(fleet.policy.changedAt(jane)).toBeGreaterThan(before);
  });

  it('gathers nothing when a selector cannot be read: an empty one would gather everything', () => {
    for (const selector of [null, { matchLabels: { a: 1 } }, { matchExpressions: [{ key: 'a', operator: 'In' }] }]) {
      const odd = role('odd', [], { aggregate: [selector] });
      const fleet = new Fleet().put(odd, part, binding('b', 'ClusterRole/odd', ['User:jane']));
      expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    }
    const all = role('all', [], { aggregate: [{}] });
    const fleet = new Fleet().put(all, part, binding('b', 'ClusterRole/all', ['User:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
  });
});

describe('clusters', () => {
  const seeClusters: Rules = [
    { verbs: ['get', 'list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] },
    ...getPods,
    { verbs: ['get'], nonResourceURLs: ['*'] },
  ];
  const restricted = (clusters: string): Fleet => {
    const fleet = new Fleet().put(role('r', seeClusters), binding('b', 'ClusterRole/r', ['User:jane'], { clusters }));
    fleet.clusters.set('prod', { env: 'prod' }).set('dev', { env: 'dev' }).set('bare', {});
    return fleet;
  };
  const seen = ({ policy }: Fleet): string[] =>
    ['prod', 'dev', 'bare', 'gone'].filter((name) => policy.decide(jane, askCluster('get', name)).allowed);

  it.each([
    ['env=prod', ['prod']],
    ['env in (prod, dev)', ['prod', 'dev']],
    ['env!=prod', ['dev', 'bare']],
    ['!env', ['bare']],
    ['kubernetes.io/metadata.name=dev', ['dev']],
    ['kubernetes.io/metadata.name=gone', ['gone']],
    ['kubernetes.io/metadata.name!=dev', ['prod', 'bare', 'gone']],
    ['kubernetes.io/metadata.name!=dev,env!=prod', ['bare']],
    ['', ['prod', 'dev', 'bare', 'gone']],
  ])('a binding with the selector %j holds in %j', (clusters, names) => {
    expect(seen(restricted(clusters))).toEqual(names);
  });

  it('A7: labels a cluster does not have because it does not exist open nothing', () => {
    const fleet = restricted('env!=prod');
    const absent = fleet.policy.decide(jane, askCluster('get', 'gone'));
    expect(absent).toEqual(fleet.policy.decide(jane, askCluster('get', 'prod')));
  });

  it('A7: reasons are the same for every cluster, whatever it is called and whether it exists', () => {
    const fleet = restricted('env=none').put(
      binding('dangling', 'ClusterRole/x', ['User:jane'], { clusters: 'env=prod' }),
    );
    const refusals = ['prod', 'dev', 'gone'].map((name) => fleet.policy.decide(jane, askCluster('get', name)));
    expect(new Set(refusals.map(({ reason }) => reason)).size).toBe(1);
    expect(refusals[0]?.reason).toContain('"x" not found');
  });

  it('a restricted binding never holds in a request about no cluster', () => {
    for (const clusters of ['', 'env=prod', '!env']) {
      const { policy } = restricted(clusters);
      expect(policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
      expect(policy.decidePath(jane, { verb: 'get', path: '/x' }).allowed).toBe(false);
    }
  });

  it('the computed name wins over a label that pretends', () => {
    const fleet = restricted('kubernetes.io/metadata.name=prod');
    fleet.clusters.set('liar', { 'kubernetes.io/metadata.name': 'prod' });
    expect(fleet.policy.decide(jane, askCluster('get', 'liar')).allowed).toBe(false);
    expect(fleet.policy.ruleFor(jane, 'get').admits('liar', { 'kubernetes.io/metadata.name': 'prod' })).toBe(false);
  });

  it('an annotation that cannot be read closes the binding and is the reason', () => {
    const fleet = restricted('env in prod');
    expect(seen(fleet)).toEqual([]);
    expect(fleet.policy.ruleFor(jane, 'get').none).toBe(true);
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).reason).toMatch(
      /^RBAC: clusterrolebinding\.rbac\.authorization\.k8s\.io "b": annotation clusterpass\.dev\/clusters: /,
    );
  });

  it('follows the labels a cluster has now', () => {
    const fleet = restricted('env=prod');
    fleet.clusters.set('dev', { env: 'prod' }).delete('prod');
    expect(seen(fleet)).toEqual(['dev']);
  });

  it('a service account is the local one at home only', () => {
    const fleet = restricted('env=none').put(
      binding('local', 'ClusterRole/r', ['ServiceAccount:n/ci']),
      binding('foreign', 'ClusterRole/r', ['User:system:cluster:dev:serviceaccount:n:ci'], { clusters: 'env=prod' }),
    );
    const ci = account('dev', 'n', 'ci');
    const names = ['prod', 'dev', 'bare'];
    expect(names.filter((name) => fleet.policy.decide(ci, askCluster('get', name)).allowed)).toEqual(['prod', 'dev']);
    const rule = fleet.policy.ruleFor(ci, 'get');
    expect(names.filter((name) => rule.admits(name, fleet.clusters.get(name)))).toEqual(['prod', 'dev']);
    expect(rule.candidates).toEqual({ names: ['dev'], labels: [{ key: 'env', value: 'prod' }] });
    const namesake = fleet.policy.ruleFor(account('bare', 'n', 'ci'), 'get');
    expect(names.filter((name) => namesake.admits(name, fleet.clusters.get(name)))).toEqual(['bare']);
  });
});

describe('a subject with many roles', () => {
  const one = (name: string): Rules => [
    { verbs: ['get'], apiGroups: [''], resources: ['pods', '*/log'], resourceNames: [name] },
  ];
  const crowded = (): Fleet => {
    const fleet = new Fleet();
    for (let i = 0; i < 40; i++)
      fleet.put(role(`r${i}`, one(`p${i}`)), binding(`b${i}`, `ClusterRole/r${i}`, ['User:jane']));
    return fleet;
  };
  const may = ({ policy }: Fleet, name: string, subresource = ''): boolean =>
    policy.decide(jane, ask({ verb: 'get', name, subresource })).allowed;

  it('finds each of them, and loses each that goes', () => {
    const fleet = crowded();
    for (let i = 0; i < 40; i++) {
      expect([may(fleet, `p${i}`), may(fleet, `p${i}`, 'log'), may(fleet, `p${i}`, 'exec')]).toEqual([
        true,
        true,
        false,
      ]);
      fleet.remove(binding(`b${i}`, '', []));
      expect(may(fleet, `p${i}`)).toBe(false);
    }
  });

  it('follows the changes of roles: others names, everything, paths, too many names, aggregation, nothing', () => {
    const fleet = crowded();
    fleet.put(role('r7', one('new')));
    expect([may(fleet, 'p7'), may(fleet, 'new')]).toEqual([false, true]);
    fleet.put(role('r7', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]));
    expect([may(fleet, 'anything', 'log'), may(fleet, '')]).toEqual([true, true]);
    fleet.put(role('r7', [{ verbs: ['get'], nonResourceURLs: ['/x'] }]));
    expect(may(fleet, 'anything')).toBe(false);
    expect(fleet.policy.decidePath(jane, { verb: 'get', path: '/x' }).binding).toBe('ClusterRoleBinding/b7');
    const many = Array.from({ length: 1000 }, (_, i) => `many${i}`);
    fleet.put(role('r7', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: many }]));
    expect([may(fleet, 'many999'), may(fleet, 'p8'), may(fleet, 'p7')]).toEqual([true, true, false]);
    fleet.put(role('r7', [], { aggregate: [{ matchLabels: { to: 'r7' } }] }));
    expect(may(fleet, 'part')).toBe(false);
    fleet.put(role('part', one('part'), { labels: { to: 'r7' } }));
    expect(may(fleet, 'part')).toBe(true);
    fleet.remove(role('r7', []));
    expect([may(fleet, 'part'), may(fleet, 'p7')]).toEqual([false, false]);
  });
});

describe('changes', () => {
  it('of what a binding grants concern those who stay in it', () => {
    const see = { verbs: ['list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
    const fleet = new Fleet().put(
      role('one', [{ ...see, resourceNames: ['one'] }]),
      role('all', [see]),
      binding('b', 'ClusterRole/one', ['User:jane']),
    );
    expect(fleet.policy.ruleFor(jane, 'list').candidates?.names).toEqual(['one']);
    fleet.put(binding('b', 'ClusterRole/all', ['User:jane']));
    expect([fleet.policy.ruleFor(jane, 'list').all, fleet.policy.changedAt(jane)]).toEqual([true, fleet.revision]);
    fleet.put(binding('b', 'ClusterRole/all', ['User:jane'], { clusters: 'env=dev' }));
    expect([fleet.policy.ruleFor(jane, 'list').all, fleet.policy.changedAt(jane)]).toEqual([false, fleet.revision]);
  });

  it('never make it forget a subject that was without bindings for a while and has some again', () => {
    const janes = binding('b', 'ClusterRole/r', ['User:jane']);
    const fleet = new Fleet({ maxIdleSubjects: 2 }).put(role('r', getPods), janes).remove(janes).put(janes);
    for (let i = 0; i < 10; i++) {
      const other = binding('other', 'ClusterRole/r', [`User:u${i}`]);
      fleet.put(other).remove(other);
      expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
    }
  });

  it('concern the subjects bound and nobody else', () => {
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

  it('that write the same again concern nobody', () => {
    const fleet = new Fleet().put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:jane']));
    fleet.put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:jane', 'User:john']));
    expect(fleet.policy.changedAt(jane)).toBe(2);
    expect(fleet.policy.changedAt(person('john'))).toBe(4);
  });

  it('are remembered for subjects that no binding names any more, for all of them at worst', () => {
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
