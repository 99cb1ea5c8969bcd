import fc from 'fast-check';
import type { Caller } from '../../../src/api/caller.ts';
import type { ClustersField } from '../../../src/api/clusters-field.ts';
import type { ApiObject } from '../../../src/api/kind.ts';
import { CLUSTER_GROUP } from '../../../src/api/kinds/cluster-spec.ts';
import { ApiError } from '../../../src/api/status.ts';
import { account, fleetBinding, person, role } from '../../../src/authz/policy/rbac.fixture.ts';
import { type ApiCore, type CoreRequest, ROOT } from './api-core.ts';
import { SELECTORS, type Selector } from './selectors.ts';

/** The callers of lists and watches. Two accounts have the same name, in different clusters. */
export const CALLERS: readonly Caller[] = [
  person('u1'),
  person('u2', 'g1', 'system:authenticated'),
  account('a', 'n1', 's1'),
  account('b', 'n1', 's1'),
  ROOT,
];

const CLUSTERS = ['a', 'b', 'c', 'd', 'e'];
const LABEL_KEYS = ['env', 'tier'];

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items], { minLength: 1 });
const one = (...lists: string[][]): fc.Arbitrary<string[]> => fc.constantFrom<string[]>(...lists);
const clusterName = fc.constantFrom(...CLUSTERS);
const roleName = fc.constantFrom('r1', 'r2', 'r3');
const bindingName = fc.constantFrom('b1', 'b2', 'b3', 'b4');

const labels = fc.record(
  { env: fc.constantFrom('prod', 'dev'), tier: fc.constantFrom('1', '2') },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>;

const rule = fc.record({
  verbs: fc.oneof(some(['list', 'watch', 'update', 'get']), one(['list', 'watch']), one(['*'])),
  apiGroups: one([CLUSTER_GROUP], [CLUSTER_GROUP], ['*'], ['']),
  resources: one(['clusters'], ['clusters'], ['*'], ['clusters/status']),
  resourceNames: fc.oneof({ weight: 2, arbitrary: fc.constant<string[]>([]) }, some(['a', 'b', 'c', 'gone'])),
});

const EVERY_CLUSTER = { apiGroups: [CLUSTER_GROUP], resources: ['clusters'] };

const subjects = some([
  'User:u1',
  'Group:g1',
  'Group:system:authenticated',
  'ServiceAccount:n1/s1',
  'User:system:cluster:a:serviceaccount:n1:s1',
  'Group:system:cluster:b:serviceaccounts',
]);

const reach = fc.option(
  fc.constantFrom(
    'env=prod',
    'env in (prod,dev)',
    'env!=prod',
    '!env',
    'tier=1,env=dev',
    'kubernetes.io/metadata.name in (a,b)',
    'kubernetes.io/metadata.name!=a,env',
    'kubernetes.io/metadata.name=c,env=prod',
  ),
  { nil: undefined },
);

/** One change of the fleet or its rules. */
export type Mutation =
  | { readonly mutation: 'cluster'; readonly name: string; readonly labels: Record<string, string> }
  | { readonly mutation: 'status'; readonly name: string; readonly version: string }
  | { readonly mutation: 'role'; readonly name: string; readonly rules: Parameters<typeof role>[1] }
  | {
      readonly mutation: 'binding';
      readonly name: string;
      readonly role: string;
      readonly subjects: string[];
      readonly reach: string | undefined;
    }
  | {
      readonly mutation: 'delete';
      readonly what: 'clusters' | 'clusterRoles' | 'fleetRoleBindings';
      readonly name: string;
    };

const is = <T extends string>(mutation: T): fc.Arbitrary<T> => fc.constant(mutation);

export const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ mutation: is('cluster'), name: clusterName, labels }) },
  {
    weight: 3,
    arbitrary: fc.record({ mutation: is('status'), name: clusterName, version: fc.constantFrom('v1', 'v2') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ mutation: is('role'), name: roleName, rules: fc.array(rule, { maxLength: 2 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ mutation: is('binding'), name: bindingName, role: roleName, subjects, reach }),
  },
  { weight: 2, arbitrary: fc.record({ mutation: is('delete'), what: is('clusters'), name: clusterName }) },
  { weight: 1, arbitrary: fc.record({ mutation: is('delete'), what: is('clusterRoles'), name: roleName }) },
  { weight: 1, arbitrary: fc.record({ mutation: is('delete'), what: is('fleetRoleBindings'), name: bindingName }) },
);

/** Clusters, roles and bindings to start with: otherwise a history would spend most of its length on creating them. */
export const initialFleet: fc.Arbitrary<Mutation[]> = fc
  .record({
    clusters: fc.array(labels, { maxLength: CLUSTERS.length }),
    rules: fc.array(rule, { maxLength: 2 }),
    bindings: fc.array(fc.record({ subjects, reach }), { maxLength: 2 }),
  })
  .map(({ clusters, rules, bindings }) => [
    ...clusters.map((own, index): Mutation => ({ mutation: 'cluster', name: CLUSTERS[index] ?? '', labels: own })),
    { mutation: 'role', name: 'r1', rules: [{ ...EVERY_CLUSTER, verbs: ['list', 'watch'] }] },
    { mutation: 'role', name: 'r2', rules },
    ...bindings.map(
      (each, index): Mutation => ({ mutation: 'binding', name: `b${index + 1}`, role: `r${index + 1}`, ...each }),
    ),
  ]);

/** Applies a mutation as a request. Not-found and conflict errors are ignored. `ballast` makes new clusters larger. */
export async function applyMutation(core: ApiCore, mutation: Mutation, ballast = ''): Promise<void> {
  try {
    for (const request of requestsFor(core, mutation, ballast)) {
      if (await attempt(core, request)) return;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || ![404, 409].includes(error.status.code)) throw error;
  }
}

/** False when the object exists already: the next request changes it. */
async function attempt(core: ApiCore, request: CoreRequest): Promise<boolean> {
  try {
    await core.request(request);
    return true;
  } catch (error) {
    if (request.verb === 'create' && error instanceof ApiError && error.status.reason === 'AlreadyExists') return false;
    throw error;
  }
}

function requestsFor({ catalog }: ApiCore, mutation: Mutation, ballast: string): CoreRequest[] {
  const { clusters, clusterRoles, fleetRoleBindings } = catalog;
  const mediaType = 'application/merge-patch+json';
  const by = { caller: ROOT };
  const put = (kind: CoreRequest['kind'], object: ApiObject, patch: object): CoreRequest[] => [
    { ...by, kind, verb: 'create', body: object },
    { ...by, kind, verb: 'patch', name: object.metadata.name ?? '', body: patch, mediaType },
  ];
  switch (mutation.mutation) {
    case 'cluster': {
      // In a merge patch, null removes a member.
      const all = Object.fromEntries(LABEL_KEYS.map((key) => [key, mutation.labels[key] ?? null]));
      return put(clusters, clusterObject(mutation.name, mutation.labels, ballast), { metadata: { labels: all } });
    }
    case 'status': {
      const body = { status: { version: mutation.version } };
      return [{ ...by, kind: clusters, verb: 'patch', name: mutation.name, subresource: 'status', body, mediaType }];
    }
    case 'role':
      return put(clusterRoles, role(mutation.name, mutation.rules), { rules: mutation.rules });
    case 'binding': {
      const restricted = mutation.reach === undefined ? {} : { clusters: mutation.reach };
      const object = fleetBinding(mutation.name, `ClusterRole/${mutation.role}`, mutation.subjects, restricted);
      const { subjects, clusters: where } = object.spec as { subjects: unknown; clusters: ClustersField };
      // roleRef is immutable. In a merge patch, null removes a member.
      const { selector = {} } = where;
      const others = { all: null, names: null, selector: null };
      const moved =
        where.selector === undefined ? where : { selector: { matchLabels: null, matchExpressions: null, ...selector } };
      return put(fleetRoleBindings, object, { spec: { subjects, clusters: { ...others, ...moved } } });
    }
    case 'delete':
      return [{ ...by, kind: catalog[mutation.what], verb: 'delete', name: mutation.name }];
  }
}

export const clusterObject = (name: string, own: Record<string, string>, ballast: string): ApiObject => ({
  apiVersion: `${CLUSTER_GROUP}/v1alpha1`,
  kind: 'Cluster',
  metadata: { name, labels: own, annotations: { 'example.com/ballast': ballast } },
  spec: {
    orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }] },
    authInfo: { controller: { kind: 'Secret', namespace: 'secrets', name: `credentials-of-${name}` } },
  },
});

export interface Viewer {
  readonly caller: Caller;
  readonly selector: Selector;
  readonly alwaysPublic: boolean;
}

const viewer = {
  caller: fc.constantFrom(...CALLERS),
  selector: fc.oneof(fc.constant(SELECTORS[0] as Selector), fc.constantFrom(...SELECTORS)),
  alwaysPublic: fc.boolean(),
};

/** One step of a history. `which` and `back` are taken modulo the number of candidates. */
export type Step =
  /** Concurrent mutations, and a concurrent list. */
  | { readonly step: 'mutations'; readonly mutations: readonly Mutation[]; readonly concurrentList: Viewer | undefined }
  | (Viewer & {
      readonly step: 'list';
      readonly limit: number;
      readonly version: 'newest' | 'any' | 'not-older' | 'exact';
      readonly back: number;
      /** Applied before each of the next pages. */
      readonly between: readonly Mutation[];
    })
  | { readonly step: 'continue'; readonly which: number }
  | (Viewer & {
      readonly step: 'watch';
      readonly back: number | 'initial';
      readonly bookmarks: boolean;
      readonly stalled: boolean;
    })
  | { readonly step: 'stall' | 'drain' | 'disconnect' | 'reconnect'; readonly which: number };

const which = fc.nat({ max: 1_000 });

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: is('mutations'),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 5 }),
      concurrentList: fc.option(fc.record(viewer), { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: is('list'),
      ...viewer,
      limit: fc.constantFrom(0, 1, 1, 2),
      version: fc.constantFrom('newest', 'newest', 'any', 'not-older', 'exact'),
      back: which,
      between: fc.array(mutation, { maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ step: is('continue'), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      step: is('watch'),
      ...viewer,
      back: fc.oneof(is('initial'), which),
      bookmarks: fc.boolean(),
      stalled: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constantFrom('stall', 'drain', 'disconnect', 'reconnect'), which }),
  },
);
