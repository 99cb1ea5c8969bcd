import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ASK, asUser, createObjects, post, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { sharedTlsServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

const server = sharedTlsServer();
beforeAll(() => createObjects(server));

const scrape = async (): Promise<string> => {
  const answer = await server.call('GET', '/metrics', asUser('prometheus'));
  expect(answer.code, answer.text).toBe(200);
  return answer.text;
};
/** The value of the one series of this name whose labels contain these texts. */
const sampleOf = async (name: string, ...labels: string[]): Promise<number> => {
  const lines = (await scrape())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const found = lines.filter((line) => labels.every((label) => line.includes(label)));
  expect(found.length, `${name} ${labels.join()}\n${lines.join('\n')}`).toBeLessThanOrEqual(1);
  return Number(found[0]?.split(' ').at(-1) ?? 0);
};

test('require a permission for their path', async () => {
  expect((await server.call('GET', '/metrics', asUser('jane'))).code).toBe(403);
  expect((await server.call('GET', '/metrics', { token: null })).code).toBe(401);
  expect((await server.call('POST', '/metrics', { body: {} })).code).toBe(405);
  expect((await server.call('GET', '/orchestrator/alpha/metrics')).code).toBe(404);
  const { headers } = await server.call('GET', '/metrics', asUser('prometheus'));
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  // Permission to read metrics permits nothing else.
  expect((await server.call('GET', `${CLUSTERS}/alpha`, asUser('prometheus'))).code).toBe(403);
});

test('the overview: counts for those who may read metrics, and no names', async () => {
  const overview = async () => {
    const { code, json } = await server.call('GET', '/metrics/overview', asUser('prometheus'));
    expect(code).toBe(200);
    return json;
  };
  expect((await server.call('GET', '/metrics/overview', asUser('jane'))).code).toBe(403);
  expect((await server.call('GET', '/metrics/overview', { token: null })).code).toBe(401);
  const before = (await overview()).hours.at(-1);
  await post(server, ASK);
  await post(server, {});
  await expect
    .poll(async () => {
      // An hour may have begun meanwhile.
      const [hour, , , , ...tokens] = (await overview()).hours.at(-1);
      return hour > before[0] || tokens.join() === `${before[4] + 1},${before[5] + 1}`;
    })
    .toBe(true);
  const { clusters, versions, ends, hours } = await overview();
  expect(Object.values(clusters).reduce((sum: number, count) => sum + Number(count), 0)).toBe(2);
  expect(versions).toEqual({ '': 2 });
  expect(hours.at(-1)).toHaveLength(6);
  expect(await sampleOf('clusterpass_ending_within_30_days', 'what="certificates"')).toBe(ends.certificates);
  expect(await sampleOf('clusterpass_clusters_by_version', 'minor=""')).toBe(2);
});

test('tokens by cluster and result', async () => {
  const count = (cluster: string, result: string) =>
    sampleOf('clusterpass_token_requests_total', `cluster="${cluster}"`, `result="${result}"`);
  const counts = [
    ['alpha', 'issued'],
    ['alpha', 'dry_run'],
    ['alpha', 'rejected'],
    ['other', 'rejected'],
  ] as const;
  const all = () => Promise.all(counts.map(([cluster, result]) => count(cluster, result)));
  const before = await all();
  await post(server, ASK);
  await post(server, ASK, { path: `${tokenPath()}?dryRun=All` });
  await post(server, {});
  await post(server, ASK, { path: tokenPath('builder', 'ci', 'unheard-of') });
  await expect.poll(all).toEqual(before.map((stood) => stood + 1));
});

test('B15: priority levels, by the names of kube-apiserver', async () => {
  const of = (name: string, ...labels: string[]) => sampleOf(`apiserver_flowcontrol_${name}`, ...labels);
  const watches = 'priority_level="watches"';
  await expect.poll(() => of('current_executing_requests', watches)).toBe(0);
  const stood = await of('dispatched_requests_total', watches);
  const watch = await Watch.open(server, '/auth/v1/clusters?watch=true', server.adminToken);
  expect(await of('current_executing_requests', watches)).toBe(1);
  expect(await of('dispatched_requests_total', watches)).toBe(stood + 1);
  watch.close();
  await expect.poll(() => of('current_executing_requests', watches)).toBe(0);
  // The scrape itself is the only one.
  await expect.poll(() => of('current_executing_requests', 'priority_level="reads"')).toBe(1);
  for (const level of ['tokens', 'reads', 'writes', 'watches', 'health', 'public']) {
    expect(await of('current_inqueue_requests', `priority_level="${level}"`)).toBe(0);
    expect(await of('rejected_requests_total', `priority_level="${level}"`, 'reason="queue-full"')).toBe(0);
  }
});

test('the store, the caches, the keys, the audit log and the event loop', async () => {
  expect(await sampleOf('clusterpass_store_request_duration_seconds_count', 'operation="write"')).toBeGreaterThan(5);
  expect(await sampleOf('clusterpass_cache_ready')).toBe(1);
  expect(await sampleOf('clusterpass_leader')).toBe(1);
  await expect.poll(() => sampleOf('clusterpass_cache_lag_seconds')).toBeLessThan(2);
  expect(await sampleOf('apiserver_resource_objects', 'resource="clusters"')).toBe(2);
  expect(await sampleOf('apiserver_watch_cache_events_received_total', 'resource="clusters"')).toBeGreaterThan(1);
  const age = await sampleOf('clusterpass_signing_key_age_seconds', 'state="current"', 'algorithm="ES256"');
  expect(age).toBeGreaterThan(0);
  expect(age).toBeLessThan(3600);
  const due = await sampleOf('clusterpass_signing_key_rotation_timestamp_seconds', 'algorithm="ES256"');
  expect(due - Date.now() / 1000).toBeGreaterThan(89 * 86_400);
  expect(due - Date.now() / 1000).toBeLessThan(90 * 86_400);
  expect(await sampleOf('clusterpass_clock_skew_exceeded')).toBe(0);
  expect(await sampleOf('clusterpass_audit_log_failing')).toBe(0);
  const [free, size] = [
    await sampleOf('clusterpass_audit_log_free_bytes', 'log="security"'),
    await sampleOf('clusterpass_audit_log_volume_bytes', 'log="security"'),
  ];
  expect(free).toBeGreaterThan(0);
  expect(size).toBeGreaterThanOrEqual(free);
  const written = await sampleOf('clusterpass_audit_log_written_bytes_total', 'log="security"');
  const { size: bytes } = await stat(join(server.dataDir, 'audit/audit-security.log'));
  expect(written).toBeGreaterThan(1_000);
  // An earlier process may have written some of it.
  expect(written).toBeLessThanOrEqual(bytes);
  expect(await sampleOf('clusterpass_caller_file_failing', 'option="token-auth-file"')).toBe(0);
  expect(await sampleOf('apiserver_audit_event_total')).toBeGreaterThan(10);
  expect(await sampleOf('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
});

describe('the dashboard and the alerts', () => {
  const file = (path: string): Promise<string> =>
    readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
  /** Names of metrics in an expression: words that are neither functions, nor labels, nor in quotes. */
  const namesIn = (expr: string): string[] =>
    expr
      .replaceAll(/"[^"]*"/g, '')
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
      .replaceAll(/\b(?:by|on|without)\s*\([^)]*\)/g, '')
      .match(/[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w|\s*\()/g) ?? [];
  const known = async (): Promise<Set<string>> => {
    const families = [...(await scrape()).matchAll(/^# TYPE (\S+) (\S+)/gm)];
    return new Set(
      families.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
  };

  test('every metric of the alerts exists, and docs/operations.md says what to do for every alert', async () => {
    const rules = parse(await file('deploy/prometheus/rules.yaml')).groups[0].rules as {
      alert: string;
      expr: string;
    }[];
    const operations = await file('docs/operations.md');
    const metrics = await known();
    expect(rules.length).toBeGreaterThan(5);
    for (const { alert, expr } of rules) {
      const names = namesIn(expr);
      // `up` is Prometheus' own.
      if (!expr.includes('up{')) expect(names.length, alert).toBeGreaterThan(0);
      for (const name of names) expect(metrics, `${alert}: ${name}`).toContain(name);
      expect(operations).toContain(`- \`${alert}\`:`);
    }
  });

  test('every metric of the dashboard exists', async () => {
    const { panels } = JSON.parse(await file('deploy/grafana/clusterpass.json'));
    const metrics = await known();
    expect(panels.length).toBeGreaterThan(10);
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        const names = namesIn(expr);
        expect(names.length, title).toBeGreaterThan(0);
        for (const name of names) expect(metrics, `${title}: ${name}`).toContain(name);
      }
    }
  });
});
