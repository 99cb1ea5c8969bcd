import { readFileSync } from 'node:fs';
import { TLS } from '../../test/e2e/support/server.ts';

/** Kinds as the catalog of Clusterpass names them. */
type FleetKind = 'clusters' | 'namespaces' | 'serviceAccounts' | 'clusterRoles' | 'clusterRoleBindings';

/** An object of a fleet, as a client would send it, and where it belongs. */
export interface FleetObject {
  readonly kind: FleetKind;
  /** Empty for an object that belongs to the whole fleet. */
  readonly cluster: string;
  readonly namespace: string;
  readonly body: object;
}

export const CREATED = '2026-01-01T00:00:00Z';
export const CLUSTERS_PATH = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
export const BINDINGS_PATH = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

export const clusterName = (index: number): string => `c-${String(index).padStart(8, '0')}`;

export const accountsPath = (cluster: string, namespace: string): string =>
  `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts`;

export const tokenPath = (cluster: string, namespace: string, account: string): string =>
  `${accountsPath(cluster, namespace)}/${account}/token`;

const CA = readFileSync(TLS.caFile).toString('base64');
/** Size of the public view without the annotation that fills it up. */
const BARE_BYTES = 1_140 + CA.length;

/** A cluster whose public view has about `bytes` bytes. */
export function clusterBody(name: string, labels: Record<string, string>, bytes = 2600): object {
  return {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels, annotations: { 'example.com/notes': '.'.repeat(Math.max(1, bytes - BARE_BYTES)) } },
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [
          { clientCIDR: '10.0.0.0/8', serverAddress: `https://api.${name}.internal.example.com:6443` },
          { clientCIDR: '0.0.0.0/0', serverAddress: `https://api.${name}.example.com:6443` },
        ],
        caBundle: CA,
      },
      authInfo: { user: { kind: 'Secret', name: `${name}-user`, namespace: 'fleet' } },
    },
    status: {
      type: 'k3s',
      version: 'v1.34.9+k3s1',
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Reachable',
          message: 'The API server answers.',
          lastHeartbeatTime: CREATED,
          lastTransitionTime: CREATED,
        },
      ],
    },
  };
}

const inFleet = (kind: FleetKind, body: object): FleetObject => ({ kind, cluster: '', namespace: '', body });

export const clusterObject = (body: object): FleetObject => inFleet('clusters', body);

export const namespaceObject = (cluster: string, name: string): FleetObject => ({
  kind: 'namespaces',
  cluster,
  namespace: '',
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
});

export const accountObject = (cluster: string, namespace: string, name: string): FleetObject => ({
  kind: 'serviceAccounts',
  cluster,
  namespace,
  body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
});

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

const ROLES = {
  /** Sees the public view of clusters. */
  viewer: { verbs: ['get', 'list', 'watch'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] },
  /** Gets tokens of service accounts. */
  issuer: { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
};

export const roleObjects = (): FleetObject[] =>
  Object.entries(ROLES).map(([name, rule]) =>
    inFleet('clusterRoles', { apiVersion: RBAC_VERSION, kind: 'ClusterRole', metadata: { name }, rules: [rule] }),
  );

export const user = (name: string): object => ({ kind: 'User', apiGroup: RBAC_GROUP, name });
export const group = (name: string): object => ({ kind: 'Group', apiGroup: RBAC_GROUP, name });
export const account = (namespace: string, name: string): object => ({ kind: 'ServiceAccount', namespace, name });

/** `clusters` is a label selector: the binding holds in these clusters only. */
interface BindingOptions {
  readonly role: keyof typeof ROLES;
  readonly subjects: readonly object[];
  readonly clusters?: string | undefined;
}

export function binding(name: string, { role, subjects, clusters }: BindingOptions): object {
  const selector = clusters === undefined ? {} : { annotations: { 'clusterpass.dev/clusters': clusters } };
  return {
    apiVersion: RBAC_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: { name, ...selector },
    subjects,
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
  };
}

export const bindingObject = (name: string, options: BindingOptions): FleetObject =>
  inFleet('clusterRoleBindings', binding(name, options));

/** Bindings of users that send no request. A real policy holds more bindings than those of one caller. */
export const otherBindings = (count: number): FleetObject[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) =>
    bindingObject(`other-${index}`, {
      role: index % 2 === 0 ? 'viewer' : 'issuer',
      subjects: [user(`other-user-${index}`)],
      clusters: index % 3 === 0 ? undefined : `region=r-${index % 20}`,
    }),
  );
