import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PathQuestion, ResourceQuestion } from '../../src/api/authorization.ts';
import type { Caller } from '../../src/api/caller.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { plainDecide } from '../../src/authz/plain-evaluator.ts';
import { account, ask, askCluster, binding, Fleet, person, type Rules, role } from '../../src/authz/rbac.fixture.ts';

/**
 * Random histories of roles, bindings and cluster labels. After each step the compiled policy, which is updated change
 * by change, must decide as an evaluator that reads all objects.
 */

const CLUSTERS = ['a', 'b', 'c'];
const NAMESPACES = ['n1', 'n2'];
const ROLE_NAMES = ['r1', 'r2', 'r3', 'r4'];
const VERBS = ['get', 'list', 'watch', 'update'] as const;

const CALLERS: readonly Caller[] = [
  person('u1'),
  person('u2', 'g1'),
  person('u3', 'g1', 'g2', 'system:authenticated'),
  person('root', 'system:masters'),
  account('a', 'n1', 's1'),
  account('b', 'n1', 's1'),
  // An account of a cluster that is not registered, without a binding.
  account('gone', 'n2', 's2'),
];

const QUESTIONS: readonly (ResourceQuestion | PathQuestion)[] = [
  ...[...CLUSTERS, 'gone'].flatMap((name) => VERBS.map((verb) => askCluster(verb, name))),
  ask({ verb: 'create', group: 'clusterregistry.k8s.io', resource: 'clusters' }),
  ...[undefined, ...CLUSTERS, 'gone'].flatMap((cluster) =>
    ['', ...NAMESPACES].flatMap((namespace) => [
      ask({ verb: 'get', namespace, cluster }),
      ask({ verb: 'get', namespace, name: 'a', cluster }),
      ask({ verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace, name: 'a', cluster }),
    ]),
  ),
  { verb: 'get', path: '/apis' },
  { verb: 'get', path: '/apis/x' },
];

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items], { minLength: 1 });

const resourceRule: fc.Arbitrary<Rules[number]> = fc.record({
  verbs: some(['get', 'list', 'watch', 'update', 'create', '*']),
  apiGroups: some(['', 'clusterregistry.k8s.io', '*']),
  resources: some([
    'clusters',
    'pods',
    'serviceaccounts',
    'serviceaccounts/token',
    '*/token',
    'serviceaccounts/*',
    '*',
  ]),
  resourceNames: fc.oneof(fc.constant<string[]>([]), some(['a', 'b', 'zz'])),
});

const pathRule: fc.Arbitrary<Rules[number]> = fc.record({
  verbs: some(['get', '*']),
  nonResourceURLs: some(['/apis', '/apis/*', '*', '/x']),
});

const rule = fc.oneof({ weight: 6, arbitrary: resourceRule }, { weight: 1, arbitrary: pathRule });

const roleLabels = fc.option(fc.constantFrom({ agg: 'x' }, { agg: 'y' }, { agg: 'x', more: '1' }), { nil: undefined });
const selector = fc.constantFrom<unknown>(
  { matchLabels: { agg: 'x' } },
  { matchExpressions: [{ key: 'agg', operator: 'In', values: ['x', 'y'] }] },
  { matchExpressions: [{ key: 'agg', operator: 'DoesNotExist' }] },
  { matchExpressions: [{ key: 'agg', operator: 'Nonsense' }] },
  {},
);

const clusterRole = fc
  .record({
    name: fc.constantFrom(...ROLE_NAMES),
    rules: fc.array(rule, { maxLength: 3 }),
    labels: roleLabels,
    aggregate: fc.option(fc.array(selector, { maxLength: 2 }), { nil: undefined, freq: 3 }),
  })
  .map(({ name, rules, labels, aggregate }) =>
    role(name, rules, { ...(labels && { labels }), ...(aggregate && { aggregate }) }),
  );

const namespacedRole = fc
  .record({
    name: fc.constantFrom(...ROLE_NAMES),
    namespace: fc.constantFrom(...NAMESPACES),
    rules: fc.array(rule, { maxLength: 2 }),
  })
  .map(({ name, namespace, rules }) => role(name, rules, { namespace }));

const subjects = fc.array(
  fc.constantFrom(
    'User:u1',
    'User:u2',
    'Group:g1',
    'Group:g2',
    'Group:system:authenticated',
    'Group:system:serviceaccounts:n1',
    'Group:system:cluster:a:serviceaccounts',
    'ServiceAccount:n1/s1',
    'ServiceAccount:/s1',
    'ServiceAccount:n2/s2',
    'User:system:cluster:a:serviceaccount:n1:s1',
    'User:system:serviceaccount:n1:s1',
  ),
  { maxLength: 3 },
);

const clusterSelector = fc.option(
  fc.constantFrom(
    'env=prod',
    'env in (prod,dev)',
    'env==prod,tier=1',
    'env!=prod',
    'env',
    '!env',
    'env notin (dev)',
    'kubernetes.io/metadata.name=a',
    'kubernetes.io/metadata.name in (a,b),env=prod',
    'kubernetes.io/metadata.name!=a',
    'kubernetes.io/metadata.name=gone',
    '',
    'this is (no selector',
  ),
  { nil: undefined },
);

const roleBinding = fc
  .record({
    name: fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5'),
    namespace: fc.option(fc.constantFrom(...NAMESPACES), { nil: undefined }),
    kind: fc.constantFrom('ClusterRole', 'ClusterRole', 'Role', 'Strange'),
    target: fc.constantFrom(...ROLE_NAMES, 'missing'),
    subjects,
    clusters: clusterSelector,
  })
  .map(({ name, namespace, kind, target, subjects: who, clusters }) =>
    binding(name, `${kind}/${target}`, who, {
      ...(namespace !== undefined && { namespace }),
      ...(clusters !== undefined && { clusters }),
    }),
  );

type Step =
  | { put: ApiObject }
  /** Takes everything but name and subjects from `like`: an update tests what the policy derives from an object. */
  | { edit: number; like: ApiObject }
  | { remove: ApiObject }
  | { cluster: string; labels: Record<string, string> | undefined };

const anyObject = fc.oneof(
  { weight: 3, arbitrary: clusterRole },
  { weight: 1, arbitrary: namespacedRole },
  { weight: 4, arbitrary: roleBinding },
);

const relabelled: fc.Arbitrary<Step> = fc.record({
  cluster: fc.constantFrom(...CLUSTERS),
  labels: fc.option(
    fc.constantFrom<Record<string, string>>(
      {},
      { env: 'prod' },
      { env: 'prod', tier: '1' },
      { env: 'dev' },
      // A cluster with the name label of another.
      { 'kubernetes.io/metadata.name': 'a', env: 'dev' },
    ),
    { nil: undefined },
  ),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: anyObject.map((put) => ({ put })) },
  { weight: 4, arbitrary: fc.record({ edit: fc.nat(), like: anyObject }) },
  { weight: 2, arbitrary: anyObject.map((remove) => ({ remove })) },
  { weight: 2, arbitrary: relabelled },
);

/** So many roles for one subject that the policy uses an index. */
function crowd(fleet: Fleet): void {
  for (let i = 0; i < 20; i++) {
    fleet.put(role(`crowd${i}`, [{ verbs: ['get'], apiGroups: ['x'], resources: [`r${i}`], resourceNames: ['a'] }]));
    fleet.put(binding(`crowd-${i}`, `ClusterRole/crowd${i}`, ['User:u1', 'Group:g1', 'ServiceAccount:n1/s1']));
    fleet.put(binding(`crowd-env-${i}`, `ClusterRole/crowd${i}`, ['User:u1', 'Group:g1'], { clusters: 'env=prod' }));
    fleet.put(binding(`crowd-n1-${i}`, `ClusterRole/crowd${i}`, ['User:u1'], { namespace: 'n1' }));
  }
}

function edit(fleet: Fleet, index: number, like: ApiObject): void {
  const alike = fleet.objects().filter(({ kind }) => kind === like.kind);
  const old = alike[index % alike.length];
  if (old === undefined) return;
  const { name, namespace } = old.metadata;
  fleet.put({
    ...like,
    metadata: { ...like.metadata, ...(name !== undefined && { name }), ...(namespace !== undefined && { namespace }) },
    ...(old.subjects !== undefined && { subjects: old.subjects }),
  });
}

function take(fleet: Fleet, change: Step): void {
  if ('put' in change) fleet.put(change.put);
  else if ('edit' in change) edit(fleet, change.edit, change.like);
  else if ('remove' in change) fleet.remove(change.remove);
  else if (change.labels === undefined) fleet.clusters.delete(change.cluster);
  else fleet.clusters.set(change.cluster, change.labels);
}

const histories = fc.array(step, { minLength: 1, maxLength: 14 });
/** Rare, because the plain evaluator is slow. */
const crowded = fc.constantFrom(false, false, false, true);

/** All questions after the last step, some after the others. */
const sample = fc.subarray([...QUESTIONS], { minLength: 8, maxLength: 12 });

const print = (value: unknown): string => JSON.stringify(value);

describe('compiled policy', () => {
  it('P-10..P-19: decides as the plain evaluator does, after every change', () => {
    fc.assert(
      fc.property(histories, crowded, sample, (history, isCrowded, questions) => {
        const fleet = new Fleet({ maxRules: 3, maxIdleSubjects: 2 });
        if (isCrowded) crowd(fleet);
        for (const change of history) {
          take(fleet, change);
          for (const caller of CALLERS) {
            for (const question of change === history.at(-1) ? QUESTIONS : questions) {
              const model = plainDecide(fleet.snapshot(), (name) => fleet.clusters.get(name), caller, question);
              const decision =
                'path' in question ? fleet.policy.decidePath(caller, question) : fleet.policy.decide(caller, question);
              const kind = decision.binding?.split('/')[0];
              const agrees =
                decision.allowed === model.allowed &&
                decision.reason === model.reason &&
                // P-10: a RoleBinding is named only when no ClusterRoleBinding allows it.
                kind === model.binding?.split('/')[0] &&
                (decision.binding === undefined || model.bindings.includes(decision.binding));
              if (!agrees) expect(decision, print([caller.key, question])).toEqual(model);
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('A7: whoever asks the same again is told what holds now, whatever changed in between', () => {
    const everything = role('all', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);
    const bound = roleBinding.map((each) => ({ ...each, roleRef: { ...(each.roleRef as object), name: 'all' } }));
    const change: fc.Arbitrary<Step> = fc.oneof(
      { weight: 2, arbitrary: bound.map((put) => ({ put })) },
      { weight: 1, arbitrary: bound.map((remove) => ({ remove })) },
      { weight: 4, arbitrary: relabelled },
    );
    const asked = CLUSTERS.flatMap((name) => [
      askCluster('get', name),
      ask({ verb: 'get', namespace: 'n1', cluster: name }),
    ]);
    fc.assert(
      fc.property(fc.array(change, { minLength: 2, maxLength: 20 }), (history) => {
        const fleet = new Fleet().put(everything);
        for (const each of history) {
          take(fleet, each);
          for (const caller of CALLERS) {
            for (const question of asked) {
              const model = plainDecide(fleet.snapshot(), (name) => fleet.clusters.get(name), caller, question);
              expect(fleet.policy.decide(caller, question).allowed).toBe(model.allowed);
            }
          }
        }
      }),
    );
  });

  it('the rule of a caller admits exactly the clusters that decisions allow, now and at past revisions', () => {
    fc.assert(
      fc.property(histories, crowded, (history, isCrowded) => {
        const fleet = new Fleet({ maxRules: 3, maxIdleSubjects: 2 });
        if (isCrowded) crowd(fleet);
        const past: { revision: number; rules: unknown[] }[] = [];
        for (const change of history) {
          const before = CALLERS.map((caller) => fleet.policy.changedAt(caller));
          const rulesBefore = CALLERS.map((caller) => VERBS.map((verb) => fleet.policy.ruleFor(caller, verb)));
          take(fleet, change);
          CALLERS.forEach((caller, index) => {
            const changedAt = fleet.policy.changedAt(caller);
            expect(changedAt).toBeGreaterThanOrEqual(before[index] ?? 0);
            expect(changedAt).toBeLessThanOrEqual(fleet.revision);
            VERBS.forEach((verb, at) => {
              const rule = fleet.policy.ruleFor(caller, verb);
              expect(fleet.policy.ruleFor(caller, verb)).toBe(rule);
              if (rule !== rulesBefore[index]?.[at]) expect(changedAt, 'a rule changed').toBe(fleet.revision);
              for (const [name, labels] of fleet.clusters) {
                const labelsOf = (cluster: string) => fleet.clusters.get(cluster);
                const model = plainDecide(fleet.snapshot(), labelsOf, caller, askCluster(verb, name)).allowed;
                expect(rule.admits(name, labels), print([caller.key, verb, name, labels])).toBe(model);
                if (rule.all) expect(model).toBe(true);
                if (rule.none) expect(model).toBe(false);
                if (model && rule.candidates !== undefined) {
                  const byLabel = rule.candidates.labels.some(({ key, value }) => labels[key] === value);
                  expect(byLabel || rule.candidates.names.includes(name)).toBe(true);
                }
              }
            });
          });
          past.push({
            revision: fleet.revision,
            rules: CALLERS.flatMap((caller) => VERBS.map((verb) => fleet.policy.ruleFor(caller, verb))),
          });
        }
        for (const { revision, rules } of past) {
          const again = CALLERS.flatMap((caller) => VERBS.map((verb) => fleet.policy.ruleAt(caller, verb, revision)));
          expect(again.every((rule, index) => rule === rules[index])).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('after all objects are deleted, only system:masters may do anything', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 20 }), (objects) => {
        const fleet = new Fleet({ maxIdleSubjects: 1 });
        for (const name of CLUSTERS) fleet.clusters.set(name, { env: 'prod' });
        fleet.put(...objects).remove(...objects.toReversed());
        for (const caller of CALLERS) {
          const isMaster = caller.as(undefined).groups.includes('system:masters');
          expect(fleet.policy.ruleFor(caller, 'list')[isMaster ? 'all' : 'none']).toBe(true);
          for (const question of QUESTIONS) {
            if ('path' in question) continue;
            expect(fleet.policy.decide(caller, question)).toEqual({ allowed: isMaster, reason: '' });
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
