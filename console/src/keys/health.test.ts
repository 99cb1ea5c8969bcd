import { expect, it } from 'vitest';
import { metricFacts, proberFacts, readinessFacts } from './health.ts';
import { sumsIn } from './metrics-text.ts';

it('adds the values of a metric over its labels', () => {
  const text = '# HELP a x\na 1\nb{x="1",y="a\\"b\\\\\\n} 7"} 2.5e3\nb{x="2"} 3\nother 4\n';
  expect([...sumsIn(text)]).toEqual([
    ['a', 1],
    ['b', 2_503],
    ['other', 4],
  ]);
});

it('names the checks of /readyz and says which failed', () => {
  const text = '[+]ping ok\n[-]storage failed: reason withheld\n[+]x excluded: ok\nreadyz check failed\n';
  expect(readinessFacts(text).map(({ name, state }) => [name, state])).toEqual([
    ['Process', 'good'],
    ['Store', 'bad'],
    ['x', 'good'],
  ]);
});

it('tells good figures from bad ones', () => {
  const facts = metricFacts(
    'clusterpass_leader 1\nclusterpass_cache_lag_seconds 2\nclusterpass_audit_log_failing 0\n' +
      'clusterpass_store_request_duration_seconds_sum{operation="get"} 0.01\n' +
      'clusterpass_store_request_duration_seconds_count{operation="get"} 10\n',
  );
  const fact = (name: string) => facts.find((each) => each.name === name);
  expect(fact('Leader')?.text).toBe('this replica');
  expect(fact('Store, mean response')?.text).toBe('1 ms');
  expect(fact('Watch cache, lag')?.state).toBe('bad');
  expect(fact('Audit log')?.state).toBe('good');
  expect(metricFacts('')).not.toContainEqual(expect.objectContaining({ name: 'Leader' }));
});

it('counts the clusters that the prober has probed, and those that wait too long', () => {
  const now = Date.parse('2026-11-16T12:00:00Z');
  const probed = (reason: string, heartbeat: string) => ({ type: 'Ready', reason, lastHeartbeatTime: heartbeat });
  const conditions = [
    [probed('ProbeSucceeded', '2026-11-16T11:59:00Z')],
    [probed('ProbeFailed', '2026-11-16T10:00:00Z')],
    [probed('ClusterReady', '2026-11-16T10:00:00Z')],
    [],
  ];
  expect(proberFacts(conditions, now).map(({ text, state }) => [text, state])).toEqual([
    ['2 of 4 clusters', 'plain'],
    ['1', 'bad'],
  ]);
  expect(proberFacts([[]], now)).toEqual([{ name: 'Prober', text: 'probes no cluster that you see', state: 'plain' }]);
});
