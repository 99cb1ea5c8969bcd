import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResourceQuestion } from '../../src/api/authorization.ts';
import type { Caller } from '../../src/api/caller.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { refusalIfAny } from '../../src/api/refusal.fixture.ts';
import type { ClusterLabels } from '../../src/api/visibility.ts';
import { checkLabels } from '../../src/authz/admission/check-labels.ts';
import { readBinding } from '../../src/authz/policy/binding-facts.ts';
import { viewCluster } from '../../src/authz/policy/cluster-selector.ts';
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
import { readRules } from '../../src/authz/policy/rbac-objects.ts';
import { effectiveRules, referenceDecide } from '../../src/authz/policy/reference-evaluator.fixture.ts';
import type { Rule } from '../../src/authz/policy/rules.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';

/**
 * Random fleets, and a caller who creates or relabels one of their clusters. What the compiled policy answers is
 * compared with a model that scans all bindings and compares rules part by part, and with the decisions of the
 * reference evaluator before and after the write.
 */

const CLUSTER = 'a';
const NAMESPACES = ['n1', 'n2'];
const CLUSTERS_KIND = { group: 'clusterregistry.k8s.io', resource: 'clusters' };
const ENVIRONMENT = 'protected.clusterpass.dev/env';

const CALLERS: readonly Caller[] = [
  person('u1'),
  person('u2', 'g1'),
  person('root', 'system:masters'),
  account('a', 'n1', 's1'),
  account('b', 'n1', 's1'),
];

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items], { minLength: 1 });

const rules: fc.Arbitrary<Rules> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        verbs: some(['get', 'create', 'update', '*']),
        apiGroups: some(['', 'clusterregistry.k8s.io', '*']),
        resources: some(['pods', 'clusters', 'serviceaccounts/token', '*/token', '*']),
        resourceNames: fc.oneof(
          { weight: 3, arbitrary: fc.constant<string[]>([]) },
          { weight: 1, arbitrary: some(['a', 'b']) },
        ),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        verbs: some(['escalate', 'protect']),
        apiGroups: fc.constant<string[]>(['clusterregistry.k8s.io']),
        resources: fc.constant<string[]>(['clusters']),
        resourceNames: fc.constant<string[]>([]),
      }),
    },
    { weight: 1, arbitrary: fc.record({ verbs: some(['get']), nonResourceURLs: some(['/apis', '*']) }) },
  ),
  { minLength: 1, maxLength: 2 },
);

const clusterRole = fc
  .record({
    name: fc.constantFrom('r1', 'r2', 'r3'),
    rules,
    labels: fc.option(fc.constant({ agg: 'x' }), { nil: undefined }),
    isAggregate: fc.nat({ max: 5 }).map((number) => number === 0),
  })
  .map(({ name, rules: own, labels, isAggregate }) =>
    role(name, own, {
      ...(labels && { labels }),
      ...(isAggregate && { aggregate: [{ matchLabels: { agg: 'x' } }] }),
    }),
  );

const namespacedRole = fc
  .record({ name: fc.constantFrom('r1', 'r2'), namespace: fc.constantFrom(...NAMESPACES), rules })
  .map(({ name, namespace, rules: own }) => role(name, own, { namespace }));

const selector = fc.constantFrom(
  undefined,
  'env=prod',
  'env in (prod,dev)',
  'env=prod,tier=1',
  'env!=prod',
  'env',
  '!env',
  'env notin (dev)',
  `${ENVIRONMENT}=prod`,
  `!${ENVIRONMENT}`,
  'kubernetes.io/metadata.name=a',
  'kubernetes.io/metadata.name in (a,b),env=prod',
  'kubernetes.io/metadata.name!=b',
);

const roleBinding = fc
  .record({
    name: fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5', 'b6'),
    namespace: fc.option(fc.constantFrom(...NAMESPACES), { nil: undefined }),
    isWide: fc.boolean(),
    target: fc.constantFrom('ClusterRole/r1', 'ClusterRole/r2', 'ClusterRole/r3', 'Role/r1', 'ClusterRole/missing'),
    subjects: fc.subarray(['User:u1', 'User:u2', 'Group:g1', 'ServiceAccount:n1/s1', 'User:other']),
    clusters: selector,
    limits: fc.constantFrom<FleetExtras>({}, {}, { expiresAt: '2126-01-01T00:00:00Z' }, { maxPassSeconds: 900 }),
  })
  .map(({ name, namespace, isWide, target, subjects, clusters, limits }) =>
    clusters === undefined
      ? binding(name, target, subjects, { ...(namespace && { namespace }) })
      : fleetBinding(name, target, subjects, {
          ...(namespace && { namespaces: isWide ? [...NAMESPACES] : [namespace] }),
          clusters,
          ...limits,
        }),
  );

const labels: fc.Arbitrary<ClusterLabels> = fc.constantFrom<ClusterLabels>(
  {},
  { env: 'prod' },
  { env: 'dev' },
  { env: 'prod', tier: '1' },
  { tier: '1' },
  { [ENVIRONMENT]: 'prod' },
  { [ENVIRONMENT]: 'dev', env: 'dev' },
  { 'kubernetes.io/metadata.name': 'b' },
);

/** A writer who holds much of what bindings grant, without `escalate` and `protect`, and bindings of parts of it. */
const WIDE: readonly ApiObject[] = [
  role('wide', [
    {
      verbs: ['get', 'create', 'update'],
      apiGroups: ['', 'clusterregistry.k8s.io'],
      resources: ['pods', 'clusters', 'serviceaccounts/token', '*/token'],
    },
  ]),
  binding('wide', 'ClusterRole/wide', ['User:u1', 'ServiceAccount:n1/s1']),
  role('part', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]),
  fleetBinding('part-prod', 'ClusterRole/part', ['User:u2'], { clusters: 'env=prod' }),
  fleetBinding('part-none', 'ClusterRole/part', ['Group:g1'], { clusters: '!env', namespaces: ['n1'] }),
];

interface World {
  readonly objects: ApiObject[];
  readonly removed: ApiObject[];
  readonly before: ClusterLabels | undefined;
  readonly after: ClusterLabels;
}

const objectsOf = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: clusterRole },
    { weight: 1, arbitrary: namespacedRole },
    { weight: 5, arbitrary: roleBinding },
  ),
  { minLength: 4, maxLength: 16 },
);

const worlds: fc.Arbitrary<World> = fc.record({
  objects: fc.tuple(objectsOf, fc.boolean()).map(([objects, isWide]) => [...objects, ...(isWide ? WIDE : [])]),
  removed: fc.array(roleBinding, { maxLength: 2 }),
  before: fc.option(labels, { nil: undefined }),
  after: labels,
});

function fleetOf({ objects, removed, before }: World): Fleet {
  const fleet = new Fleet().put(...objects).remove(...removed);
  if (before !== undefined) fleet.clusters.set(CLUSTER, before);
  return fleet;
}

const cluster = (own: ClusterLabels): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: CLUSTER, labels: { ...own } },
});

const refusal = (fleet: Fleet, caller: Caller, { before, after }: World): string | undefined =>
  refusalIfAny(() => checkLabels(fleet.policy, caller, CLUSTERS_KIND, cluster(after), before && cluster(before)))
    ?.message;

type Allows = (caller: Caller, question: ResourceQuestion, own: ClusterLabels | undefined) => boolean;

/** Decides by the reference evaluator, for the objects of now. */
function referenceFor(fleet: Fleet): Allows {
  const snapshot = fleet.snapshot();
  return (caller, question, own) =>
    referenceDecide(snapshot, (name) => (name === CLUSTER ? own : fleet.clusters.get(name)), caller, question).allowed;
}

const QUESTIONS: readonly ResourceQuestion[] = [
  ...['get', 'update', 'create', 'protect', 'escalate', 'delete'].map((verb) => askCluster(verb, CLUSTER)),
  ...['', ...NAMESPACES].flatMap((namespace) =>
    ['', 'a', 'b', 'c'].flatMap((name) => [
      ask({ verb: 'get', namespace, name, cluster: CLUSTER }),
      ask({ verb: 'create', namespace, name, cluster: CLUSTER, resource: 'serviceaccounts', subresource: 'token' }),
      ask({ verb: 'create', namespace, name, cluster: CLUSTER, resource: 'pods', subresource: 'token', group: 'x' }),
      ask({ verb: 'watch', namespace, name, cluster: CLUSTER, resource: 'secrets' }),
    ]),
  ),
];

/** The reference evaluator is slow: a run asks a third of the questions. */
const sample = fc.subarray([...QUESTIONS], { minLength: 16, maxLength: 20 });

/** The smallest parts of rules about resources. */
const partsOf = (all: readonly Rule[]): Rule[] =>
  all.flatMap(({ verbs, apiGroups, resources, resourceNames }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          (resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name])).map((names) => ({
            verbs: [verb],
            apiGroups: [group],
            resources: [resource],
            resourceNames: names,
            nonResourceURLs: [],
          })),
        ),
      ),
    ),
  );

/** Kubernetes' comparison of one part with one rule, word by word. */
function covers(held: Rule, part: Rule): boolean {
  const [verb = '', group = '', resource = ''] = [part.verbs[0], part.apiGroups[0], part.resources[0]];
  const [, subresource] = resource.split('/');
  const wildcard = subresource === undefined ? '*' : `*/${subresource}`;
  return (
    (held.verbs.includes('*') || held.verbs.includes(verb)) &&
    (held.apiGroups.includes('*') || held.apiGroups.includes(group)) &&
    (held.resources.includes('*') || held.resources.includes(resource) || held.resources.includes(wildcard)) &&
    (held.resourceNames.length === 0 || part.resourceNames.some((name) => held.resourceNames.includes(name)))
  );
}

const EVERYTHING = readRules([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);

/**
 * All bindings with the rules of their roles, by a scan of the objects. `wanted`: what must be held where they begin to
 * hold. A role that does not exist may be created with any rules.
 */
function boundRules(fleet: Fleet) {
  const snapshot = fleet.snapshot();
  return fleet
    .objects()
    .filter(({ kind }) => kind.endsWith('Binding'))
    .map((object) => {
      const { namespace = '', name = '' } = object.metadata;
      const facts = readBinding(object, namespace, name);
      const { roleRef } = facts;
      const found =
        roleRef.kind === 'Role' ? snapshot.role(roleRef.namespace, roleRef.name) : snapshot.clusterRole(roleRef.name);
      const own =
        found === undefined ? [] : found.kind === 'Role' ? readRules(found.rules) : effectiveRules(found, snapshot);
      return { id: facts.id, facts, rules: own, wanted: found === undefined ? EVERYTHING : own };
    });
}

/** The bindings for which the caller must be refused. */
function unheldBindings(fleet: Fleet, caller: Caller, { before, after }: World): string[] {
  const [old, next] = [viewCluster(CLUSTER, before), viewCluster(CLUSTER, after)];
  const user = caller.as(CLUSTER);
  const all = boundRules(fleet);
  const holdsIn = ({ facts: { reach } }: (typeof all)[number], view: typeof old): boolean =>
    reach.kind === 'everywhere' || (reach.kind === 'clusters' && reach.selector.holdsIn(view));
  const held = all.filter(
    (each) =>
      holdsIn(each, old) &&
      each.facts.subjects.some(({ kind, name }) => (kind === 'user' ? name === user.name : user.groups.includes(name))),
  );
  return all
    .filter((each) => each.facts.subjects.length > 0 && holdsIn(each, next) && !holdsIn(each, old))
    .filter(({ facts: begins, wanted }) =>
      begins.scopes.some((scope) => {
        const usable = held.filter(
          ({ facts }) =>
            (facts.scopes.includes('') || facts.scopes.includes(scope)) &&
            facts.expiresAt >= begins.expiresAt &&
            facts.maxPassSeconds >= begins.maxPassSeconds,
        );
        return partsOf(wanted).some((part) => !usable.some((each) => each.rules.some((rule) => covers(rule, part))));
      }),
    )
    .map(({ id }) => id);
}

const isProtectedChange = ({ before = {}, after }: World): boolean => before[ENVIRONMENT] !== after[ENVIRONMENT];

const RUNS = propertyRuns(400, 5_000);

describe('A30: labels of clusters', () => {
  it('are refused exactly where a binding begins to hold whose rights the caller does not hold', () => {
    let refused = 0;
    fc.assert(
      fc.property(worlds, fc.constantFrom(...CALLERS), (world, caller) => {
        const fleet = fleetOf(world);
        const allows = referenceFor(fleet);
        const may = (verb: string): boolean => allows(caller, askCluster(verb, CLUSTER), world.before);
        const message = refusal(fleet, caller, world);
        if (isProtectedChange(world) && !may('protect')) {
          expect(message).toContain('cannot protect resource "clusters"');
          return;
        }
        const unheld = may('escalate') ? [] : unheldBindings(fleet, caller, world);
        if (unheld.length === 0) {
          expect(message).toBeUndefined();
          return;
        }
        refused++;
        const named = /with these labels (\S+) would begin to hold in cluster "a"/.exec(message ?? '')?.[1];
        // One binding is named for each role, namespace and selector.
        const same = boundRules(fleet).filter(({ id }) => id === named);
        expect(same, message).toHaveLength(1);
        expect(unheld, message).toContain(named);
      }),
      RUNS,
    );
    expect(refused).toBeGreaterThan(0);
  });

  it('never let anyone do in the cluster what the writer could not do there before', () => {
    let gained = 0;
    fc.assert(
      fc.property(worlds, fc.constantFrom(...CALLERS), sample, (world, writer, questions) => {
        const fleet = fleetOf(world);
        const allows = referenceFor(fleet);
        if (allows(writer, askCluster('escalate', CLUSTER), world.before)) return;
        if (refusal(fleet, writer, world) !== undefined) return;
        for (const question of questions) {
          for (const caller of CALLERS) {
            if (!allows(caller, question, world.after) || allows(caller, question, world.before)) continue;
            gained++;
            expect(allows(writer, question, world.before), JSON.stringify([question, caller.key])).toBe(true);
          }
        }
      }),
      RUNS,
    );
    expect(gained).toBeGreaterThan(0);
  });
});
