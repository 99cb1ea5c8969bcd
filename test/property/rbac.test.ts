import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PathQuestion, ResourceQuestion } from '../../src/api/authorization.ts';
import type { Caller } from '../../src/api/caller.ts';
import type { Decision } from '../../src/api/decision.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import type { VisibilityRule } from '../../src/api/visibility.ts';
import { bindingId } from '../../src/authz/policy/binding-facts.ts';
import { clusterRule } from '../../src/authz/policy/cluster-rule.ts';
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
} from '../../src/authz/policy/rbac.fixture.ts';
import { referenceDecide, referenceRuleSource } from '../../src/authz/policy/reference-evaluator.fixture.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';

/**
 * Random histories of roles, bindings and cluster labels. After each change the compiled policy, which is updated by
 * one change at a time and caches rules, must agree with the reference evaluator, which scans all objects. Every
 * question is asked several times between two changes, so an entry of a cache that outlives its change is found.
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
  { ...askCluster('create', 'a'), subresource: 'userpass' },
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

const clusterSelector = fc.constantFrom(
  'env=prod',
  'env in (prod,dev)',
  'env==prod,tier=1',
  'env!=prod',
  'env',
  '!env',
  'env notin (dev)',
  'kubernetes.io/metadata.name=a',
  'kubernetes.io/metadata.name in (a,b)',
  'kubernetes.io/metadata.name in (a,b),env=prod',
  'kubernetes.io/metadata.name!=a',
  'kubernetes.io/metadata.name=gone',
);

/** Between the ends of bindings. */
const TIMES = ['2026-11-16T17:59:00Z', '2026-11-16T18:00:00Z', '2026-11-16T18:01:00Z'].map((text) => Date.parse(text));

const absent = { nil: undefined };
const fleetExtras = fc
  .record(
    {
      clusters: fc.option(clusterSelector, absent),
      namespaces: fc.option(some(NAMESPACES), absent),
      expiresAt: fc.option(
        fc.constantFrom('2026-11-16T18:00:00Z', '2026-11-16T18:00:30Z', '2026-11-16T19:00:00Z', 'never'),
        { ...absent, freq: 2 },
      ),
      agents: fc.option(fc.constant('Allow'), absent),
      approval: fc.option(fc.constantFrom('ApproverAlways', 'Approver', 'Nobody'), { ...absent, freq: 3 }),
      maxPassSeconds: fc.option(fc.constantFrom(60, 120, 3_600, -1), { ...absent, freq: 3 }),
    },
    { requiredKeys: [] },
  )
  .map(
    (extras) => Object.fromEntries(Object.entries(extras).filter(([, value]) => value !== undefined)) as FleetExtras,
  );

/** What another writer of the store could have written. */
const odd = fc.constantFrom<unknown>(
  undefined,
  {},
  { all: false },
  { names: [] },
  { selector: {} },
  { all: true, names: ['a'] },
);

const bindingNames = fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5');
const roleTarget = fc
  .tuple(fc.constantFrom('ClusterRole', 'ClusterRole', 'Role', 'Strange'), fc.constantFrom(...ROLE_NAMES, 'missing'))
  .map(([kind, target]) => `${kind}/${target}`);

const plainBinding = fc
  .tuple(bindingNames, fc.option(fc.constantFrom(...NAMESPACES), absent), roleTarget, subjects)
  .map(([name, namespace, target, who]) =>
    binding(name, target, who, { ...(namespace !== undefined && { namespace }) }),
  );

const anyFleetBinding = fc
  .tuple(bindingNames, roleTarget, subjects, fleetExtras, fc.option(odd, { freq: 8, nil: 'none' }))
  .map(([name, target, who, extras, clusters]) => {
    const object = fleetBinding(name, target, who, extras);
    return clusters === 'none' ? object : { ...object, spec: { ...(object.spec as object), clusters } };
  });

const roleBinding = fc.oneof({ weight: 2, arbitrary: plainBinding }, { weight: 3, arbitrary: anyFleetBinding });

type Step =
  | { put: ApiObject }
  /** Takes everything but name and subjects from `like`: only an edit of an existing object shows stale state of it. */
  | { edit: number; like: ApiObject }
  | { remove: ApiObject }
  | { cluster: string; labels: Record<string, string> | undefined }
  | { time: number };

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

/** The clock may also go back (B13). */
const passing: fc.Arbitrary<Step> = fc.constantFrom(...TIMES).map((time) => ({ time }));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: anyObject.map((put) => ({ put })) },
  { weight: 4, arbitrary: fc.record({ edit: fc.nat(), like: anyObject }) },
  { weight: 2, arbitrary: anyObject.map((remove) => ({ remove })) },
  { weight: 2, arbitrary: relabelled },
  { weight: 1, arbitrary: passing },
);

/** So many roles for one subject that they are found through an index and not by a scan. */
function crowd(fleet: Fleet): void {
  for (let i = 0; i < 20; i++) {
    fleet.put(role(`crowd${i}`, [{ verbs: ['get'], apiGroups: ['x'], resources: [`r${i}`], resourceNames: ['a'] }]));
    fleet.put(binding(`crowd-${i}`, `ClusterRole/crowd${i}`, ['User:u1', 'Group:g1', 'ServiceAccount:n1/s1']));
    fleet.put(
      fleetBinding(`crowd-env-${i}`, `ClusterRole/crowd${i}`, ['User:u1', 'Group:g1'], { clusters: 'env=prod' }),
    );
    fleet.put(binding(`crowd-n1-${i}`, `ClusterRole/crowd${i}`, ['User:u1'], { namespace: 'n1' }));
  }
}

/** A fleet with a clock that tests set. */
class World extends Fleet {
  readonly clock: { now: number };

  constructor(options: ConstructorParameters<typeof Fleet>[0] = {}) {
    const clock = { now: TIMES[0] ?? 0 };
    super({ now: () => clock.now, ...options });
    this.clock = clock;
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
    ...(like.kind === 'FleetRoleBinding' && {
      spec: { ...(like.spec as object), subjects: (old.spec as { subjects?: unknown }).subjects },
    }),
  });
}

function take(fleet: World, change: Step): void {
  if ('time' in change) fleet.clock.now = change.time;
  else if ('put' in change) fleet.put(change.put);
  else if ('edit' in change) edit(fleet, change.edit, change.like);
  else if ('remove' in change) fleet.remove(change.remove);
  else if (change.labels === undefined) fleet.clusters.delete(change.cluster);
  else fleet.clusters.set(change.cluster, change.labels);
}

const histories = fc.array(step, { minLength: 1, maxLength: 14 });
/** Seldom, because the reference evaluator is slow. */
const crowded = fc.constantFrom(false, false, false, true);

/** After the last change all questions are asked, before it some. */
const sample = fc.subarray([...QUESTIONS], { minLength: 8, maxLength: 12 });

const print = (value: unknown): string => JSON.stringify(value);

/** `expect` with the circumstances, made only for a difference: there are some hundred thousand comparisons. */
function same<T extends boolean | string>(actual: T, model: T, circumstances: () => unknown): void {
  if (actual !== model) expect(actual, print(circumstances())).toBe(model);
}

type Question = ResourceQuestion | PathQuestion;

const decide = ({ policy }: Fleet, caller: Caller, question: Question): Decision =>
  'path' in question ? policy.decidePath(caller, question) : policy.decide(caller, question);

/** When the longest pass ends that the decision allows. */
const passEnd = ({ passBounds }: Decision, now: number): number =>
  passBounds === undefined
    ? Number.POSITIVE_INFINITY
    : Math.min(passBounds.expiresAt, now + passBounds.maxPassSeconds * 1000);

/** Asked with the same objects, then with a copy: an answer must not depend on the identity of a question. */
function expectAgreement(fleet: World, caller: Caller, question: Question): void {
  const model = referenceDecide(
    fleet.snapshot(),
    (name) => fleet.clusters.get(name),
    caller,
    question,
    fleet.clock.now,
  );
  for (const asked of [question, question, { ...question }]) {
    const decision = decide(fleet, caller, asked);
    const agrees =
      decision.allowed === model.allowed &&
      decision.reason === model.reason &&
      passEnd(decision, fleet.clock.now) === passEnd(model, fleet.clock.now) &&
      (decision.binding === undefined || model.bindings.includes(decision.binding));
    if (!agrees) expect(decision, print([caller.key, question])).toEqual(model);
  }
}

/** Who can: for each caller, the bindings that are found are those by which the reference evaluator allows it. */
function expectSameHolders(fleet: World, question: Question): void {
  const grants = [...fleet.policy.grantsOf(question, { isKnown: true })].filter((grant) => grant !== undefined);
  const cluster = 'path' in question ? undefined : question.cluster;
  for (const caller of CALLERS) {
    const { name, groups } = caller.as(cluster);
    if (groups.includes('system:masters')) continue;
    const holds = grants.filter(
      ({ subjects: named, resourceNames }) =>
        // A question without a name also finds who may for some names.
        resourceNames === undefined &&
        named.some((subject) => (subject.kind === 'user' ? subject.name === name : groups.includes(subject.name))),
    );
    const found = holds.flatMap(({ grant }) => (grant === undefined ? [] : [bindingId(grant)])).sort();
    const { bindings } = referenceDecide(
      fleet.snapshot(),
      (each) => fleet.clusters.get(each),
      caller,
      question,
      fleet.clock.now,
    );
    if (print(found) !== print([...bindings].sort())) expect(found, print([caller.key, question])).toEqual(bindings);
  }
}

/** The rule that the reference evaluator gives, without any cache. */
const referenceRule = (fleet: World, caller: Caller, verb: (typeof VERBS)[number]): VisibilityRule =>
  clusterRule(referenceRuleSource(fleet.snapshot(), caller, verb, fleet.clock.now));

/** Histories of roles and bindings that grant clusters and nothing else: nearly every change changes a rule. */
const visibilityRole = fc
  .record({ name: fc.constantFrom('r1', 'r2'), verbs: some([...VERBS, '*']), names: some(['a', 'b', 'c']) })
  .map(({ name, verbs, names }) =>
    role(name, [{ verbs, apiGroups: ['*'], resources: ['clusters'], resourceNames: names.length === 3 ? [] : names }]),
  );
const visibilityBinding = fc
  .tuple(fc.constantFrom('b1', 'b2', 'b3'), fc.constantFrom('r1', 'r2'), subjects, fleetExtras)
  .map(([name, target, who, extras]) => fleetBinding(name, `ClusterRole/${target}`, who, extras));
const visibilityHistories = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: visibilityRole.map((put): Step => ({ put })) },
    { weight: 3, arbitrary: visibilityBinding.map((put): Step => ({ put })) },
    { weight: 1, arbitrary: visibilityBinding.map((remove): Step => ({ remove })) },
    { weight: 1, arbitrary: passing },
  ),
  { minLength: 4, maxLength: 16 },
);

/** Large enough for all rules of a history, or so small that nearly every rule is evicted before it is used again. */
const cacheSize = fc.constantFrom(3, 1_000);

/** Everything is bound, to random subjects and clusters: nearly every change changes a decision. */
const everything = role('all', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);
const ofAll = (roleRef: unknown) => ({ ...(roleRef as object), name: 'all' });
const bound = roleBinding.map((each) =>
  each.kind === 'FleetRoleBinding'
    ? { ...each, spec: { ...(each.spec as object), roleRef: ofAll((each.spec as { roleRef?: unknown }).roleRef) } }
    : { ...each, roleRef: ofAll(each.roleRef) },
);
const decisiveChange: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: bound.map((put) => ({ put })) },
  { weight: 1, arbitrary: bound.map((remove) => ({ remove })) },
  { weight: 4, arbitrary: relabelled },
);

describe('compiled policy', () => {
  it('P-10, P-12, P-13, P-15, P-16, P-17, P-18, P-19: decides as the reference evaluator does, after every change', () => {
    fc.assert(
      fc.property(histories, crowded, sample, (history, isCrowded, questions) => {
        const fleet = new World({ maxRules: 3, maxIdleSubjects: 2 });
        if (isCrowded) crowd(fleet);
        for (const change of history) {
          take(fleet, change);
          for (const caller of CALLERS) {
            for (const question of change === history.at(-1) ? QUESTIONS : questions) {
              expectAgreement(fleet, caller, question);
            }
          }
        }
      }),
      propertyRuns(15, 600),
    );
  });

  it('finds the same subjects that may do something as a decision for each of them', () => {
    fc.assert(
      fc.property(histories, crowded, (history, isCrowded) => {
        const fleet = new World();
        if (isCrowded) crowd(fleet);
        for (const change of history) take(fleet, change);
        for (const question of QUESTIONS) expectSameHolders(fleet, question);
      }),
      propertyRuns(15, 600),
    );
  });

  it('A7: follows every change of bindings and labels, for a caller who repeats one question', () => {
    const asked = CLUSTERS.flatMap((name) => [
      askCluster('get', name),
      ask({ verb: 'get', namespace: 'n1', cluster: name }),
    ]);
    fc.assert(
      fc.property(fc.array(decisiveChange, { minLength: 2, maxLength: 20 }), (history) => {
        const fleet = new World().put(everything);
        for (const each of history) {
          take(fleet, each);
          for (const caller of CALLERS) for (const question of asked) expectAgreement(fleet, caller, question);
        }
      }),
      propertyRuns(40, 600),
    );
  });

  it('the rule of a caller admits exactly the clusters that decisions allow', () => {
    fc.assert(
      fc.property(histories, crowded, cacheSize, (history, isCrowded, maxRules) => {
        const fleet = new World({ maxRules, maxIdleSubjects: 2 });
        if (isCrowded) crowd(fleet);
        for (const change of history) {
          const rulesBefore = CALLERS.map((caller) => VERBS.map((verb) => fleet.policy.ruleFor(caller, verb)));
          take(fleet, change);
          CALLERS.forEach((caller, index) => {
            const changedAt = fleet.policy.changedAt(caller);
            expect(changedAt <= fleet.revision || changedAt === Number.POSITIVE_INFINITY).toBe(true);
            VERBS.forEach((verb, at) => {
              const rule = fleet.policy.ruleFor(caller, verb);
              if (rule.fingerprint !== rulesBefore[index]?.[at]?.fingerprint && !('time' in change)) {
                expect(changedAt, 'a rule changed').toBeGreaterThanOrEqual(fleet.revision);
              }
              for (const [name, labels] of fleet.clusters) {
                const labelsOf = (cluster: string) => fleet.clusters.get(cluster);
                const question = askCluster(verb, name);
                const { now } = fleet.clock;
                const model = referenceDecide(fleet.snapshot(), labelsOf, caller, question, now).allowed;
                same(rule.admits(name, labels), model, () => [caller.key, verb, name, labels]);
                if (rule.all) expect(model).toBe(true);
                if (rule.none) expect(model).toBe(false);
                if (model && rule.candidates !== undefined) {
                  const byLabel = rule.candidates.labels.some(({ key, value }) => labels[key] === value);
                  expect(byLabel || rule.candidates.names.includes(name)).toBe(true);
                }
              }
            });
          });
        }
      }),
      propertyRuns(15, 600),
    );
  });

  it('cached rules are those that the reference evaluator computes', () => {
    fc.assert(
      fc.property(visibilityHistories, cacheSize, (history, maxRules) => {
        const fleet = new World({ maxRules, maxIdleSubjects: 2 });
        for (const change of history) {
          take(fleet, change);
          for (const caller of [...CALLERS, ...CALLERS]) {
            for (const verb of VERBS) {
              const { fingerprint } = referenceRule(fleet, caller, verb);
              same(fleet.policy.ruleFor(caller, verb).fingerprint, fingerprint, () => [caller.key, verb]);
            }
          }
        }
      }),
      propertyRuns(15, 600),
    );
  });

  it('allows only system:masters once every role and binding is removed', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 20 }), (objects) => {
        const fleet = new World({ maxIdleSubjects: 1 });
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
      propertyRuns(15, 600),
    );
  });
});
