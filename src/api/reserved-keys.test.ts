import { describe, expect, it } from 'vitest';
import { createCatalog } from './catalog.ts';
import { isReservedLabel, validateDomainKeys, validateDomainLabels } from './reserved-keys.ts';

const catalog = createCatalog({ productName: 'kubernetes' });

const details = (kind: string, annotations: Record<string, string>): string[] =>
  validateDomainKeys(kind, { annotations }).map(({ detail }) => detail);
const labelDetails = (kind: string, labels: Record<string, string>): string[] =>
  validateDomainKeys(kind, { labels }).map(({ detail }) => detail);

describe('A29: annotations of the domain', () => {
  it.each([
    ['clusterpass.dev/clusters', 'spec.clusters'],
    ['clusterpass.dev/expires-at', 'spec.expiresAt'],
    ['clusterpass.dev/bound-cluster', 'spec.clusters.uid'],
    ['clusterpass.dev/agents', 'spec.agents'],
    ['clusterpass.dev/approval', 'spec.approval.by'],
  ])('what %s would say about a binding is the field %s', (key, field) => {
    for (const kind of ['ClusterRoleBinding', 'RoleBinding', 'FleetRoleBinding']) {
      expect(details(kind, { [key]: 'x' })).toEqual([
        `is not an annotation of a ${kind}: use the field ${field} of a FleetRoleBinding`,
      ]);
    }
  });

  it.each([
    ['ClusterRoleBinding', 'clusterpass.dev/cluster'],
    ['RoleBinding', 'Clusterpass.dev/clusters'],
    ['FleetRoleBinding', 'rbac.clusterpass.dev/x'],
    ['ClusterRole', 'clusterpass.dev/clusters'],
    ['RoleBinding', 'clusterpass.dev/in-cluster'],
    ['Cluster', 'protected.clusterpass.dev/env'],
  ])('%s: %s is refused', (kind, key) => {
    expect(details(kind, { [key]: 'x' })).toEqual([`is not an annotation of a ${kind}`]);
  });

  it('every kind accepts keys of other domains and without one, and the origin that the server writes', () => {
    for (const { kind } of catalog.storedKinds) {
      expect(details(kind, { 'clusterpass.dev/manifest': 'x', note: 'y', 'example.com/cluster': 'z' })).toEqual([]);
      expect(details(kind, { clusters: 'x', 'clusterpass.io/clusters': 'x', 'clusterpass-clusters': 'x' })).toEqual([]);
    }
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
    expect(labelDetails('Secret', { 'protected.clusterpass.dev/env': 'prod' })).toEqual(['is not a label of a Secret']);
    for (const key of ['clusterpass.dev/env', 'Protected.clusterpass.dev/env', 'x.protected.clusterpass.dev/env']) {
      expect(labelDetails('Cluster', { [key]: 'prod' }), key).toEqual([
        'the domain clusterpass.dev is reserved: the labels of a cluster in it begin with protected.clusterpass.dev/',
      ]);
      expect([isReservedLabel(key), isReservedLabel('protected.clusterpass.dev/env')]).toEqual([true, false]);
      expect(validateDomainKeys('Cluster', { labels: { [key]: 'prod' } }, { labels: { [key]: 'prod' } })).toEqual([]);
    }
    for (const key of ['protected', 'example.com/protected', 'protected.example.com/env', 'clusterpass-owner']) {
      expect(labelDetails('Cluster', { [key]: 'prod' }), key).toEqual([]);
    }
  });

  it('are those that the server sets, on other kinds', () => {
    expect(labelDetails('FleetRoleBinding', { 'clusterpass.dev/access-request': 'x' })).toEqual([]);
    expect(labelDetails('ClusterRoleBinding', { 'clusterpass.dev/access-request': 'x' })).toHaveLength(1);
    expect(labelDetails('RoleBinding', { 'clusterpass.dev/clusters': 'x' })).toEqual([
      'is not a label of a RoleBinding',
    ]);
  });

  it('are checked for an object that a field describes', () => {
    expect(validateDomainLabels('Cluster', { 'clusterpass.dev/env': 'x' }, 'spec.labels')).toMatchObject([
      { field: 'spec.labels[clusterpass.dev/env]' },
    ]);
  });
});
