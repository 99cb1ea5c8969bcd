import { expect, it } from 'vitest';
import { parseGrant } from './access-review.ts';

it('parses binding, role and subject of a reason', () => {
  expect(
    parseGrant('RBAC: allowed by RoleBinding "demo-issue/shop" of Role "demo-token" to Group "team-shop"'),
  ).toEqual({
    bindingKind: 'RoleBinding',
    binding: 'demo-issue',
    namespace: 'shop',
    roleKind: 'Role',
    role: 'demo-token',
    subject: 'Group team-shop',
  });
  expect(parseGrant('RBAC: allowed by ClusterRoleBinding "view" of ClusterRole "clusterpass:viewer"')).toMatchObject({
    binding: 'view',
    namespace: '',
    subject: '',
  });
});

it.each(['everyone may list clusters', ''])('finds no grant in %j', (reason) => {
  expect(parseGrant(reason)).toBeUndefined();
});
