import { readFileSync } from 'node:fs';
import { TLS } from '../../test/e2e/support/server.ts';

/** An object of a fleet as a client would send it, and the cluster that it is in: empty for one of the whole fleet. */
export interface FleetObject {
  readonly cluster: string;
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
  const annotations = { 'example.com/notes': '.'.repeat(Math.max(1, bytes - BARE_BYTES)) };
  const times = { lastHeartbeatTime: CREATED, lastTransitionTime: CREATED };
  const ready = { type: 'Ready', status: 'True', reason: 'Reachable', message: 'The API server answers.', ...times };
  return {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels, annotations },
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
    status: { type: 'k3s', version: 'v1.34.9+k3s1', conditions: [ready] },
  };
}

const inFleet = (body: object): FleetObject => ({ cluster: '', body });

export const clusterObject = (name: string, labels: Record<string, string>, bytes?: number): FleetObject =>
  inFleet(clusterBody(name, labels, bytes));

export const namespaceObject = (cluster: string, name: string): FleetObject => ({
  cluster,
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
});

export const accountObject = (cluster: string, namespace: string, name: string): FleetObject => ({
  cluster,
  body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
});

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const RBAC_VERSION = `${RBAC_GROUP}/v1`;
const FLEET_VERSION = 'clusterpass.dev/v1alpha1';

const ROLES = {
  /** Sees the public view of clusters. */
  viewer: {
    verbs: ['get', 'list', 'watch'],
    apiGroups: ['clusterregistry.k8s.io', 'multicluster.x-k8s.io'],
    resources: ['clusters', 'clusterprofiles'],
  },
  /** Gets tokens of service accounts. */
  issuer: { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
};

export const roleObjects = (): FleetObject[] =>
  Object.entries(ROLES).map(([name, rule]) =>
    inFleet({ apiVersion: RBAC_VERSION, kind: 'ClusterRole', metadata: { name }, rules: [rule] }),
  );

/** As in a FleetRoleBinding; RBAC names the group of users and groups, too. */
export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  readonly namespace?: string;
}

export const user = (name: string): Subject => ({ kind: 'User', name });
export const group = (name: string): Subject => ({ kind: 'Group', name });
export const account = (namespace: string, name: string): Subject => ({ kind: 'ServiceAccount', namespace, name });
const ofRbac = (subject: Subject): object =>
  subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: RBAC_GROUP };

/** Where a binding holds: `clusters` of a FleetRoleBinding. */
export type Clusters = { readonly names: readonly string[] } | { readonly selector: object };

export const labelled = (matchLabels: Record<string, string>, matchExpressions: readonly object[] = []): Clusters => ({
  selector: { matchLabels, matchExpressions },
});

interface BindingOptions {
  readonly role: keyof typeof ROLES;
  readonly subjects: readonly Subject[];
  /** Without it, the binding is one of Kubernetes, which holds in all clusters. */
  readonly clusters?: Clusters | undefined;
}

/** A binding, and the path that it is created at. */
export function binding(name: string, { role, subjects, clusters }: BindingOptions): { path: string; body: object } {
  const roleRef = { kind: 'ClusterRole', name: role };
  const metadata = { name };
  if (clusters !== undefined) {
    const body = {
      apiVersion: FLEET_VERSION,
      kind: 'FleetRoleBinding',
      metadata,
      spec: { subjects, roleRef, clusters },
    };
    return { path: `/apis/${FLEET_VERSION}/fleetrolebindings`, body };
  }
  return {
    path: BINDINGS_PATH,
    body: {
      apiVersion: RBAC_VERSION,
      kind: 'ClusterRoleBinding',
      metadata,
      subjects: subjects.map(ofRbac),
      roleRef: { ...roleRef, apiGroup: RBAC_GROUP },
    },
  };
}

export const bindingObject = (name: string, options: BindingOptions): FleetObject =>
  inFleet(binding(name, options).body);

/** Bindings of users that send no request. A real policy holds more bindings than those of one caller. */
export const otherBindings = (count: number): FleetObject[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) =>
    bindingObject(`other-${index}`, {
      role: index % 2 === 0 ? 'viewer' : 'issuer',
      subjects: [user(`other-user-${index}`)],
      clusters: index % 3 === 0 ? undefined : labelled({ region: `r-${index % 20}` }),
    }),
  );
