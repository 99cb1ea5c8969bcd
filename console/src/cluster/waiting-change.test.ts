import { expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../../src/api/cluster.fixture.ts';
import { endpointDigest } from '../../../src/api/clusters/confirmed-endpoint.ts';
import { confirmation, waitingChange } from './waiting-change.ts';

const endpoints = (host: string) => ({
  serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://${host}:6443` }, { serverAddress: 'https://b' }],
  caBundle: 'QUFBQQ==',
});
const cluster = (spec: Record<string, unknown>) => ({ ...CLUSTER_TYPE, metadata: { name: 'a' }, spec });

it.each([
  ['a change', { orchestratorApiEndpoints: endpoints('new'), confirmedEndpoints: endpoints('old') }],
  [
    'a credential',
    { orchestratorApiEndpoints: endpoints('new'), authInfo: { controller: { namespace: 'n', name: 'c' } } },
  ],
  ['no endpoints', {}],
])('computes the confirmation of %s as the server does', async (_, spec) => {
  expect(await confirmation(cluster(spec), 'orchestrator')).toBe(endpointDigest(cluster(spec), 'orchestrator'));
});

it('shows what changes, and which credential goes there', () => {
  const changed = { orchestratorApiEndpoints: endpoints('new'), confirmedEndpoints: endpoints('old') };
  expect(waitingChange(cluster(changed), 'orchestrator')).toEqual({
    until: endpoints('old'),
    next: endpoints('new'),
    credential: '',
  });
  const authInfo = { controller: { namespace: 'n', name: 'c' } };
  expect(waitingChange(cluster({ ...changed, authInfo }), 'orchestrator')?.credential).toBe('n/c');
  expect(waitingChange(cluster({ orchestratorApiEndpoints: endpoints('a') }), 'orchestrator')).toBeUndefined();
});
