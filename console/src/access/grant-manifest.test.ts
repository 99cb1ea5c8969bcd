import { expect, it } from 'vitest';
import { isDns1123Subdomain } from '../../../src/api/names.ts';
import { collectionOf, type GrantDraft, grantObjects, missingInGrant, NEW_GRANT } from './grant-manifest.ts';

const view = { ...NEW_GRANT, subject: 'team-shop', labels: 'env=dev, region=eu' };

it('grants a group to see clusters by label', () => {
  const [binding, ...more] = grantObjects(view);
  expect(more).toEqual([]);
  expect(binding).toEqual({
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name: expect.stringMatching(/^team-shop-sees-env-dev-region-eu-[0-9a-f]{8}$/) },
    spec: {
      subjects: [{ kind: 'Group', name: 'team-shop' }],
      roleRef: { kind: 'ClusterRole', name: 'clusterpass:viewer' },
      clusters: { selector: { matchLabels: { env: 'dev', region: 'eu' } } },
    },
  });
});

it('grants passes for one account in one cluster, until a time', () => {
  const draft = { ...NEW_GRANT, subjectKind: 'User', subject: 'id:Jane', action: 'account', namespace: 'ci' } as const;
  const until = '2026-12-01T10:00:00Z';
  const objects = grantObjects({ ...draft, account: 'builder', where: 'cluster', cluster: 'dev-eu-1', until });
  expect(objects.map(collectionOf)).toEqual([
    '/apis/rbac.authorization.k8s.io/v1/namespaces/ci/roles',
    '/apis/clusterpass.dev/v1alpha1/fleetrolebindings',
  ]);
  const [role, binding] = objects;
  expect(role?.metadata).toEqual({
    name: expect.stringMatching(/^id-jane-gets-builder-passes-in-dev-eu-1-[0-9a-f]{8}$/),
    namespace: 'ci',
  });
  expect(binding?.spec).toMatchObject({
    roleRef: { kind: 'Role', name: role?.metadata.name },
    clusters: { names: ['dev-eu-1'] },
    namespaces: ['ci'],
    expiresAt: until,
  });
});

it('grants passes for every account of a namespace in all clusters', () => {
  const [binding] = grantObjects({ ...view, action: 'namespace', namespace: 'shop', where: 'all' });
  expect(binding?.spec).toMatchObject({
    roleRef: { kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    clusters: { all: true },
    namespaces: ['shop'],
  });
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
  expect(missingInGrant({ ...view, labels: 'env in' })).toContain('cannot read');
  // A field for times takes years with up to six digits.
  expect(missingInGrant({ ...view, until: '12026-01-01T10:00' })).toBe('Enter a time before the year 10000.');
  expect(missingInGrant({ ...view, until: '2026-12-01T10:00' })).toBe('');
  expect(missingInGrant(view)).toBe('');
});
