import { createCluster, createNamespace } from './objects.ts';
import { CLUSTERS, RBAC, RBAC_GROUP } from './paths.ts';
import type { Server } from './server.ts';

/** Every kind of the catalog: its path, a small object, and a change of that object. */
export interface KindCase {
  readonly kind: string;
  readonly resource: string;
  readonly group: string;
  readonly apiVersion: string;
  readonly style: 'builtin' | 'custom';
  /** The path of the collection that holds the objects of a case. */
  readonly path: string;
  readonly namespace?: string;
  /** The object without its metadata. */
  readonly content: object;
  /** The same with one change. */
  readonly changed: object;
  /** `content` in responses, with defaults and computed fields. */
  readonly defaults?: object;
  readonly hasStatus: boolean;
  readonly countsGenerations: boolean;
}

const IN_CLUSTER = '/orchestrator/alpha/api/v1';

const rule = (verb: string): object => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] });
const subject = (name: string): object => ({ kind: 'User', apiGroup: RBAC_GROUP, name });

const core = { group: '', apiVersion: 'v1', style: 'builtin', hasStatus: false, countsGenerations: false } as const;
const rbac = { ...core, group: RBAC_GROUP, apiVersion: `${RBAC_GROUP}/v1` } as const;
const inNamespace = { namespace: 'ci' } as const;

const bindingContent = (kind: string, users: readonly string[]): object => ({
  subjects: users.map(subject),
  roleRef: { apiGroup: RBAC_GROUP, kind, name: 'nobody' },
});

const fleetBindingContent = (users: readonly string[]): object => ({
  spec: {
    subjects: users.map((name) => ({ kind: 'User', name })),
    roleRef: { kind: 'ClusterRole', name: 'nobody' },
    clusters: { names: ['alpha'] },
  },
});

const endpoints = (address: string): object => ({
  spec: { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }] } },
});

export const KINDS: readonly KindCase[] = [
  {
    kind: 'Cluster',
    resource: 'clusters',
    group: 'clusterregistry.k8s.io',
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    style: 'custom',
    path: CLUSTERS,
    content: endpoints('https://10.0.0.1:6443'),
    changed: endpoints('https://10.0.0.2:6443'),
    hasStatus: true,
    countsGenerations: true,
  },
  {
    ...core,
    kind: 'Namespace',
    resource: 'namespaces',
    path: `${IN_CLUSTER}/namespaces`,
    content: { spec: { finalizers: ['kubernetes'] } },
    changed: { spec: { finalizers: ['example.com/other'] } },
    defaults: { status: { phase: 'Active' } },
    hasStatus: true,
  },
  {
    ...core,
    ...inNamespace,
    kind: 'ServiceAccount',
    resource: 'serviceaccounts',
    path: `${IN_CLUSTER}/namespaces/ci/serviceaccounts`,
    content: { automountServiceAccountToken: false },
    changed: { automountServiceAccountToken: true },
  },
  {
    ...core,
    ...inNamespace,
    kind: 'Pod',
    resource: 'pods',
    path: `${IN_CLUSTER}/namespaces/ci/pods`,
    content: {},
    // A pod can be bound to a node once.
    changed: { spec: { nodeName: 'node-1' } },
    defaults: { spec: { serviceAccountName: 'default', containers: [] } },
  },
  {
    ...core,
    ...inNamespace,
    kind: 'Secret',
    resource: 'secrets',
    path: `${IN_CLUSTER}/namespaces/ci/secrets`,
    content: { immutable: false },
    changed: { immutable: true },
    defaults: { type: 'Opaque' },
  },
  {
    ...rbac,
    kind: 'ClusterRole',
    resource: 'clusterroles',
    path: `${RBAC}/clusterroles`,
    content: { rules: [rule('get')] },
    changed: { rules: [rule('list')] },
  },
  {
    ...rbac,
    kind: 'ClusterRoleBinding',
    resource: 'clusterrolebindings',
    path: `${RBAC}/clusterrolebindings`,
    content: bindingContent('ClusterRole', ['jane']),
    changed: bindingContent('ClusterRole', ['jane', 'joe']),
  },
  {
    ...rbac,
    ...inNamespace,
    kind: 'Role',
    resource: 'roles',
    path: `${RBAC}/namespaces/ci/roles`,
    content: { rules: [rule('get')] },
    changed: { rules: [rule('list')] },
  },
  {
    ...rbac,
    ...inNamespace,
    kind: 'RoleBinding',
    resource: 'rolebindings',
    path: `${RBAC}/namespaces/ci/rolebindings`,
    content: bindingContent('Role', ['jane']),
    changed: bindingContent('Role', ['jane', 'joe']),
  },
  {
    kind: 'FleetRoleBinding',
    resource: 'fleetrolebindings',
    group: 'clusterpass.dev',
    apiVersion: 'clusterpass.dev/v1alpha1',
    style: 'custom',
    path: '/apis/clusterpass.dev/v1alpha1/fleetrolebindings',
    content: fleetBindingContent(['jane']),
    changed: fleetBindingContent(['jane', 'joe']),
    hasStatus: true,
    countsGenerations: true,
  },
];

export const kindCase = (kind: string): KindCase => {
  const found = KINDS.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`no case for ${kind}`);
  return found;
};

/** The cluster and the namespace that hold the objects of every case. */
export async function createParents(server: Server): Promise<void> {
  await createCluster(server, 'alpha');
  await createNamespace(server, 'ci');
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every shape
type AnyObject = any;

export const objectOf = (of: KindCase, metadata: object, content: object = of.content): AnyObject => ({
  apiVersion: of.apiVersion,
  kind: of.kind,
  metadata: { ...(of.namespace === undefined ? {} : { namespace: of.namespace }), ...metadata },
  ...content,
});

/** `clusters.clusterregistry.k8s.io`, or `pods` */
export const qualified = ({ group, resource }: KindCase): string => (group === '' ? resource : `${resource}.${group}`);
/** As validation errors name it. */
export const qualifiedKind = ({ group, kind }: KindCase): string => (group === '' ? kind : `${kind}.${group}`);

export const details = ({ group, resource }: KindCase, name: string): object => ({
  name,
  ...(group === '' ? {} : { group }),
  kind: resource,
});
