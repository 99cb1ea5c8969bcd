import { expect, it } from 'vitest';
import { Invocation } from '../command.ts';
import { bindingOf } from './grant.ts';

const NOW = Date.parse('2026-11-20T10:00:00.900Z');
const view = { role: 'clusterpass:viewer', selector: 'env=dev' };

const bound = (args: readonly string[], options: object, now = NOW) =>
  bindingOf(new Invocation(args, options as Readonly<Record<string, unknown>>), now);

it.each([
  [
    'a user, by labels',
    ['jane'],
    view,
    {
      subjects: [{ kind: 'User', name: 'jane' }],
      roleRef: { kind: 'ClusterRole', name: 'clusterpass:viewer' },
      clusters: { selector: { matchLabels: { env: 'dev' } } },
    },
  ],
  [
    'a group with its agents, in one namespace of one cluster, with times',
    [],
    {
      group: 'shop',
      role: 'Role/deployer',
      cluster: 'prod-eu-1',
      namespace: 'shop',
      for: '8h',
      agents: true,
    },
    {
      subjects: [{ kind: 'Group', name: 'shop' }],
      roleRef: { kind: 'Role', name: 'deployer' },
      clusters: { names: ['prod-eu-1'] },
      namespaces: ['shop'],
      agents: 'Allow',
      expiresAt: '2026-11-20T18:00:00Z',
    },
  ],
])('the FleetRoleBinding for %s', (_name, args, options, spec) => {
  expect(bound(args, options)).toEqual({
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name: expect.stringMatching(/^[a-z0-9-]+-[0-9a-f]{8}$/) },
    spec,
  });
});

it('an empty namespace is left to the server, which refuses it, and not taken for all of them', () => {
  expect(bound(['jane'], { ...view, namespace: '' }).spec).toMatchObject({ namespaces: [''] });
});

it.each([
  [[], view, 'name either USER or --group'],
  [['jane'], { ...view, group: 'shop' }, 'name either USER or --group'],
  [['jane'], { selector: 'env=dev' }, '--role is required'],
  [['jane'], { role: 'r' }, '--cluster or --selector is required'],
  [['jane'], { role: 'r', selector: 'env in dev' }, '--selector: cannot read "env in dev"'],
  [['jane'], { ...view, role: 'Role/r' }, 'a Role needs --namespace'],
  [['jane'], { ...view, for: '0s' }, '--for must be above zero'],
  [['jane'], { ...view, for: 'tomorrow' }, '--for: "tomorrow" is not a duration'],
])('wrong usage: %j %j', (args, options, message) => {
  expect(() => bound(args, options)).toThrow(message);
});
