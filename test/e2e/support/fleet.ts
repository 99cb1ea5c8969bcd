import { expect, vi } from 'vitest';
import { CLUSTER_TYPE } from '../../../src/api/cluster.fixture.ts';
import { clustersOf } from '../../../src/api/clusters-field.ts';
import { FLEET_BINDINGS, fleetBinding } from './bindings.ts';
import { CLUSTERS, RBAC } from './paths.ts';
import { type Answer, type Server, tokenOf } from './server.ts';

/** Clusters, and permissions to see them, for the tests of lists and watches. */

export const PUBLIC_LIST = '/auth/v1/clusters';

export interface ClusterParts {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly spec?: object;
  readonly metadata?: object;
}

async function succeed(answer: Promise<Answer>): Promise<Answer> {
  const done = await answer;
  expect([200, 201], done.text).toContain(done.code);
  return done;
}

const versionIn = ({ json }: Answer): number => Number(json.metadata.resourceVersion);

/** Creates a cluster. Returns its resourceVersion. */
export async function addCluster(server: Server, name: string, parts: ClusterParts = {}): Promise<number> {
  const { labels, annotations, spec, metadata } = parts;
  const body = { ...CLUSTER_TYPE, metadata: { name, labels, annotations, ...metadata }, spec };
  return versionIn(await succeed(server.call('POST', CLUSTERS, { body })));
}

/** Merges a patch into a cluster. Returns its new resourceVersion. */
export async function patchCluster(server: Server, name: string, patch: object): Promise<number> {
  return versionIn(await succeed(server.call('PATCH', `${CLUSTERS}/${name}`, { body: patch })));
}

export const relabel = (server: Server, name: string, labels: Record<string, string | null>): Promise<number> =>
  patchCluster(server, name, { metadata: { labels } });

/** Changes an annotation, which every reader of the cluster sees. */
export const touch = (server: Server, name: string, note: string): Promise<number> =>
  patchCluster(server, name, { metadata: { annotations: { note } } });

export async function removeCluster(server: Server, name: string): Promise<void> {
  await succeed(server.call('DELETE', `${CLUSTERS}/${name}`));
}

export const VIEW = ['get', 'list', 'watch'];

export interface Grant {
  readonly verbs?: readonly string[];
  readonly names?: readonly string[];
  /** The selector of clusters of the binding; without it, the binding is for all clusters. */
  readonly clusters?: string;
}

/** A role for clusters and its binding to a user. Both have this name. */
export async function grantClusters(server: Server, name: string, user: string, options: Grant = {}): Promise<void> {
  await setRole(server, name, options);
  await bindRole(server, name, user, options.clusters);
}

export async function setRole(server: Server, name: string, { verbs = VIEW, names }: Grant): Promise<void> {
  const rule = { verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'], resourceNames: names };
  const body = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules: [rule] };
  const old = await server.call('GET', `${RBAC}/clusterroles/${name}`);
  if (old.code === 404) await succeed(server.call('POST', `${RBAC}/clusterroles`, { body }));
  else await succeed(server.call('PUT', `${RBAC}/clusterroles/${name}`, { body }));
}

/** As `grantClusters` for all clusters. A ClusterRoleBinding has no status, so nothing is written later. */
export async function grantAllClusters(server: Server, name: string, user: string, options: Grant = {}): Promise<void> {
  await setRole(server, name, options);
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const body = { metadata: { name }, subjects, roleRef };
  await succeed(server.call('POST', `${RBAC}/clusterrolebindings`, { body }));
}

export async function bindRole(server: Server, name: string, user: string, clusters?: string): Promise<number> {
  const body = fleetBinding({ name, to: [user], role: name, clusters });
  return versionIn(await succeed(server.call('POST', FLEET_BINDINGS, { body })));
}

/** Changes the selector of clusters of a binding. */
export async function rebind(server: Server, name: string, clusters: string | null): Promise<void> {
  const value = clusters === null ? { all: true } : clustersOf(clusters);
  const body = [{ op: 'replace', path: '/spec/clusters', value }];
  const headers = { 'Content-Type': 'application/json-patch+json' };
  await succeed(server.call('PATCH', `${FLEET_BINDINGS}/${name}`, { body, headers }));
}

/** Waits for the writes to the status of bindings, which take place within a second, for tests of exact revisions. */
export async function settled(server: Server): Promise<void> {
  // Not expect.poll, which works in tests only.
  await vi.waitFor(async () => {
    const clusters = (await server.call('GET', CLUSTERS)).json.items.length;
    const { items } = (await server.call('GET', FLEET_BINDINGS)).json;
    for (const { spec, status } of items) {
      expect(status).toBeDefined();
      if (spec.clusters.all === true) expect(status.clusters).toBe(clusters);
    }
  }, 10_000);
}

export async function unbind(server: Server, name: string): Promise<void> {
  await succeed(server.call('DELETE', `${FLEET_BINDINGS}/${name}`));
}

export const listAs = (server: Server, user: string, query = ''): Promise<Answer> =>
  server.call('GET', `${PUBLIC_LIST}${query}`, { token: tokenOf(user) });

/** The names in a list, in its order. */
export const namesIn = ({ json }: Answer): string[] =>
  json.items.map((item: { metadata: { name: string } }) => item.metadata.name);

/** The resourceVersion of a list. */
export const revisionOf = ({ json }: Answer): string => json.metadata.resourceVersion;

/** The current resourceVersion of the store. */
export const revisionNow = async (server: Server): Promise<number> =>
  Number(revisionOf(await server.call('GET', `${PUBLIC_LIST}?limit=1`)));
