import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import { refusalIfAny } from '../../api/refusal.fixture.ts';
import {
  account,
  binding,
  Fleet,
  type FleetExtras,
  fleetBinding,
  person,
  type Rules,
  role,
} from '../policy/rbac.fixture.ts';
import { MAX_PARTS } from './covers.ts';
import { checkGrant } from './escalation.ts';

const jane = person('jane', 'a', 'b');
const getPods: Rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
const listPods: Rules = [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }];

const catalog = createCatalog({ productName: 'orchestrator' });

/** The message of the refusal when the caller writes this object; undefined when it may. */
function writing(fleet: Fleet, object: ApiObject, old?: ApiObject, caller = jane): string | undefined {
  const kind = catalog.findKind(object.apiVersion, object.kind);
  if (kind === undefined) throw new Error(`no such kind: ${object.kind}`);
  return refusalIfAny(() => checkGrant(fleet.policy, caller, kind, object, old))?.message;
}

const holding = (rules: Rules, clusters?: string): Fleet =>
  new Fleet().put(
    role('own', rules),
    fleetBinding('own', 'ClusterRole/own', ['User:jane'], clusters === undefined ? {} : { clusters }),
  );

describe('roles', () => {
  it('may hold what the writer holds and no more; the refusal says what is missing', () => {
    const fleet = holding(getPods);
    expect(writing(fleet, role('new', getPods))).toBeUndefined();
    const refused = writing(
      fleet,
      role('new', [
        { verbs: ['list', 'get', 'watch'], apiGroups: [''], resources: ['pods', 'secrets'] },
        { verbs: ['get'], nonResourceURLs: ['/x'] },
      ]),
    );
    expect(refused).toBe(
      'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "jane" (groups=["a" "b"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["list" "get" "watch"]}\n' +
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    );
  });

  it.each<[string, Rules[number], Rules[number], boolean]>([
    [
      'wildcards',
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], apiGroups: [''], resources: ['a/b'] },
      true,
    ],
    [
      'a wildcard by words',
      { verbs: ['get'], apiGroups: [''], resources: ['a'] },
      { verbs: ['get'], apiGroups: [''], resources: ['*'] },
      false,
    ],
    [
      '*/token',
      { verbs: ['create'], apiGroups: [''], resources: ['*/token'] },
      { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
      true,
    ],
    [
      'a name',
      { verbs: ['get'], apiGroups: [''], resources: ['a'] },
      { verbs: ['get'], apiGroups: [''], resources: ['a'], resourceNames: ['x'] },
      true,
    ],
    [
      'all names by one',
      { verbs: ['get'], apiGroups: [''], resources: ['a'], resourceNames: ['x'] },
      { verbs: ['get'], apiGroups: [''], resources: ['a'] },
      false,
    ],
    [
      'a path',
      { verbs: ['get'], nonResourceURLs: ['/a/*'] },
      { verbs: ['get'], nonResourceURLs: ['/a/b', '/a/c/*'] },
      true,
    ],
    ['a wider path', { verbs: ['get'], nonResourceURLs: ['/a/*'] }, { verbs: ['get'], nonResourceURLs: ['*'] }, false],
  ])('are covered: %s', (_, held, wanted, covered) => {
    expect(writing(holding([held]), role('new', [wanted])) === undefined).toBe(covered);
  });

  it('are covered by several rules together', () => {
    const both: Rules = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }];
    expect(writing(holding([...getPods, ...listPods]), role('new', both))).toBeUndefined();
  });

  it('count in their namespace', () => {
    const fleet = new Fleet().put(
      role('own', getPods, { namespace: 'n' }),
      binding('own', 'Role/own', ['User:jane'], { namespace: 'n' }),
    );
    expect(writing(fleet, role('new', getPods, { namespace: 'n' }))).toBeUndefined();
    expect(writing(fleet, role('new', getPods, { namespace: 'm' }))).toContain('not currently held');
    expect(writing(fleet, role('new', getPods))).toContain('not currently held');
  });

  it('cannot be made from what is held in some clusters, or at home', () => {
    expect(writing(holding(getPods, 'env=dev'), role('new', getPods))).toContain('not currently held');
    const local = new Fleet().put(role('own', getPods), binding('b', 'ClusterRole/own', ['ServiceAccount:n/ci']));
    expect(writing(local, role('new', getPods), undefined, account('c', 'n', 'ci'))).toContain('not currently held');
  });

  it('may be anything for system:masters and with the verb escalate', () => {
    const escalate = (resourceNames: string[]): Fleet =>
      holding([
        { verbs: ['escalate'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], resourceNames },
      ]);
    expect(writing(escalate([]), role('new', getPods))).toBeUndefined();
    // On create there is no name to match.
    expect(writing(escalate(['new']), role('new', getPods))).toContain('not currently held');
    expect(writing(escalate(['new']), role('new', getPods), role('new', []))).toBeUndefined();
    expect(writing(escalate(['other']), role('new', getPods), role('new', []))).toContain('not currently held');
    expect(writing(new Fleet(), role('new', getPods), undefined, person('x', 'system:masters'))).toBeUndefined();
  });

  it('aggregate only if the caller holds everything, before and after', () => {
    const whole: Rules = [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ];
    const aggregating = role('new', [], { aggregate: [{ matchLabels: { a: 'b' } }] });
    const why = 'must have cluster-admin privileges to use the aggregationRule';
    expect(writing(holding(getPods), aggregating)).toContain(why);
    expect(writing(holding(getPods), role('new', []), aggregating)).toContain(why);
    expect(writing(holding(whole), aggregating)).toBeUndefined();
  });

  it('may get other finalizers and owners from a caller who could not create them', () => {
    const old = role('new', getPods);
    const tidied = { ...old, metadata: { ...old.metadata, finalizers: ['x'], resourceVersion: '7' } };
    expect(writing(new Fleet(), tidied, old)).toBeUndefined();
    const labelled = { ...old, metadata: { ...old.metadata, labels: { to: 'admin' } } };
    expect(writing(new Fleet(), labelled, old)).toContain('not currently held');
  });

  it('with more parts than can be compared are refused, unless one rule covers them at once', () => {
    const many = Array.from({ length: MAX_PARTS + 1 }, (_, index) => `r${index}`);
    const huge: Rules = [{ verbs: many, apiGroups: many, resources: many, resourceNames: many }];
    expect(writing(holding(getPods), role('new', huge))).toContain(
      'more RBAC permissions at once than can be compared',
    );
    expect(writing(holding([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]), role('new', huge))).toBeUndefined();
    const long = writing(
      holding(getPods),
      role('new', [{ verbs: ['get'], apiGroups: ['g'], resources: many.slice(1) }]),
    );
    expect(long?.endsWith(`and ${MAX_PARTS - 100} more`)).toBe(true);
  });

  it('that would have to be compared with too many held rules are refused, unless the caller holds everything', () => {
    const rules = (count: number, prefix: string): Rules =>
      Array.from({ length: count }, (_, index) => ({
        verbs: ['get', `${prefix}${index}`],
        apiGroups: ['g'],
        resources: ['r'],
        resourceNames: ['n', 'm'],
      }));
    const wanted: Rules = Array.from({ length: 100 }, (_, index) => ({
      verbs: ['get'],
      apiGroups: ['g'],
      resources: ['r', index % 2 === 0 ? 'r' : 'r/s'],
      resourceNames: ['n', 'm', 'n'],
    }));
    const held = rules(20_000, 'held').map((rule) => ({ ...rule, resources: ['r', '*/s'], apiGroups: ['g', 'x'] }));
    expect(writing(holding(held), role('new', wanted))).toContain('more RBAC permissions at once than can be compared');
    const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    expect(writing(holding([...held, everything]), role('new', wanted))).toBeUndefined();
  });
});

describe('bindings', () => {
  const stronger = (fleet: Fleet): Fleet => fleet.put(role('strong', listPods), role('same', getPods));

  it('may refer to roles that grant what the writer holds', () => {
    const fleet = stronger(holding(getPods));
    expect(writing(fleet, binding('new', 'ClusterRole/same', ['User:x']))).toBeUndefined();
    expect(writing(fleet, binding('new', 'ClusterRole/strong', ['User:x']))).toBe(
      'clusterrolebindings.rbac.authorization.k8s.io "new" is forbidden: user "jane" (groups=["a" "b"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
    );
    expect(writing(fleet, binding('new', 'ClusterRole/none', ['User:x']))).toBe(
      'clusterroles.rbac.authorization.k8s.io "none" not found',
    );
  });

  it('see through aggregation', () => {
    const fleet = stronger(holding(getPods)).put(
      role('whole', [], { aggregate: [{ matchLabels: { to: 'whole' } }] }),
      role('part', listPods, { labels: { to: 'whole' } }),
    );
    expect(writing(fleet, binding('new', 'ClusterRole/whole', ['User:x']))).toContain('Verbs:["list"]');
  });

  it('may refer to any role that the writer may bind there', () => {
    const may = (resourceNames: string[]): Rules => [
      { verbs: ['bind'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], resourceNames },
    ];
    const strong = binding('new', 'ClusterRole/strong', ['User:x']);
    expect(writing(stronger(holding(may(['strong']))), strong)).toBeUndefined();
    expect(writing(stronger(holding(may(['same']))), strong)).toContain('not currently held');
    const local = stronger(new Fleet()).put(
      role('binder', may([])),
      binding('b', 'ClusterRole/binder', ['User:jane'], { namespace: 'n' }),
    );
    expect(writing(local, binding('new', 'ClusterRole/strong', ['User:x'], { namespace: 'n' }))).toBeUndefined();
    expect(writing(local, binding('new', 'ClusterRole/strong', ['User:x'], { namespace: 'm' }))).toBeDefined();
    expect(writing(local, strong)).toBeDefined();
    // A binding restricted to clusters does not count for the fleet's own objects.
    expect(writing(stronger(holding(may([]), 'env=dev')), strong)).toBeDefined();
  });

  it('may be restricted as the writer is, and not otherwise', () => {
    const fleet = stronger(holding(getPods, 'env=dev,tier'));
    const to = (clusters?: string): string | undefined =>
      writing(fleet, fleetBinding('new', 'ClusterRole/same', ['User:x'], clusters === undefined ? {} : { clusters }));
    expect(to('tier, env in (dev)')).toBeUndefined();
    expect(to()).toContain('not currently held');
    expect(to('env=dev')).toContain('not currently held');
    const free = stronger(holding(getPods));
    expect(writing(free, fleetBinding('new', 'ClusterRole/same', ['User:x'], { clusters: 'env=dev' }))).toBeUndefined();
  });

  it('cannot lose their restriction on update', () => {
    const fleet = stronger(holding(getPods, 'env=dev'));
    const old = fleetBinding('new', 'ClusterRole/same', ['User:x'], { clusters: 'env=dev' });
    const unreadable = { ...old, spec: { ...(old.spec as object), clusters: { selector: {} } } };
    expect(writing(fleet, old, old)).toBeUndefined();
    for (const wider of [fleetBinding('new', 'ClusterRole/same', ['User:x']), unreadable]) {
      expect(writing(fleet, wider, old)).toContain('not currently held');
    }
  });
});

describe('A31: roles and bindings of access requests', () => {
  const name = 'clusterpass:access-request:x';
  const held = () => holding(getPods).put(role(name, getPods));

  it('no binding waits for the role of another request of the same name', () => {
    const waiting = binding('mine', `ClusterRole/${name}`, ['User:jane']);
    expect(writing(held(), waiting)).toContain('belong to access requests: it needs the verb bind');
    const bind = [{ verbs: ['bind'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }];
    expect(writing(holding(bind).put(role(name, getPods)), waiting)).toBeUndefined();
  });

  it('neither is made before the approval, nor cut off from its request', () => {
    const fleet = held().put(binding(name, `ClusterRole/${name}`, ['User:jane']));
    const metadata = { name, ownerReferences: [] };
    for (const object of [role(name, getPods), binding(name, 'ClusterRole/own', ['User:jane'])]) {
      expect(writing(fleet, object)).toContain('belong to access requests');
      expect(writing(fleet, { ...object, metadata }, object)).toContain('belong to access requests');
      expect(writing(fleet, object, undefined, person('root', 'system:masters'))).toBeUndefined();
    }
  });

  it('what is held in some clusters, namespaces, until some time and for some passes is given on within them', () => {
    const to = (held: FleetExtras, given: FleetExtras, old?: FleetExtras): string | undefined =>
      writing(
        new Fleet().put(role('own', getPods), fleetBinding('own', 'ClusterRole/own', ['User:jane'], held)),
        fleetBinding('new', 'ClusterRole/own', ['User:x'], given),
        old && fleetBinding('new', 'ClusterRole/own', ['User:x'], old),
      );
    const refused = expect.stringContaining('not currently held');
    const clusters = 'kubernetes.io/metadata.name=c';
    const uid = 'uid-1';
    const expiresAt = '2126-11-16T18:00:00Z';
    const within: FleetExtras = { clusters: 'env=dev', namespaces: ['a', 'b'], expiresAt, maxPassSeconds: 900 };
    for (const given of [within, { ...within, namespaces: ['b'] }, { ...within, maxPassSeconds: 60 }]) {
      expect(to({}, given)).toBeUndefined();
      expect(to(within, given)).toBeUndefined();
    }
    const wider: FleetExtras[] = [
      { ...within, clusters: 'env in (dev,prod)' },
      { ...within, clusters: 'region=eu' },
      { ...within, clusters: 'kubernetes.io/metadata.name=c' },
      { ...within, namespaces: ['a', 'b', 'c'] },
      { ...within, expiresAt: '2126-11-16T18:00:01Z' },
      { ...within, maxPassSeconds: 901 },
    ];
    for (const given of wider) {
      expect(to(within, given), JSON.stringify(given)).toEqual(refused);
      // As a change of a binding that another user has made.
      expect(to(within, given, within), JSON.stringify(given)).toEqual(refused);
      expect(to(within, given, given)).toBeUndefined();
    }
    for (const field of ['clusters', 'namespaces', 'expiresAt', 'maxPassSeconds'] as const) {
      const { [field]: _, ...less } = within;
      expect(to(within, less, within), field).toEqual(refused);
    }
    expect(to({ clusters, uid }, { clusters, uid })).toBeUndefined();
    expect(to({ clusters }, { clusters, uid })).toBeUndefined();
    // Another cluster may get the name before the binding ends.
    expect(to({ clusters, uid }, { clusters })).toEqual(refused);
    expect(to({ clusters, uid }, { clusters, uid: 'uid-2' })).toEqual(refused);
  });
});
