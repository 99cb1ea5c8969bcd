import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ args: ['--demo'] });
});
afterAll(() => server.destroy());

it('lists the demo fleet', async () => {
  const { code, json } = await server.call('GET', '/auth/v1/clusters');
  expect(code).toBe(200);
  expect(json.items).toHaveLength(12);
});

it('issues a token that the service itself accepts', async () => {
  const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
  const issued = await server.call('POST', path, { body: { spec: { audiences: [] } } });
  expect(issued.code).toBe(201);
  const asAccount = await server.call('GET', '/auth/v1/clusters', { token: issued.json.status.token });
  expect(asAccount.code).toBe(200);
});

it('streams changes', async () => {
  const watch = await Watch.open(server, '/auth/v1/clusters?watch=true');
  expect(await watch.take(12)).toHaveLength(12);
  const created = await server.call('POST', '/apis/clusterregistry.k8s.io/v1alpha1/clusters', {
    body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'zebra' } },
  });
  expect(created.code).toBe(201);
  expect((await watch.take(1)).map(brief)).toEqual(['ADDED zebra']);
  watch.close();
});

it('stops when asked', async () => {
  expect(await server.stop()).toBe(0);
});
