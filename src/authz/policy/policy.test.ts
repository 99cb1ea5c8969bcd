import { describe, expect, it } from 'vitest';
import {
  account,
  ask,
  askCluster,
  binding,
  Fleet,
  type FleetExtras,
  fleetBinding,
  person,
  type Rules,
  role,
} from './rbac.fixture.ts';

const jane = person('jane', 'devs');
const getPods: Rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];

/** A fleet in which jane has one ClusterRole, bound everywhere. */
const granting = (rules: Rules): Fleet =>
  new Fleet().put(role('r', rules), binding('b', 'ClusterRole/r', ['User:jane']));

describe('A29: a stored binding that the API would refuse holds nowhere', () => {
  it.each([
    ['annotations', 'clusterpass.dev/clusters'],
    ['annotations', 'clusterpass.dev/cluster'],
    ['annotations', 'Clusterpass.dev/clusters'],
    ['labels', 'clusterpass.dev/clusters'],
  ])('because of its %s: %s', (map, key) => {
    const bound = binding('b', 'ClusterRole/r', ['User:jane'], { [map]: { [key]: 'env=dev' } });
    const { policy } = new Fleet().put(role('r', getPods), bound);
    const reason = expect.stringContaining(`metadata.${map}[${key}]`);
    expect(policy.decide(jane, ask({ verb: 'get' }))).toEqual({ allowed: false, reason });
  });

  it('and one with a key of another domain holds everywhere', () => {
    const annotations = { clusters: 'env=dev', 'example.com/clusters': 'env=dev' };
    const bound = binding('b', 'ClusterRole/r', ['User:jane'], { annotations });
    const { policy } = new Fleet().put(role('r', getPods), bound);
    expect(policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
  });

  const whole = fleetBinding('b', 'ClusterRole/r', ['User:jane']);
  it.each<readonly [string, unknown]>([
    ['clusters', undefined],
    ['clusters', null],
    ['clusters', {}],
    ['clusters', 'env=dev'],
    ['clusters', { all: 'yes' }],
    ['clusters', { all: true, names: ['a'] }],
    ['clusters', { all: true, other: true }],
    ['clusters', { names: [] }],
    ['clusters', { names: [1] }],
    ['clusters', { names: ['a', 'b'], uid: 'u' }],
    ['clusters', { selector: {} }],
    ['clusters', { selector: { matchLabels: { env: 1 } } }],
    ['clusters', { selector: { matchExpressions: [{ key: 'env', operator: 'Is' }] } }],
    ['clusters', { selector: { matchExpressions: [{ key: 'env', operator: 'In' }] } }],
    ['namespaces', []],
    ['namespaces', 'ci'],
    ['expiresAt', 'tomorrow'],
    ['expiresAt', null],
    ['approval', {}],
    ['approval', { by: 'requester' }],
    ['maxPassSeconds', '900'],
    ['maxPassSeconds', -1],
    ['expiresat', '2026-11-16T18:00:00Z'],
    ['maxPassSeconds', null],
    ['namespace', 'ci'],
    ['clusters', { selector: { matchLabels: { env: 'dev' }, matchlabels: { zone: 'a' } } }],
    ['clusters', { selector: { matchExpressions: [{ key: 'env', operator: 'Exists', value: 'dev' }] } }],
  ])('because of spec.%s: %j', (field, value) => {
    const fleet = new Fleet().put(role('r', getPods), {
      ...whole,
      spec: { ...(whole.spec as object), [field]: value },
    });
    fleet.clusters.set('a', {});
    const { allowed, reason } = fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'ci', cluster: 'a' }));
    expect([allowed, reason]).toEqual([false, expect.stringMatching(`spec\\.${field}[.:[]`)]);
  });
});

describe('passes', () => {
  const token = ask({ verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'ci', name: 'x' });
  const now = Date.parse('2026-11-16T18:00:00Z');
  const boundsBy = (...all: (FleetExtras | undefined)[]) => {
    const rules: Rules = [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }];
    const fleet = new Fleet({ now: () => now }).put(role('r', rules));
    for (const [index, extras] of all.entries()) {
      fleet.put(
        extras === undefined
          ? binding(`b${index}`, 'ClusterRole/r', ['User:jane'])
          : fleetBinding(`b${index}`, 'ClusterRole/r', ['Group:devs'], extras),
      );
    }
    const { allowed, binding: id, passBounds } = fleet.policy.decide(jane, { ...token, cluster: undefined });
    const { expiresAt, maxPassSeconds } = passBounds ?? {};
    return [allowed, id, ...(passBounds === undefined ? [] : [expiresAt, maxPassSeconds])];
  };
  const NEVER = Number.POSITIVE_INFINITY;

  it('are bounded by the binding that allows the longest', () => {
    expect(boundsBy()).toEqual([false, undefined]);
    expect(boundsBy(undefined)).toEqual([true, 'ClusterRoleBinding/b0']);
    expect(boundsBy({ maxPassSeconds: 900 })).toEqual([true, 'FleetRoleBinding/b0', NEVER, 900]);
    expect(boundsBy({ expiresAt: '2026-11-16T18:01:00Z' })).toEqual([true, 'FleetRoleBinding/b0', now + 60_000, NEVER]);
    expect(boundsBy({ maxPassSeconds: 60 }, { maxPassSeconds: 900 }, { maxPassSeconds: 300 })).toEqual([
      true,
      'FleetRoleBinding/b1',
      NEVER,
      900,
    ]);
    expect(boundsBy({ maxPassSeconds: 60 }, undefined)).toEqual([true, 'ClusterRoleBinding/b1']);
    expect(boundsBy({ maxPassSeconds: 60 }, {})).toEqual([true, 'FleetRoleBinding/b1']);
    const soon = { expiresAt: '2026-11-16T18:01:00Z', maxPassSeconds: 900 };
    expect(boundsBy(soon, { maxPassSeconds: 61 })).toEqual([true, 'FleetRoleBinding/b1', NEVER, 61]);
    expect(boundsBy(soon, { maxPassSeconds: 59 })[1]).toBe('FleetRoleBinding/b0');
    expect(boundsBy({ expiresAt: '2026-11-16T18:00:00Z' })).toEqual([false, undefined]);
  });
});

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
      { verbs: ['li*', 'LIST'], apiGroups: ['*'], resources: ['a'] },
      { verbs: ['get'], nonResourceURLs: ['*'] },
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
    const { policy: starred } = granting([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['*'] }]);
    expect(starred.decide(jane, ask({ ...token, name: 'sa-a' })).allowed).toBe(false);
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

  it('P-16: a user does not match a group of its name, and a subject of unknown kind matches no caller', () => {
    const fleet = new Fleet().put(role('r', getPods), binding('b', 'ClusterRole/r', ['User:devs', 'Robot:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    expect(fleet.policy.decide(person('devs'), ask({ verb: 'get' })).allowed).toBe(true);
  });

  it('P-17: a ClusterRole bound in a namespace counts there only', () => {
    const fleet = new Fleet().put(
      role('r', [...getPods, { verbs: ['get'], nonResourceURLs: ['*'] }]),
      binding('b', 'ClusterRole/r', ['User:jane'], { namespace: 'n' }),
    );
    for (const place of [{}, { cluster: 'c' }]) {
      expect(fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'n', ...place })).allowed).toBe(true);
      expect(fleet.policy.decide(jane, ask({ verb: 'get', namespace: 'm', ...place })).allowed).toBe(false);
    }
    expect(fleet.policy.decidePath(jane, { verb: 'get', path: '/x' }).allowed).toBe(false);
  });

  it('P-17, P-35: a role that does not exist is the reason of a refusal, and does not stop other bindings', () => {
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

  it('follows aggregating roles that select one another, also in a cycle', () => {
    const first = role('first', [], { aggregate: [{ matchLabels: { to: 'first' } }], labels: { to: 'second' } });
    const second = role('second', [], { aggregate: [{ matchLabels: { to: 'second' } }], labels: { to: 'first' } });
    const fleet = new Fleet().put(first, second, binding('b', 'ClusterRole/first', ['User:jane']));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
    const before = fleet.policy.changedAt(jane);
    fleet.put(role('leaf', getPods, { labels: { to: 'second' } }));
    expect(fleet.policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(true);
    expect(fleet.policy.changedAt(jane)).toBeGreaterThan(before);
  });

  it('selects nothing when a selector is malformed: an empty one would select everything', () => {
    for (const selector of [{ matchLabel: { a: 'b' } }, { matchExpressions: [{ key: 'a', operator: 'In' }] }]) {
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
    const fleet = new Fleet().put(
      role('r', seeClusters),
      fleetBinding('b', 'ClusterRole/r', ['User:jane'], { clusters }),
    );
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
    ['kubernetes.io/metadata.name', ['prod', 'dev', 'bare', 'gone']],
  ])('a binding with the selector %j holds in %j', (clusters, names) => {
    expect(seen(restricted(clusters))).toEqual(names);
  });

  it('A7: a selector for the absence of a label does not match a cluster that does not exist', () => {
    const fleet = restricted('env!=prod');
    const absent = fleet.policy.decide(jane, askCluster('get', 'gone'));
    expect(absent).toEqual(fleet.policy.decide(jane, askCluster('get', 'prod')));
  });

  it('A7: the reason of a refusal is the same for every cluster, whether or not it exists', () => {
    const fleet = restricted('env=none').put(
      fleetBinding('dangling', 'ClusterRole/x', ['User:jane'], { clusters: 'env=prod' }),
    );
    const refusals = ['prod', 'dev', 'gone'].map((name) => fleet.policy.decide(jane, askCluster('get', name)));
    expect(new Set(refusals.map(({ reason }) => reason)).size).toBe(1);
    expect(refusals[0]?.reason).toContain('"x" not found');
  });

  it('A7, TX-35: a refusal looks up as much for a cluster that exists as for one that does not', () => {
    const lookups: string[] = [];
    const fleet: Fleet = new Fleet({
      labelsOf: (cluster) => {
        lookups.push(cluster);
        return fleet.clusters.get(cluster);
      },
    });
    fleet.clusters.set('hidden', { env: 'prod' });
    fleet.put(
      role('r', [
        { verbs: ['*'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters', 'clusters/userpass'] },
      ]),
      fleetBinding('by-label', 'ClusterRole/r', ['User:jane'], { clusters: 'env=dev' }),
      fleetBinding('by-name', 'ClusterRole/r', ['User:jane'], { clusters: 'kubernetes.io/metadata.name=other' }),
      binding('of-others', 'ClusterRole/r', ['User:eve']),
    );
    // Decisions are cached by name: each name is asked about twice.
    const lookedUp = (cluster: string): number[] =>
      [1, 2].map(() => {
        lookups.length = 0;
        const userpass = { ...askCluster('create', cluster), subresource: 'userpass' };
        for (const question of [askCluster('get', cluster), ask({ verb: 'get', cluster }), userpass]) {
          expect(fleet.policy.decide(jane, question).allowed).toBe(false);
        }
        expect(lookups.every((name) => name === cluster)).toBe(true);
        return lookups.length;
      });
    expect(lookedUp('hidden')).toEqual(lookedUp('absent'));
  });

  it('a restricted binding never holds in a request about no cluster', () => {
    for (const clusters of ['kubernetes.io/metadata.name', 'env=prod', '!env']) {
      const { policy } = restricted(clusters);
      expect(policy.decide(jane, ask({ verb: 'get' })).allowed).toBe(false);
      expect(policy.decidePath(jane, { verb: 'get', path: '/x' }).allowed).toBe(false);
    }
  });

  it('the computed name wins over a forged label', () => {
    const fleet = restricted('kubernetes.io/metadata.name=prod');
    fleet.clusters.set('liar', { 'kubernetes.io/metadata.name': 'prod' });
    expect(fleet.policy.decide(jane, askCluster('get', 'liar')).allowed).toBe(false);
    expect(fleet.policy.ruleFor(jane, 'get').admits('liar', { 'kubernetes.io/metadata.name': 'prod' })).toBe(false);
  });

  it('follows the labels a cluster has now', () => {
    const fleet = restricted('env=prod');
    fleet.clusters.set('dev', { env: 'prod' }).delete('prod');
    expect(seen(fleet)).toEqual(['dev']);
  });

  it('a service account is the local user in its home cluster only', () => {
    const fleet = restricted('env=none').put(
      binding('local', 'ClusterRole/r', ['ServiceAccount:n/ci']),
      fleetBinding('foreign', 'ClusterRole/r', ['User:system:cluster:dev:serviceaccount:n:ci'], {
        clusters: 'env=prod',
      }),
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
