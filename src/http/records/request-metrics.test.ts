import { expect, test } from 'vitest';
import { createMetrics } from '../../observability/metrics/metrics.ts';
import { CLUSTERS_PATH, startFixture, TOKEN_PATH } from '../http.fixture.ts';
import { createRequestMetrics } from './request-metrics.ts';

async function setUp(isCluster: (name: string) => boolean = () => true) {
  const metrics = createMetrics();
  const counts = createRequestMetrics(metrics, isCluster);
  const ended: string[] = [];
  const fixture = await startFixture(undefined, {
    observeArrival: counts.arrived,
    observeStart: counts.started,
    observe: (record) => {
      counts.ended(record);
      ended.push(record.path);
    },
  });
  const done = (count: number) => expect.poll(() => ended.length).toBe(count);
  /** The lines of one metric, without those of the buckets. */
  const lines = async (name: string): Promise<string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(name) && !line.includes('_bucket') && !line.includes('_sum'));
  return { ...fixture, done, lines };
}

test('requests are counted with the labels of kube-apiserver', async () => {
  const { send, done, lines } = await setUp();
  await send({ path: CLUSTERS_PATH });
  await send({ path: `${CLUSTERS_PATH}/a`, token: 'nobody' });
  await send({ method: 'POST', path: `${TOKEN_PATH}?dryRun=All`, body: '{}' });
  await send({ path: '/livez', token: '' });
  await done(4);
  const registry = 'group="clusterregistry.k8s.io",version="v1alpha1",resource="clusters",subresource=""';
  expect(await lines('apiserver_request_total')).toEqual([
    `apiserver_request_total{verb="LIST",${registry},scope="cluster",component="apiserver",dry_run="",code="200"} 1`,
    // Rejected before its route was found.
    'apiserver_request_total{verb="GET",group="",version="",resource="",subresource="",scope="",component="apiserver",dry_run="",code="403"} 1',
    'apiserver_request_total{verb="POST",group="",version="v1",resource="serviceaccounts",subresource="token",scope="resource",component="apiserver",dry_run="All",code="200"} 1',
    'apiserver_request_total{verb="GET",group="",version="",resource="",subresource="/livez",scope="",component="apiserver",dry_run="",code="200"} 1',
  ]);
  expect(await lines('apiserver_request_duration_seconds_count')).toHaveLength(4);
  expect(await lines('clusterpass_token_requests_total')).toEqual([
    'clusterpass_token_requests_total{cluster="a",result="dry_run"} 1',
  ]);
  for (const line of await lines('apiserver_current_inflight_requests')) expect(line).toMatch(/ 0$/);
});

test('CVE-2020-8552: what a caller invents is no label', async () => {
  const { send, done, lines } = await setUp((name) => name === 'a');
  for (let count = 0; count < 20; count++) {
    await send({ path: `/path-${count}` });
    await send({ path: `/apis/group-${count}/v1/things-${count}` });
    await send({ path: `${CLUSTERS_PATH}/a/sub-${count}` });
    await send({ method: 'POST', path: TOKEN_PATH.replace('/a/', `/c-${count}/`), body: '{}' });
    await send({ method: 'PROPFIND', path: '/' });
  }
  await done(100);
  expect((await lines('apiserver_request_total')).length).toBeLessThanOrEqual(5);
  expect(await lines('clusterpass_token_requests_total')).toEqual([
    'clusterpass_token_requests_total{cluster="other",result="issued"} 20',
  ]);
});
