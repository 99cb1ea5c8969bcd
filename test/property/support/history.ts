import fc from 'fast-check';
import type { Caller } from '../../../src/api/caller.ts';
import type { ApiObject } from '../../../src/api/kind.ts';
import { CLUSTER_GROUP } from '../../../src/api/kinds/cluster.ts';
import { CLUSTERS_ANNOTATION } from '../../../src/api/kinds/rbac.ts';
import { ApiError } from '../../../src/api/status.ts';
import { account, binding, person, role } from '../../../src/authz/rbac.fixture.ts';
import { type Asked, type House, ROOT } from './house.ts';
import { SELECTORS, type Selector } from './selectors.ts';

/** Who looks on. Two accounts of the same name, at home in different clusters. */
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

/** One thing that happens to the fleet or its rules. */
export type Deed =
  | { readonly deed: 'cluster'; readonly name: string; readonly labels: Record<string, string> }
  | { readonly deed: 'status'; readonly name: string; readonly version: string }
  | { readonly deed: 'role'; readonly name: string; readonly rules: Parameters<typeof role>[1] }
  | {
      readonly deed: 'binding';
      readonly name: string;
      readonly role: string;
      readonly subjects: string[];
      readonly reach: string | undefined;
    }
  | {
      readonly deed: 'delete';
      readonly what: 'clusters' | 'clusterRoles' | 'clusterRoleBindings';
      readonly name: string;
    };

const is = <T extends string>(deed: T): fc.Arbitrary<T> => fc.constant(deed);

export const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ deed: is('cluster'), name: clusterName, labels }) },
  { weight: 3, arbitrary: fc.record({ deed: is('status'), name: clusterName, version: fc.constantFrom('v1', 'v2') }) },
  { weight: 2, arbitrary: fc.record({ deed: is('role'), name: roleName, rules: fc.array(rule, { maxLength: 2 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ deed: is('binding'), name: bindingName, role: roleName, subjects, reach }),
  },
  { weight: 2, arbitrary: fc.record({ deed: is('delete'), what: is('clusters'), name: clusterName }) },
  { weight: 1, arbitrary: fc.record({ deed: is('delete'), what: is('clusterRoles'), name: roleName }) },
  { weight: 1, arbitrary: fc.record({ deed: is('delete'), what: is('clusterRoleBindings'), name: bindingName }) },
);

/** A fleet with somebody to look at it: histories that begin with nothing spend most of their length on making it. */
export const setting: fc.Arbitrary<Deed[]> = fc
  .record({
    clusters: fc.array(labels, { maxLength: CLUSTERS.length }),
    rules: fc.array(rule, { maxLength: 2 }),
    bindings: fc.array(fc.record({ subjects, reach }), { maxLength: 2 }),
  })
  .map(({ clusters, rules, bindings }) => [
    ...clusters.map((own, index): Deed => ({ deed: 'cluster', name: CLUSTERS[index] ?? '', labels: own })),
    { deed: 'role', name: 'r1', rules: [{ ...EVERY_CLUSTER, verbs: ['list', 'watch'] }] },
    { deed: 'role', name: 'r2', rules },
    ...bindings.map(
      (each, index): Deed => ({ deed: 'binding', name: `b${index + 1}`, role: `r${index + 1}`, ...each }),
    ),
  ]);

/**
 * Does it as a request; with ballast, new clusters are that much larger. What cannot be done (it is not there, or somebody
 * was faster) does not happen.
 */
export async function perform(house: House, deed: Deed, ballast = ''): Promise<void> {
  try {
    for (const asked of requestsFor(house, deed, ballast)) {
      if (await attempt(house, asked)) return;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || ![404, 409].includes(error.status.code)) throw error;
  }
}

/** False when it exists already, so that the next request changes it. */
async function attempt(house: House, asked: Asked): Promise<boolean> {
  try {
    await house.ask(asked);
    return true;
  } catch (error) {
    if (asked.verb === 'create' && error instanceof ApiError && error.status.reason === 'AlreadyExists') return false;
    throw error;
  }
}

function requestsFor({ catalog }: House, deed: Deed, ballast: string): Asked[] {
  const { clusters, clusterRoles, clusterRoleBindings } = catalog;
  const mediaType = 'application/merge-patch+json';
  const by = { caller: ROOT };
  const put = (kind: Asked['kind'], object: ApiObject, patch: object): Asked[] => [
    { ...by, kind, verb: 'create', body: object },
    { ...by, kind, verb: 'patch', name: object.metadata.name ?? '', body: patch, mediaType },
  ];
  switch (deed.deed) {
    case 'cluster': {
      // In a merge patch, null takes away.
      const all = Object.fromEntries(LABEL_KEYS.map((key) => [key, deed.labels[key] ?? null]));
      return put(clusters, clusterObject(deed.name, deed.labels, ballast), { metadata: { labels: all } });
    }
    case 'status': {
      const body = { status: { version: deed.version } };
      return [{ ...by, kind: clusters, verb: 'patch', name: deed.name, subresource: 'status', body, mediaType }];
    }
    case 'role':
      return put(clusterRoles, role(deed.name, deed.rules), { rules: deed.rules });
    case 'binding': {
      const restricted = deed.reach === undefined ? {} : { clusters: deed.reach };
      const object = binding(deed.name, `ClusterRole/${deed.role}`, deed.subjects, restricted);
      const annotations = { [CLUSTERS_ANNOTATION]: deed.reach ?? null };
      // roleRef never changes: what is bound stays bound to what it was.
      return put(clusterRoleBindings, object, { subjects: object.subjects, metadata: { annotations } });
    }
    case 'delete':
      return [{ ...by, kind: catalog[deed.what], verb: 'delete', name: deed.name }];
  }
}

const clusterObject = (name: string, own: Record<string, string>, ballast: string): ApiObject => ({
  apiVersion: `${CLUSTER_GROUP}/v1alpha1`,
  kind: 'Cluster',
  metadata: { name, labels: own, annotations: { 'example.com/ballast': ballast } },
  spec: {
    orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }] },
    authInfo: { controller: { kind: 'Secret', namespace: 'secrets', name: `credentials-of-${name}` } },
  },
});

export interface Looking {
  readonly caller: Caller;
  readonly selector: Selector;
  readonly alwaysPublic: boolean;
}

const looking = {
  caller: fc.constantFrom(...CALLERS),
  selector: fc.oneof(fc.constant(SELECTORS[0] as Selector), fc.constantFrom(...SELECTORS)),
  alwaysPublic: fc.boolean(),
};

/** What happens next. Numbers that choose among what there is at that moment are taken modulo how much there is. */
export type Scene =
  /** All at once, and somebody lists meanwhile. */
  | { readonly scene: 'deeds'; readonly deeds: readonly Deed[]; readonly meanwhile: Looking | undefined }
  | (Looking & {
      readonly scene: 'list';
      readonly limit: number;
      readonly version: 'newest' | 'any' | 'not-older' | 'exact';
      readonly back: number;
      /** What happens before each of the next pages. */
      readonly between: readonly Deed[];
    })
  | { readonly scene: 'continue'; readonly which: number }
  | (Looking & {
      readonly scene: 'watch';
      readonly back: number | 'initial';
      readonly bookmarks: boolean;
      readonly stalled: boolean;
    })
  | { readonly scene: 'stall' | 'drain' | 'leave' | 'return'; readonly which: number };

const which = fc.nat({ max: 1_000 });

export const scene: fc.Arbitrary<Scene> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      scene: is('deeds'),
      deeds: fc.array(deed, { minLength: 1, maxLength: 5 }),
      meanwhile: fc.option(fc.record(looking), { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      scene: is('list'),
      ...looking,
      limit: fc.constantFrom(0, 1, 1, 2),
      version: fc.constantFrom('newest', 'newest', 'any', 'not-older', 'exact'),
      back: which,
      between: fc.array(deed, { maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ scene: is('continue'), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      scene: is('watch'),
      ...looking,
      back: fc.oneof(is('initial'), which),
      bookmarks: fc.boolean(),
      stalled: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ scene: fc.constantFrom('stall', 'drain', 'leave', 'return'), which }),
  },
);
