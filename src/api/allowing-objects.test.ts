import { expect, it } from 'vitest';
import { type Action, type AllowedSubject, allowingObjects } from './allowing-objects.ts';
import type { ApiObject } from './kind.ts';
import { RBAC_GROUP } from './kinds/rbac.ts';

const carl: AllowedSubject = { kind: 'User', name: 'carl' };
const pass = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'ci', name: 'builder' };
const see = { verb: 'get', group: 'clusterregistry.k8s.io', resource: 'clusters', name: 'prod-eu-1' };

const objectsFor = (action: Action, subject = carl): ApiObject[] => allowingObjects(action, subject) as ApiObject[];

it('allows a pass of one service account in one cluster', () => {
  const [role, binding] = objectsFor({ ...pass, cluster: 'prod-eu-1' });
  expect(role).toMatchObject({
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'Role',
    metadata: { namespace: 'ci' },
    rules: [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['builder'], verbs: ['create'] }],
  });
  expect(binding).toEqual({
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name: expect.stringMatching(/^create-serviceaccounts-token-builder-carl-prod-eu-1-[0-9a-f]{8}$/) },
    spec: {
      subjects: [{ kind: 'User', name: 'carl' }],
      roleRef: { kind: 'Role', name: role?.metadata.name },
      clusters: { names: ['prod-eu-1'] },
      namespaces: ['ci'],
    },
  });
});

it('allows to see one cluster, also in lists', () => {
  const [role, binding] = objectsFor(see);
  expect(role).toMatchObject({
    kind: 'ClusterRole',
    rules: [{ resources: ['clusters'], resourceNames: ['prod-eu-1'], verbs: ['get', 'list', 'watch'] }],
  });
  expect(binding).toMatchObject({ kind: 'FleetRoleBinding', spec: { clusters: { names: ['prod-eu-1'] } } });
  for (const other of [
    { ...see, verb: 'delete' },
    { ...see, verb: 'get', subresource: 'status' },
  ]) {
    expect(objectsFor(other)[0]).toMatchObject({ rules: [{ verbs: [other.verb] }] });
  }
});

it('allows a path of the server, which belongs to no cluster', () => {
  const [role, binding] = objectsFor({ verb: 'get', path: '/metrics' });
  expect(role).toMatchObject({ kind: 'ClusterRole', rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }] });
  expect(binding?.kind).toBe('ClusterRoleBinding');
});
