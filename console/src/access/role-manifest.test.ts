import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type AccessRequest, toIssuePass, toViewCluster } from './access-review.ts';
import { roleManifest } from './role-manifest.ts';

const parse = (request: AccessRequest, username: string) =>
  parseAllDocuments(roleManifest(request, username)).map((document) => document.toJS());

it('allows a pass for one service account in one cluster', () => {
  const [role, binding] = parse(toIssuePass('prod-eu-1', 'ci', 'builder'), 'carl');
  expect(role).toMatchObject({
    kind: 'Role',
    metadata: { namespace: 'ci' },
    rules: [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['builder'], verbs: ['create'] }],
  });
  expect(binding).toMatchObject({
    kind: 'RoleBinding',
    metadata: {
      namespace: 'ci',
      annotations: { 'clusterpass.dev/clusters': 'kubernetes.io/metadata.name=prod-eu-1' },
    },
    subjects: [{ kind: 'User', name: 'carl' }],
    roleRef: { kind: 'Role', name: role.metadata.name },
  });
});

it('allows to see one cluster of the registry', () => {
  const [role, binding] = parse(toViewCluster('prod-eu-1'), 'carl');
  expect(role.rules).toEqual([
    {
      apiGroups: ['clusterregistry.k8s.io'],
      resources: ['clusters'],
      resourceNames: ['prod-eu-1'],
      verbs: ['get', 'list', 'watch'],
    },
  ]);
  expect(binding.kind).toBe('ClusterRoleBinding');
});

it.each(['x: {y}\n- "z" #', 'true', '007', 'null', "o'brien"])('quotes the name %j', (name) => {
  const [role, binding] = parse(toIssuePass(name, name, name), name);
  expect(role.rules[0].resourceNames).toEqual([name]);
  expect(role.metadata.namespace).toBe(name);
  expect(binding.subjects[0].name).toBe(name);
});
