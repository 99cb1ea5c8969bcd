import { expect, it, onTestFinished } from 'vitest';
import { type Client, createClient } from '../../../src/client/index.ts';
import { scriptServer, status } from '../../../src/client/script-server.fixture.ts';
import { servePages } from '../paged-server.fixture.ts';
import { grantsTo, readGrants } from './account-grants.tsx';
import { type Approval, accessOf, countWaiting, decide, decisionsFor, isCurrent, listApprovals } from './approvals.ts';

it.each([
  ['accessrequests', { cluster: 'a' }, 'access to a: see the cluster'],
  ['passes', { cluster: 'a', serviceAccount: { namespace: 'ci', name: 'b' } }, 'a pass for ci/b in a'],
] as const)('%s of %j ask for %s', (resource, spec, text) => expect(accessOf({ resource, spec })).toBe(text));

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

it('what the server would not let the user approve can only be denied', () => {
  const waiting = approval('accessrequests', 'Pending', 'none');
  expect(decisionsFor(waiting, false, { allowed: false })).toEqual(['Denied']);
  expect(decisionsFor(waiting, false, { allowed: true })).toEqual(['Approved', 'Denied']);
});

it('a denied request is shown for a day, others while they are open', () => {
  const at = (phase: string, day: string) => ({
    ...approval('accessrequests', phase, 'none'),
    status: { phase, decisionTimestamp: `2026-01-${day}T00:00:00Z` },
  });
  const now = Date.parse('2026-01-05T12:00:00Z');
  const shown = [at('Denied', '05'), at('Denied', '04'), at('Withdrawn', '05'), at('Approved', '01')];
  expect(shown.map((each) => isCurrent(each, now))).toEqual([true, false, false, true]);
});

it('counts what waits for the user: neither own requests, nor what an auditor only sees', async () => {
  const by = (username: string) => ({ metadata: { name: username }, spec: { requestedBy: { username } } });
  const client = await servePages([[by('me'), by('kate'), by('lea')]]);
  expect(await countWaiting(client, 'me', ['accessrequests'])).toBe(2);
  expect(await countWaiting(client, 'me', [])).toBe(0);
  expect(await countWaiting(await servePages([[]]), 'me', ['accessrequests'])).toBeUndefined();
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
