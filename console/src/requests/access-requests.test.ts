import { expect, it } from 'vitest';
import type { Client } from '../../../src/client/index.ts';
import { servePages } from '../paged-server.fixture.ts';
import { accessOf, decideRequest, listRequests } from './access-requests.ts';

it.each([
  [{ cluster: 'a' }, 'to see the cluster a'],
  [{ cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' } }, 'passes for ci/builder in a'],
  [
    {
      cluster: 'a',
      resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'n', name: 'p' },
    },
    'to get pods/log p in the namespace n in a',
  ],
  [
    { cluster: 'a', resourceAttributes: { verb: 'list', group: 'apps', resource: 'deployments' } },
    'to list deployments.apps in a',
  ],
])('%j asks %s', (spec, text) => expect(accessOf(spec)).toBe(text));

it('a decision is about the request that was shown, not about a later one of its name', async () => {
  const sent: unknown[] = [];
  const client = { request: async (...call: unknown[]) => sent.push(call) } as unknown as Client;
  const metadata = { name: 'jane-1', uid: 'u-1' };
  await decideRequest(client, { metadata, spec: {} }, 'Approved', '');
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
  const names = (await listRequests(client)).map(({ metadata }) => metadata.name);
  expect(names).toEqual(['newer', 'older', 'approved', 'denied']);
});
