import { Counter, Histogram, Registry } from '@prometheus-io/client';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeMetrics } from './merge-metrics.ts';
import { REQUEST_SECONDS, type RequestLabels, RequestTally } from './request-tally.ts';

const LABELS = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component', 'dry_run'] as const;

const labels = fc.record({
  verb: fc.constantFrom('GET', 'POST'),
  group: fc.constantFrom('', 'clusterregistry.k8s.io'),
  version: fc.constant('v1'),
  resource: fc.constantFrom('clusters', ''),
  subresource: fc.constantFrom('', '/livez', 'token'),
  scope: fc.constant('cluster'),
  component: fc.constant('apiserver'),
  dry_run: fc.constantFrom('', 'All'),
}) satisfies fc.Arbitrary<RequestLabels>;

const request = fc.record({
  labels,
  code: fc.constantFrom(200, 201, 403, 499),
  seconds: fc.oneof(fc.constantFrom(0, ...REQUEST_SECONDS), fc.double({ min: 0, max: 100, noNaN: true })),
});

test('says what the counter and the histogram of the library say', async () => {
  const property = fc.asyncProperty(fc.array(request, { maxLength: 30 }), async (requests) => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const tally = new RequestTally(ours);
    const helps = new Map(ours.getMetricsAsArray().map(({ name, help }) => [name, help]));
    const named = (name: string) => ({ name, help: helps.get(name) ?? '', registers: [theirs] });
    const total = new Counter({ ...named('apiserver_request_total'), labelNames: [...LABELS, 'code'] });
    const seconds = new Histogram({
      ...named('apiserver_request_duration_seconds'),
      labelNames: LABELS,
      buckets: REQUEST_SECONDS,
    });
    for (const each of requests) {
      const row = tally.rowOf(each.labels);
      row.answered(each.code);
      row.took(each.seconds);
      total.inc({ ...each.labels, code: String(each.code) });
      seconds.observe(each.labels, each.seconds);
    }
    const sorted = (text: string): string[] => text.split('\n').sort();
    expect(sorted(await ours.metrics())).toEqual(sorted(await theirs.metrics()));
    const merged = async (registry: Registry): Promise<string[]> => {
      const report = await registry.getMetricsAsJSON();
      return sorted(await mergeMetrics([report, report]));
    };
    expect(await merged(ours)).toEqual(await merged(theirs));
  });
  await fc.assert(property);
});
