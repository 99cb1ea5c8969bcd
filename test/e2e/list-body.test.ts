import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, grantClusters, listAs, namesIn, revisionOf } from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

const server = sharedServer();

beforeAll(async () => {
  const endpoints = { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.1:6443' }] } };
  await addCluster(server, 'b', { labels: { env: 'dev' }, spec: endpoints });
  await addCluster(server, 'a-1', { labels: { env: 'prod' } });
  await addCluster(server, 'a', { labels: { env: 'prod' } });
  await addCluster(server, 'a.1');
  await grantClusters(server, 'all', 'vera');
  await grantClusters(server, 'dev', 'vince', { clusters: 'env=dev' });
  await grantClusters(server, 'by-name', 'eve', { names: ['a.1', 'b', 'no-such'] });
});

describe('the body of a list', () => {
  it('L-10, L-11, decision 10: sorted keys, every member, each item with its kind', async () => {
    const { code, headers, text, json } = await listAs(server, 'vince');
    expect(code).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('no-cache, private');
    const [item] = json.items;
    const issuer = `${server.url}/orchestrator/b`;
    expect(text).toBe(
      '{"apiVersion":"clusterregistry.k8s.io/v1alpha1","items":[' +
        '{"apiVersion":"clusterregistry.k8s.io/v1alpha1","kind":"Cluster","metadata":{"annotations":{' +
        `"clusterpass.dev/audience":"${issuer}","clusterpass.dev/issuer":"${issuer}",` +
        '"clusterpass.dev/max-expiration-seconds":"86400"},' +
        `"creationTimestamp":"${item.metadata.creationTimestamp}","generation":1,"labels":{"env":"dev"},"name":"b",` +
        `"resourceVersion":"${item.metadata.resourceVersion}","uid":"${item.metadata.uid}"},` +
        '"spec":{"orchestratorApiEndpoints":{"serverEndpoints":[{"serverAddress":"https://10.0.0.1:6443"}]}}}],' +
        `"kind":"ClusterList","metadata":{"continue":"","resourceVersion":"${json.metadata.resourceVersion}",` +
        '"selfLink":"/auth/v1/clusters"}}\n',
    );
  });

  it('L-12: items are in the order of the bytes of their names', async () => {
    expect(namesIn(await listAs(server, 'vera'))).toEqual(['a', 'a-1', 'a.1', 'b']);
  });

  it('L-15: resourceVersion is a decimal number', async () => {
    const list = await listAs(server, 'vera');
    expect(revisionOf(list)).toMatch(/^[1-9]\d*$/);
    for (const item of list.json.items) expect(item.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  });
});

describe('section 5 and 7: the caller', () => {
  it('A17, decision 12: a hidden name and an absent one have the same response', async () => {
    const [hidden, absent] = await Promise.all(
      ['a', 'zz'].map((name) => server.call('GET', `${CLUSTERS}/${name}`, { token: tokenOf('vince') })),
    );
    for (const [name, answer] of [
      ['a', hidden],
      ['zz', absent],
    ] as const) {
      if (answer === undefined) throw new Error('no answer');
      expectStatus(answer, {
        code: 403,
        reason: 'Forbidden',
        message: `clusters.clusterregistry.k8s.io "${name}" is forbidden: User "vince" cannot get resource "clusters" in API group "clusterregistry.k8s.io" at the cluster scope`,
        details: { name, group: 'clusterregistry.k8s.io', kind: 'clusters' },
      });
    }
    const allowed = await server.call('GET', `${CLUSTERS}/no-such`, { token: tokenOf('eve') });
    expect(allowed.code).toBe(404);
  });
});
