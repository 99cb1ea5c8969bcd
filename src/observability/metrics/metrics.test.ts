import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { expect, it } from 'vitest';
import { countsOf, mergeMetrics } from './metrics.ts';

async function reportOf({ requests, ready, lag, loop }: Record<'requests' | 'ready' | 'lag' | 'loop', number>) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'requests_total', help: 'h', labelNames: ['code'], registers }).inc({ code: '200' }, requests);
  const seconds = new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers });
  for (let i = 0; i < requests; i++) seconds.observe(1.5);
  for (const [name, value, aggregator] of [
    ['clusterpass_cache_ready', ready, 'min'],
    ['clusterpass_cache_lag_seconds', lag, 'max'],
    ['nodejs_eventloop_lag_p99_seconds', loop, 'average'],
    ['apiserver_longrunning_requests', requests, 'sum'],
  ] as const) {
    new Gauge({ name, help: 'h', aggregator, registers }).set(value);
  }
  return registry.getMetricsAsJSON();
}

const valuesIn = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('counters and gauges of requests are summed; of other gauges it is the worst value', async () => {
  const reports = [
    await reportOf({ requests: 2, ready: 1, lag: 0.5, loop: 0.1 }),
    await reportOf({ requests: 3, ready: 0, lag: 0.2, loop: 0.3 }),
  ];
  expect(valuesIn(await mergeMetrics(reports))).toEqual([
    'requests_total{code="200"} 5',
    'seconds_bucket{le="1"} 0',
    'seconds_bucket{le="2"} 5',
    'seconds_bucket{le="+Inf"} 5',
    'seconds_sum 7.5',
    'seconds_count 5',
    'clusterpass_cache_ready 0',
    'clusterpass_cache_lag_seconds 0.5',
    'nodejs_eventloop_lag_p99_seconds 0.3',
    'apiserver_longrunning_requests 5',
  ]);
});

it('the counters of a process outlive it, and its gauges do not', async () => {
  const gone = await countsOf([await reportOf({ requests: 2, ready: 0, lag: 2, loop: 2 }), []]);
  const left = await reportOf({ requests: 3, ready: 1, lag: 0, loop: 0 });
  const values = valuesIn(await mergeMetrics([left, await countsOf([gone, gone])]));
  expect(values).toContain('requests_total{code="200"} 7');
  expect(values).toContain('seconds_count 7');
  expect(values).toContain('clusterpass_cache_ready 1');
  expect(values).toContain('apiserver_longrunning_requests 3');
});
