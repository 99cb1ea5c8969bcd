import { expect, it, onTestFinished } from 'vitest';
import { type Client, createClient } from '../../../src/client/index.ts';
import { scriptServer, status } from '../../../src/client/script-server.fixture.ts';
import { servePages } from '../paged-server.fixture.ts';
import { grantsTo, readGrants } from './account-grants.tsx';
import { type Approval, accessOf, decide, decisionsFor, listApprovals } from './approvals.ts';

it.each([
  [{ cluster: 'a' }, 'permission to see the cluster a'],
  [{ cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' } }, 'passes for ci/builder in a'],
  [
    {
      cluster: 'a',
      resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'n', name: 'p' },
    },
    'permission to get pods/log p in the namespace n in a',
  ],
  [
    { cluster: 'a', resourceAttributes: { verb: 'list', group: 'apps', resource: 'deployments' } },
    'permission to list deployments.apps in a',
  ],
])('%j asks %s', (spec, text) => expect(accessOf({ resource: 'accessrequests', spec })).toBe(text));

it('a decision is about the request that was shown, not about a later one of its name', async () => {
  const sent: unknown[] = [];
  const client = { request: async (...call: unknown[]) => sent.push(call) } as unknown as Client;
  const metadata = { name: 'jane-1', uid: 'u-1' };
  await decide(client, { resource: 'accessrequests', metadata, spec: {} }, 'Approved', '');
  const path = '/apis/clusterpass.dev/v1alpha1/accessrequests/jane-1/approval';
  expect(sent).toMatchObject([['PATCH', path, { body: { metadata: { uid: 'u-1' } } }]]);
});

it('lists the requests of all pages, open ones first', async () => {
  const request = (name: string, phase: string, day: string) => ({
    metadata: { name, creationTimestamp: `2026-01-${day}T00:00:00Z` },
    spec: {},
    status: { phase },
  });
  const client = await servePages([
    [request('denied', 'Denied', '03'), request('approved', 'Approved', '02')],
    [request('older', 'Pending', '01')],
    [request('newer', 'Pending', '02')],
  ]);
  const names = (await listApprovals(client)).map(({ resource, metadata }) => `${resource} ${metadata.name}`);
  const sorted = ['newer', 'older', 'approved', 'denied'];
  expect(names).toEqual(sorted.flatMap((name) => [`accessrequests ${name}`, `passes ${name}`]));
});

const approval = (resource: Approval['resource'], phase: string, needs: 'none' | 'confirm' | 'review'): Approval => ({
  resource,
  metadata: { name: 'pass_x' },
  spec: {},
  status: { phase, approval: needs },
});

it.each([
  ['passes', 'Pending', 'confirm', true, 2],
  ['passes', 'Pending', 'confirm', false, 0],
  ['passes', 'Pending', 'review', true, 0],
  ['passes', 'Pending', 'review', false, 2],
  ['passes', 'Ready', 'review', false, 0],
  ['passes', 'Ready', 'none', true, 0],
  ['accessrequests', 'Pending', 'none', true, 1],
  ['accessrequests', 'Pending', 'none', false, 2],
  ['accessrequests', 'Approved', 'none', false, 1],
  ['accessrequests', 'Denied', 'none', false, 0],
] as const)('MC-91: %s, %s, %s, own: %s: %i decisions', (resource, phase, needs, isOwn, count) => {
  expect(decisionsFor(approval(resource, phase, needs), isOwn)).toHaveLength(count);
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

it('MC-93: a person who may not read bindings sees that they are left out, and no error', async () => {
  const server = await scriptServer([status(403, 'Forbidden'), status(500, 'InternalError')]);
  onTestFinished(server.close);
  const client = createClient({ server: server.url, token: 'token' });
  const read = () => readGrants(client, 'prod-1', { namespace: 'ci', name: 'builder' });
  expect(await read()).toEqual({ grants: [], incomplete: true });
  await expect(read()).rejects.toMatchObject({ code: 500 });
});
