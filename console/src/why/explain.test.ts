import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { grantIn, issuing, seeing } from './explain.ts';
import { missingRule } from './missing-rule.ts';

describe('the reason of a yes', () => {
  it('is taken apart', () => {
    expect(grantIn('RBAC: allowed by RoleBinding "demo-issue/shop" of Role "demo-token" to Group "team-shop"')).toEqual(
      {
        bindingKind: 'RoleBinding',
        binding: 'demo-issue',
        namespace: 'shop',
        roleKind: 'Role',
        role: 'demo-token',
        subject: 'Group team-shop',
      },
    );
    expect(grantIn('RBAC: allowed by ClusterRoleBinding "view" of ClusterRole "clusterpass:viewer"')).toMatchObject({
      binding: 'view',
      namespace: '',
      subject: '',
    });
  });

  it('is left alone when it is something else', () => {
    expect(grantIn('everyone may list clusters')).toBeUndefined();
    expect(grantIn('')).toBeUndefined();
  });
});

describe('the rule that is missing', () => {
  const rules = (text: string) => parseAllDocuments(text).map((document) => document.toJS());

  it('for a pass: one account, one verb, one cluster', () => {
    const [role, binding] = rules(missingRule(issuing('prod-eu-1', 'ci', 'builder'), 'carl'));
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

  it('for seeing a cluster: its entry in the registry', () => {
    const [role, binding] = rules(missingRule(seeing('prod-eu-1'), 'carl'));
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

  it('means what was typed, whatever that was', () => {
    const hostile = 'x: {y}\n- "z" #';
    for (const name of [hostile, 'true', '007', 'null', "o'brien"]) {
      const [role, binding] = rules(missingRule(issuing(name, name, name), name));
      expect(role.rules[0].resourceNames).toEqual([name]);
      expect(role.metadata.namespace).toBe(name);
      expect(binding.subjects[0].name).toBe(name);
    }
  });
});
