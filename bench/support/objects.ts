import { readFileSync } from 'node:fs';
import { NAME_LABEL } from '../../src/api/clusters-field.ts';
import { fleetBinding } from '../../test/e2e/support/bindings.ts';
import { RBAC_GROUP } from '../../test/e2e/support/paths.ts';
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

export const clusterObject = (...of: Parameters<typeof clusterBody>): FleetObject => inFleet(clusterBody(...of));

export const namespaceObject = (cluster: string, name: string): FleetObject => ({
  cluster,
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
});

export const accountObject = (cluster: string, namespace: string, name: string): FleetObject => ({
  cluster,
  body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
});

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
    inFleet({ apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [rule] }),
  );

export const group = (name: string): object => ({ kind: 'Group', name });
export const account = (namespace: string, name: string): object => ({ kind: 'ServiceAccount', namespace, name });

/** The selector of one cluster. */
export const clusterIs = (name: string): string => `${NAME_LABEL}=${name}`;

/** `to` and `clusters` as in `fleetBinding`. One for all clusters is a binding of Kubernetes. */
export const bindingObject = (
  name: string,
  role: keyof typeof ROLES,
  to: readonly (string | object)[],
  clusters?: string,
): FleetObject =>
  inFleet(clusters === undefined ? bindingOf(name, role, to) : fleetBinding({ name, role, to, clusters }));

const bindingOf = (name: string, role: string, to: readonly (string | object)[]): object => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  subjects: to.map((each) => (typeof each === 'string' ? { kind: 'User', apiGroup: RBAC_GROUP, name: each } : each)),
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
});

/** Bindings of users that send no request. A real policy holds more bindings than those of one caller. */
export const otherBindings = (count: number): FleetObject[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => {
    const role = index % 2 === 0 ? 'viewer' : 'issuer';
    const clusters = index % 3 === 0 ? undefined : `region=r-${index % 20}`;
    return bindingObject(`other-${index}`, role, [`other-user-${index}`], clusters);
  });
