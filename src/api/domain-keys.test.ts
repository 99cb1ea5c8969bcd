import { describe, expect, it } from 'vitest';
import { createCatalog } from './catalog.ts';
import { validateDomainKeys } from './domain-keys.ts';

const catalog = createCatalog({ productName: 'kubernetes' });

const details = (kind: string, annotations: Record<string, string>): string[] =>
  validateDomainKeys(kind, { annotations }).map(({ detail }) => detail);
const labelDetails = (kind: string, labels: Record<string, string>): string[] =>
  validateDomainKeys(kind, { labels }).map(({ detail }) => detail);

describe('A29: annotations of the domain', () => {
  it.each([
    ['ClusterRoleBinding', 'clusterpass.dev/cluster', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.dev/clusterz', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.dev/Clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'Clusterpass.dev/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpas.dev/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.io/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'rbac.clusterpass.dev/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.dev.io/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.dev.clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass.dev-clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass-clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpass_cluster', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpassClusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'cluster-pass.dev/clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusterpas-clusterz', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'clusters.clusterpass.dev', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'example.com/clusterpass-clusters', 'clusterpass.dev/clusters'],
    ['ClusterRoleBinding', 'CLUSTERPASS.DEV/CLUSTERS', 'clusterpass.dev/clusters'],
    ['RoleBinding', 'clusterpass.dev/in-cluster', 'clusterpass.dev/clusters'],
    ['RoleBinding', 'clusterpass.dev/selector', 'clusterpass.dev/clusters'],
    ['RoleBinding', 'clusterpass.dev/expires', 'clusterpass.dev/expires-at'],
    ['ServiceAccount', 'clusterpass.dev/cluster', 'clusterpass.dev/in-cluster'],
    ['Namespace', 'clusterpass.dev/clusters', 'clusterpass.dev/in-cluster'],
    ['Cluster', 'clusterpass.dev/probes', 'clusterpass.dev/probe'],
    ['Cluster', 'clusterpass.dev/confirmed-endpoints', 'clusterpass.dev/confirmed-endpoint'],
    ['TokenRequest', 'clusterpass.dev/track', 'clusterpass.dev/tracked'],
  ])('%s: %s is refused with %s', (kind, key, meant) => {
    expect(details(kind, { [key]: 'x' })).toEqual([
      `is not an annotation of a ${kind}; did you mean ${JSON.stringify(meant)}?`,
    ]);
  });

  it.each([
    ['ClusterRole', 'clusterpass.dev/clusters', 'it belongs on a ClusterRoleBinding or RoleBinding'],
    ['ClusterRole', 'clusterpass.dev/nonsense', 'a ClusterRole has no annotations of clusterpass.dev'],
    ['Cluster', 'clusterpass.dev/nonsense', 'which has "clusterpass.dev/probe", '],
    ['Cluster', 'protected.clusterpass.dev/env', 'is a label: set it in metadata.labels'],
  ])('%s: %s is refused, and the error says %s', (kind, key, text) => {
    expect(details(kind, { [key]: 'x' })).toEqual([expect.stringContaining(text)]);
  });

  it('every kind accepts its own, those of other domains, and the origin that the server writes', () => {
    expect(details('ClusterRoleBinding', { 'clusterpass.dev/clusters': 'env=dev' })).toEqual([]);
    for (const { kind } of catalog.storedKinds) {
      expect(details(kind, { 'clusterpass.dev/manifest': 'x', note: 'y', 'example.com/cluster': 'z' })).toEqual([]);
      expect(details(kind, { 'clusterpass.io/owner': 'x', 'other.dev/clusters': 'x' })).toEqual([]);
      if (!kind.endsWith('Binding'))
        expect(details(kind, { clusters: 'x', 'kubernetes.io/clusters': 'x' })).toEqual([]);
    }
  });

  it.each([
    ['clusters', 'clusterpass.dev/clusters'],
    ['cluster', 'clusterpass.dev/clusters'],
    ['cluster-selector', 'clusterpass.dev/clusters'],
    ['clusterSelector', 'clusterpass.dev/clusters'],
    ['orchestrator/clusters', 'clusterpass.dev/clusters'],
    ['kubernetes.io/clusters', 'clusterpass.dev/clusters'],
    ['rbac.authorization.k8s.io/clusters', 'clusterpass.dev/clusters'],
    ['expires-at', 'clusterpass.dev/expires-at'],
    ['expiresAt', 'clusterpass.dev/expires-at'],
    ['bound-cluster', 'clusterpass.dev/bound-cluster'],
    ['approval', 'clusterpass.dev/approval'],
    ['agents', 'clusterpass.dev/agents'],
  ])('a binding with %s lacks the domain of %s', (key, meant) => {
    for (const kind of ['ClusterRoleBinding', 'RoleBinding']) {
      expect(details(kind, { [key]: 'x' })).toEqual([
        `is not an annotation of a ${kind}; did you mean ${JSON.stringify(meant)}?`,
      ]);
      const old = { annotations: { [key]: 'x' } };
      expect(validateDomainKeys(kind, { annotations: { [key]: 'x', note: 'y' } }, old)).toEqual([]);
    }
  });

  it('a binding accepts annotations of kubectl, Helm, Kubernetes and other programs', () => {
    const annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'meta.helm.sh/release-name': 'x',
      'rbac.authorization.kubernetes.io/autoupdate': 'true',
      'jit.example.com/expires-at': 'x',
      'example.com/approval': 'CHG-1',
      description: 'x',
      approver: 'x',
    };
    expect(details('ClusterRoleBinding', annotations)).toEqual([]);
  });

  it('every kind refuses an unknown one', () => {
    for (const { kind } of catalog.storedKinds) expect(details(kind, { 'clusterpass.dev/x-y-z': '' })).toHaveLength(1);
  });

  it('every kind inside a cluster accepts the name of its cluster, and no other kind does', () => {
    for (const { kind, inCluster } of catalog.storedKinds) {
      expect(details(kind, { 'clusterpass.dev/in-cluster': 'a' }), kind).toHaveLength(inCluster ? 0 : 1);
    }
  });

  it('a stored one is accepted until it is changed', () => {
    const old = { annotations: { 'clusterpass.dev/cluster': 'a' } };
    expect(validateDomainKeys('Secret', { annotations: { ...old.annotations, note: 'x' } }, old)).toEqual([]);
    const changed = { annotations: { 'clusterpass.dev/cluster': 'b' } };
    expect(validateDomainKeys('Secret', changed, old)).toHaveLength(1);
  });
});

describe('A29: labels of the domain', () => {
  it('are protected labels, on clusters', () => {
    expect(labelDetails('Cluster', { 'protected.clusterpass.dev/env': 'prod', env: 'prod' })).toEqual([]);
    expect(labelDetails('Secret', { 'protected.clusterpass.dev/env': 'prod' })).toHaveLength(1);
    expect(labelDetails('Cluster', { 'clusterpass.dev/env': 'prod' })).toEqual([
      'the domain clusterpass.dev is reserved; did you mean "protected.clusterpass.dev/env"?',
    ]);
  });

  it.each([
    ['protected.clusterpas.dev/env', 'env'],
    ['protected.clusterpass.io/env', 'env'],
    ['protectd.clusterpass.com/env', 'env'],
    ['clusterpass.io/env', 'env'],
    ['cluster-pass.dev/env', 'env'],
    ['protected/env', 'env'],
    ['protected.example.com/env', 'env'],
    ['clusterpass-protected/env', 'env'],
    ['clusterpass-protected-env', 'env'],
    ['protected.clusterpass.dev.env', 'env'],
  ])('%s on a cluster was meant as a protected one', (key, name) => {
    const meant = `did you mean "protected.clusterpass.dev/${name}"?`;
    expect(labelDetails('Cluster', { [key]: 'prod' })).toEqual([expect.stringContaining(meant)]);
    expect(labelDetails('Secret', { [key]: 'prod' }).length).toBe(key.includes('clusterpass.dev') ? 1 : 0);
    // A stored one stays until it is changed.
    expect(validateDomainKeys('Cluster', { labels: { [key]: 'prod' } }, { labels: { [key]: 'prod' } })).toEqual([]);
  });

  it.each([
    'protected',
    'protected-by',
    'example.com/protected',
    'topology.cluster.x-k8s.io/owned',
    'clusterclass.example.com/name',
    'clusters.example.com/env',
    'kubernetes.io/metadata.name',
  ])('%s on a cluster is a separate label', (key) => {
    expect(labelDetails('Cluster', { [key]: 'x' })).toEqual([]);
  });

  it.each([
    'clusterpass.dev.io/clusters',
    'clusterpass-clusters',
    'clusterpass.dev.clusters',
    'clusterpass.io/cluster',
  ])('%s on a binding was meant as an annotation', (key) => {
    expect(labelDetails('RoleBinding', { [key]: 'dev' })).toEqual([
      'is not a label; did you mean the annotation "clusterpass.dev/clusters"?',
    ]);
  });

  it('others that contain our words are accepted', () => {
    const labels = {
      'clusterpass-owner': 'x',
      'app.kubernetes.io/part-of': 'clusterpass',
      clusters: 'x',
      cluster: 'x',
    };
    for (const { kind } of catalog.storedKinds) expect(labelDetails(kind, labels), kind).toEqual([]);
  });

  it('a label that was meant as an annotation is refused', () => {
    expect(labelDetails('ClusterRoleBinding', { 'clusterpass.dev/clusters': 'dev' })).toEqual([
      'is not a label; did you mean the annotation "clusterpass.dev/clusters"?',
    ]);
  });
});
