import { expect } from 'vitest';
import { CLUSTER_TYPE } from '../../../src/api/cluster.fixture.ts';
import { FLEET_BINDINGS, fleetBinding } from './bindings.ts';
import { CLUSTERS, RBAC } from './paths.ts';
import { type Answer, type CallOptions, type Server, tokenOf } from './server.ts';

/** Clusters, namespaces, accounts and permissions that tests create, and requests for tokens. */

/** `/orchestrator/alpha/api/v1/namespaces/ci/pods` */
export const inNamespace = (resource: string, namespace = 'ci', cluster = 'alpha'): string =>
  `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/${resource}`;

export const tokenPath = (name = 'builder', namespace = 'ci', cluster = 'alpha'): string =>
  inNamespace(`serviceaccounts/${name}/token`, namespace, cluster);

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function create(server: Server, path: string, body: object): Promise<any> {
  const answer = await server.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json;
}

export async function remove(server: Server, path: string): Promise<void> {
  const answer = await server.call('DELETE', path);
  expect(answer.code, answer.text).toBe(200);
}

export const createCluster = (server: Server, name: string, labels: Record<string, string> = {}) =>
  create(server, CLUSTERS, { ...CLUSTER_TYPE, metadata: { name, labels } });

/**
 * Three accounts: one is being deleted after `leave`, one is in a namespace and one in a cluster that is being deleted.
 * Finalizers keep the account, the namespace and the cluster.
 */
export async function createLeaving(server: Server) {
  const metadata = (name: string) => ({ name, finalizers: ['example.com/wait'] });
  const type = { ...CLUSTER_TYPE };
  const accounts = inNamespace('serviceaccounts');
  const namespaces = '/orchestrator/alpha/api/v1/namespaces';
  await create(server, accounts, { metadata: metadata('leaving-account') });
  await create(server, namespaces, { metadata: metadata('leaving-namespace') });
  const labels = { env: 'prod' };
  await create(server, CLUSTERS, { ...type, metadata: { ...metadata('leaving-cluster'), labels } });
  await createNamespace(server, 'ci', 'leaving-cluster');
  // Finalizers of the accounts: without them these would be deleted at once, with the namespace and the cluster.
  for (const [namespace, cluster] of [
    ['leaving-namespace', 'alpha'],
    ['ci', 'leaving-cluster'],
  ]) {
    await create(server, inNamespace('serviceaccounts', namespace, cluster), { metadata: metadata('builder') });
  }
  return {
    scopes: {
      'service account "leaving-account"': { serviceAccount: { namespace: 'ci', name: 'leaving-account' } },
      'namespace "leaving-namespace"': { serviceAccount: { namespace: 'leaving-namespace', name: 'builder' } },
      'cluster "leaving-cluster"': { cluster: 'leaving-cluster' },
    },
    leave: async () => {
      await remove(server, `${accounts}/leaving-account`);
      await remove(server, `${namespaces}/leaving-namespace`);
      await remove(server, `${CLUSTERS}/leaving-cluster`);
    },
  };
}

export const createNamespace = (server: Server, name: string, cluster = 'alpha') =>
  create(server, `/orchestrator/${cluster}/api/v1/namespaces`, { metadata: { name } });

export const createAccount = (server: Server, name: string, namespace = 'ci', cluster = 'alpha') =>
  create(server, inNamespace('serviceaccounts', namespace, cluster), { metadata: { name } });

export const createPod = (server: Server, name: string, spec: object, namespace = 'ci', cluster = 'alpha') =>
  create(server, inNamespace('pods', namespace, cluster), { metadata: { name }, spec });

export const createSecret = (server: Server, name: string, namespace = 'ci', cluster = 'alpha') =>
  create(server, inNamespace('secrets', namespace, cluster), { metadata: { name } });

/** Two clusters with the same names in them, and in `alpha` objects that a token can be bound to. */
export async function createObjects(server: Server) {
  await createCluster(server, 'alpha', { env: 'prod' });
  await createCluster(server, 'beta', { env: 'dev' });
  await createNamespace(server, 'ci');
  await createNamespace(server, 'shop');
  await createNamespace(server, 'ci', 'beta');
  const builder = await createAccount(server, 'builder');
  await createAccount(server, 'other');
  await createAccount(server, 'builder', 'ci', 'beta');
  const pod = await createPod(server, 'web-0', { serviceAccountName: 'builder', nodeName: 'node-1' });
  const unscheduled = await createPod(server, 'job-0', { serviceAccountName: 'builder' });
  await createPod(server, 'other-0', { serviceAccountName: 'other' });
  const secret = await createSecret(server, 'tls');
  return { builder: uidOf(builder), pod: uidOf(pod), unscheduled: uidOf(unscheduled), secret: uidOf(secret) };
}

const uidOf = ({ metadata }: { metadata: { uid: string } }): string => metadata.uid;

/** The smallest body that asks for the cluster's own audience. */
export const ASK = { spec: { audiences: [] } };

export const post = (server: Server, body: unknown, options: CallOptions & { path?: string } = {}): Promise<Answer> =>
  server.call('POST', options.path ?? tokenPath(), { body, ...options });

/** A token. The test fails if the server refuses it. */
export async function issue(server: Server, path = tokenPath(), spec: object = { audiences: [] }): Promise<string> {
  const answer = await server.call('POST', path, { body: { spec } });
  expect(answer.code, answer.text).toBe(201);
  return answer.json.status.token;
}

/** The status of a request with this token: 200, or 401. */
export const codeFor = async (server: Server, token: string): Promise<number> =>
  (await server.call('GET', '/auth/v1/clusters', { token })).code;

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

export const MAY_CREATE_TOKENS: Rule = { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] };

/** A role and its binding, to a user or a group, in every cluster or in those that the selector matches. */
export async function bind(
  server: Server,
  name: string,
  subject: { kind: 'User' | 'Group'; name: string },
  rule: Rule = MAY_CREATE_TOKENS,
  clusters?: string,
): Promise<void> {
  await create(server, `${RBAC}/clusterroles`, { metadata: { name }, rules: [rule] });
  if (clusters !== undefined) {
    await create(server, FLEET_BINDINGS, fleetBinding({ name, to: [subject], role: name, clusters }));
    return;
  }
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name },
    subjects: [{ ...subject, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  });
}

export const asUser = (user: string): { token: string } => ({ token: tokenOf(user) });
