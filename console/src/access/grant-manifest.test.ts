import { expect, it } from 'vitest';
import { isDns1123Subdomain } from '../../../src/api/names.ts';
import {
  collectionOf,
  type GrantDraft,
  grantObjects,
  isSelected,
  missingInGrant,
  NEW_GRANT,
} from './grant-manifest.ts';

const view = { ...NEW_GRANT, subject: 'team-shop', labels: 'env=dev, region=eu' };

it('grants a group to see clusters by label', () => {
  const [binding, ...more] = grantObjects(view);
  expect(more).toEqual([]);
  expect(binding).toEqual({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: {
      name: expect.stringMatching(/^team-shop-sees-env-dev-region-eu-[0-9a-f]{8}$/),
      annotations: { 'clusterpass.dev/clusters': 'env=dev,region=eu' },
    },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'team-shop' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:viewer' },
  });
});

it('grants passes for one account in one cluster, until a time', () => {
  const draft = { ...NEW_GRANT, subjectKind: 'User', subject: 'id:Jane', action: 'account', namespace: 'ci' } as const;
  const objects = grantObjects({
    ...draft,
    account: 'builder',
    where: 'cluster',
    cluster: 'dev-eu-1',
    until: '2026-12-01T10:00:00Z',
  });
  expect(objects.map(collectionOf)).toEqual([
    '/apis/rbac.authorization.k8s.io/v1/namespaces/ci/roles',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/ci/rolebindings',
  ]);
  const [role, binding] = objects;
  expect(role?.metadata).toEqual({
    name: expect.stringMatching(/^id-jane-gets-builder-passes-in-dev-eu-1-[0-9a-f]{8}$/),
    namespace: 'ci',
  });
  expect(binding?.metadata.annotations).toEqual({
    'clusterpass.dev/clusters': 'kubernetes.io/metadata.name=dev-eu-1',
    'clusterpass.dev/expires-at': '2026-12-01T10:00:00Z',
  });
  expect(binding?.roleRef).toMatchObject({ kind: 'Role', name: role?.metadata.name });
});

it('grants passes for every account of a namespace in all clusters', () => {
  const [binding] = grantObjects({ ...view, action: 'namespace', namespace: 'shop', where: 'all' });
  expect(binding).toMatchObject({ kind: 'RoleBinding', metadata: { namespace: 'shop' } });
  expect(binding?.roleRef).toMatchObject({ kind: 'ClusterRole', name: 'clusterpass:token-creator' });
  expect(binding?.metadata.annotations).toBeUndefined();
});

it('names different grants differently, and the same grant always the same', () => {
  const account = { ...view, action: 'account', namespace: 'ci', account: 'builder' } as const;
  const drafts: GrantDraft[] = [
    { ...view, labels: 'env=dev' },
    { ...view, labels: 'env!=dev' },
    { ...view, labels: 'env=dev', subjectKind: 'User' },
    { ...view, labels: 'env=dev', until: '2026-12-01T10:00:00Z' },
    { ...view, labels: 'env=dev', until: '2026-12-02T10:00:00Z' },
    { ...view, labels: `env in (${'a'.repeat(300)})` },
    { ...view, labels: `env in (${'a'.repeat(301)})` },
    account,
    { ...account, namespace: 'shop' },
  ];
  const names = drafts.map((draft) => grantObjects(draft).at(-1)?.metadata.name ?? '');
  expect(new Set(names).size).toBe(drafts.length);
  expect(drafts.map((draft) => grantObjects(draft).at(-1)?.metadata.name)).toEqual(names);
  expect(names.flatMap(isDns1123Subdomain)).toEqual([]);
});

it('says what is missing', () => {
  expect(missingInGrant(NEW_GRANT)).toBe('Enter the name of the group.');
  expect(missingInGrant({ ...view, action: 'account' })).toBe('Enter the namespace.');
  expect(missingInGrant({ ...view, action: 'account', namespace: 'a' })).toBe('Enter the service account.');
  expect(missingInGrant({ ...view, labels: '' })).toContain('labels');
  expect(missingInGrant({ ...view, where: 'cluster' })).toBe('Enter the cluster.');
  // A field for times takes years with up to six digits.
  expect(missingInGrant({ ...view, until: '12026-01-01T10:00' })).toBe('Enter a time before the year 10000.');
  expect(missingInGrant({ ...view, until: '2026-12-01T10:00' })).toBe('');
  expect(missingInGrant(view)).toBe('');
});

it.each([
  ['', true],
  ['env=dev', true],
  ['env=dev, region==eu', true],
  ['env=dev,region=us', false],
  ['tier=', false],
  ['kubernetes.io/metadata.name=a', true],
  ['kubernetes.io/metadata.name=b', false],
  ['env in (dev,staging)', undefined],
  ['env!=prod', undefined],
])('%j selects the cluster: %s', (selector, selected) => {
  expect(isSelected(selector, 'a', { env: 'dev', region: 'eu' })).toBe(selected);
});
