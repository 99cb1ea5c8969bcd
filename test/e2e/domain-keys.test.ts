import { describe, expect, it } from 'vitest';
import { createCluster, inNamespace } from './support/objects.ts';
import { CLUSTERS, RBAC, RBAC_GROUP } from './support/paths.ts';
import { user } from './support/rbac.ts';
import { type Answer, type Server, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

/** A29: a mistake in a key of clusterpass.dev is an error. Ignored, it would open a binding to the whole fleet. */

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await createCluster(server, 'alpha', { env: 'prod' });
  await createCluster(server, 'beta', { env: 'dev' });
  for (const cluster of ['alpha', 'beta']) {
    await server.call('POST', `/orchestrator/${cluster}/api/v1/namespaces`, { body: { metadata: { name: 'ci' } } });
  }
});

const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

const bindingBody = (name: string, metadata: object): object => ({
  metadata: { name, ...metadata },
  subjects: [user('mia')],
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'clusterpass:viewer' },
});

const bind = (name: string, metadata: object): Promise<Answer> =>
  server.call('POST', `${RBAC}/clusterrolebindings`, { body: bindingBody(name, metadata) });

const seenByMia = async (): Promise<number> =>
  (await server.call('GET', '/auth/v1/clusters', { token: tokenOf('mia') })).json.items.length;

describe('A29: a misspelled key on a binding grants nothing', () => {
  it.each([
    'clusterpass.dev/cluster',
    'clusterpass.dev/clusterz',
    'Clusterpass.dev/clusters',
    'clusterpass.io/clusters',
    'clusters',
  ])('%s', async (key) => {
    const answer = await bind('misspelled', { annotations: { [key]: 'env=dev' } });
    expect([answer.code, answer.json.details?.causes]).toEqual([
      422,
      [
        {
          reason: 'FieldValueInvalid',
          message: `Invalid value: "${key}": is not an annotation of a ClusterRoleBinding; did you mean "clusterpass.dev/clusters"?`,
          field: `metadata.annotations[${key}]`,
        },
      ],
    ]);
    expect(await seenByMia()).toBe(0);
  });

  it('nor does an annotation that became a label, or a selector of a label that no cluster can have', async () => {
    for (const metadata of [
      { labels: { 'clusterpass.dev/clusters': 'dev' } },
      { annotations: { 'clusterpass.dev/clusters': 'clusterpass.dev/env!=prod' } },
    ]) {
      const answer = await bind('mistaken', metadata);
      expect(answer.code, JSON.stringify(metadata)).toBe(422);
    }
    expect(await seenByMia()).toBe(0);
  });

  it.each([
    ['protected.clusterpas.dev/env!=prod', 'protected.clusterpas.dev/env', 'protected.clusterpass.dev/env'],
    ['protected.clusterpass.io/env', 'protected.clusterpass.io/env', 'protected.clusterpass.dev/env'],
    ['env,!protected/env', 'protected/env', 'protected.clusterpass.dev/env'],
    ['kubernetes.io/metadata.names!=alpha', 'kubernetes.io/metadata.names', 'kubernetes.io/metadata.name'],
    ['k8s.io/metadata.name notin (alpha)', 'k8s.io/metadata.name', 'kubernetes.io/metadata.name'],
    ['metadata.name!=alpha', 'metadata.name', 'kubernetes.io/metadata.name'],
  ])('nor does the selector %s', async (selector, key, meant) => {
    const answer = await bind('mistaken', { annotations: { 'clusterpass.dev/clusters': selector } });
    expect([answer.code, answer.json.details?.causes]).toEqual([
      422,
      [
        {
          reason: 'FieldValueInvalid',
          message: `Invalid value: "${selector}": selects by the label "${key}"; did you mean "${meant}"?`,
          field: 'metadata.annotations[clusterpass.dev/clusters]',
        },
      ],
    ]);
    expect(await seenByMia()).toBe(0);
  });

  it('nor does a patch that renames the key of a binding', async () => {
    expect((await bind('right', { annotations: { 'clusterpass.dev/clusters': 'env=dev' } })).code).toBe(201);
    expect(await seenByMia()).toBe(1);
    const body = {
      metadata: { annotations: { 'clusterpass.dev/clusters': null, 'clusterpass.dev/cluster': 'env=dev' } },
    };
    const path = `${RBAC}/clusterrolebindings/right`;
    expect((await server.call('PATCH', path, { body, headers: MERGE_PATCH })).code).toBe(422);
    expect(await seenByMia()).toBe(1);
  });
});

describe('A29: other kinds', () => {
  it.each<[string, string, object, string]>([
    ['a role', `${RBAC}/clusterroles`, { annotations: { 'clusterpass.dev/clusters': 'env=dev' } }, 'RoleBinding'],
    ['a cluster', CLUSTERS, { annotations: { 'clusterpass.dev/prob': 'disabled' } }, 'clusterpass.dev/probe'],
    ['a cluster', CLUSTERS, { labels: { 'clusterpass.dev/env': 'x' } }, 'protected.clusterpass.dev/env'],
    ['a cluster', CLUSTERS, { labels: { 'protected.clusterpas.dev/env': 'x' } }, 'protected.clusterpass.dev/env'],
    [
      'an account',
      inNamespace('serviceaccounts'),
      { annotations: { 'clusterpass.dev/cluster': 'alpha' } },
      'clusterpass.dev/in-cluster',
    ],
  ])('%s at %s', async (_, path, metadata, meant) => {
    const type = path === CLUSTERS ? { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' } : {};
    const body = { ...type, metadata: { name: 'misspelled', ...metadata } };
    const answer = await server.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(422);
    expect(answer.json.message).toContain(meant);
  });

  it('the cluster that an object names is the cluster of the path', async () => {
    const body = (name: string) => ({ metadata: { name, annotations: { 'clusterpass.dev/in-cluster': 'beta' } } });
    const wrong = await server.call('POST', inNamespace('serviceaccounts'), { body: body('misplaced') });
    expect([wrong.code, wrong.json.details?.causes[0].field]).toEqual([
      422,
      'metadata.annotations[clusterpass.dev/in-cluster]',
    ]);
    const right = await server.call('POST', inNamespace('serviceaccounts', 'ci', 'beta'), { body: body('placed') });
    expect(right.code, right.text).toBe(201);
  });
});
