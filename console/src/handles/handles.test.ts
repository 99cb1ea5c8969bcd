import { expect, it } from 'vitest';
import { servePages } from '../paged-server.fixture.ts';
import { decisionsFor, grantsTo, type Handle, listHandles } from './handles.ts';

const handle = (phase: 'Pending' | 'Ready', approval: 'none' | 'confirm' | 'review'): Handle => ({
  metadata: { name: 'pass_x' },
  spec: {},
  status: { phase, approval },
});

it.each([
  ['Pending', 'confirm', true, 2],
  ['Pending', 'confirm', false, 0],
  ['Pending', 'review', true, 0],
  ['Pending', 'review', false, 2],
  ['Ready', 'review', false, 0],
  ['Ready', 'none', true, 0],
] as const)('MC-91: %s, %s, own: %s: %i decisions', (phase, approval, isOwn, count) => {
  expect(decisionsFor(handle(phase, approval), isOwn)).toHaveLength(count);
});

it('MC-93: the grants of an account are those of itself and of its groups', () => {
  const grant = (name: string, kind: string, subject: string, namespace?: string) => ({
    binding: { kind: 'ClusterRoleBinding' as const, name },
    role: { kind: 'ClusterRole' as const, name: 'r' },
    subjects: [
      { kind: 'User', name: 'carl' },
      { kind, name: subject, ...(namespace === undefined ? {} : { namespace }) },
    ],
    change: '' as const,
  });
  const grants = [
    grant('account', 'ServiceAccount', 'builder', 'ci'),
    grant('user', 'User', 'system:serviceaccount:ci:builder'),
    grant('all', 'Group', 'system:serviceaccounts'),
    grant('namespace', 'Group', 'system:serviceaccounts:ci'),
    grant('everyone', 'Group', 'system:authenticated'),
    grant('other-namespace', 'ServiceAccount', 'builder', 'dev'),
    grant('other-account', 'ServiceAccount', 'other', 'ci'),
    grant('group', 'Group', 'builder'),
    grant('person', 'User', 'builder'),
  ];
  const names = grantsTo({ namespace: 'ci', name: 'builder' }, grants).map(({ binding }) => binding?.name);
  expect(names).toEqual(['account', 'user', 'all', 'namespace', 'everyone']);
});

it('lists the handles of all pages, waiting ones first', async () => {
  const named = (name: string, phase: 'Pending' | 'Ready') => ({ ...handle(phase, 'review'), metadata: { name } });
  const client = await servePages([[named('a', 'Ready'), named('b', 'Pending')], [named('c', 'Pending')]]);
  expect((await listHandles(client)).map(({ metadata }) => metadata.name)).toEqual(['b', 'c', 'a']);
});
