import { expect, it } from 'vitest';
import { permissionsOf, UNKNOWN_PERMISSIONS } from './permissions.ts';

const permissions = permissionsOf({
  resourceRules: [
    { verbs: ['get', 'list'], apiGroups: ['clusterpass.dev'], resources: ['issuedtokens'] },
    { verbs: ['*'], apiGroups: [''], resources: ['*/status', 'pods'], resourceNames: ['one'] },
  ],
  nonResourceRules: [
    { verbs: ['get'], nonResourceURLs: ['/metrics', '/healthz/*'] },
    { verbs: ['post'], nonResourceURLs: ['/other'] },
  ],
});

it.each([
  ['list', 'clusterpass.dev', 'issuedtokens', true],
  ['delete', 'clusterpass.dev', 'issuedtokens', false],
  ['list', '', 'issuedtokens', false],
  ['delete', '', 'pods', true],
  ['patch', '', 'nodes/status', true],
  ['patch', '', 'nodes', false],
])('%s %s/%s: %s', (verb, group, resource, allowed) => {
  expect(permissions.can(verb, group, resource)).toBe(allowed);
});

it.each([
  ['/metrics', true],
  ['/healthz/etcd', true],
  ['/healthz', false],
  ['/other', false],
])('get %s: %s', (path, allowed) => expect(permissions.canGetPath(path)).toBe(allowed));

it('permissions without rules are known, and allow nothing', () => {
  const none = permissionsOf({});
  expect([none.isKnown, none.can('get', '', 'pods'), UNKNOWN_PERMISSIONS.isKnown]).toEqual([true, false, false]);
});

it('a rule with * allows everything', () => {
  const all = permissionsOf({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  });
  expect([all.can('confirm', 'a', 'b/c'), all.canGetPath('/x')]).toEqual([true, true]);
});
