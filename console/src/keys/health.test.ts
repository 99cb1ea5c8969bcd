import { expect, it } from 'vitest';
import { metricFacts, readinessFacts } from './health.ts';
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
  const text =
    '[+]ping ok\n[-]storage failed: reason withheld\n[+]x excluded: ok\n[!]manifests failed: reason withheld\nreadyz check failed\n';
  expect(readinessFacts(text).map(({ name, state }) => [name, state])).toEqual([
    ['ping', 'good'],
    ['storage', 'bad'],
    ['x', 'good'],
    ['manifests', 'bad'],
  ]);
});

it('tells good figures from bad ones', () => {
  const facts = metricFacts(
    'clusterpass_leader 1\nclusterpass_cache_lag_seconds 2\nclusterpass_audit_log_failing 0\n' +
      'clusterpass_store_request_duration_seconds_sum{operation="get"} 0.01\n' +
      'clusterpass_store_request_duration_seconds_count{operation="get"} 10\n' +
      'clusterpass_tls_certificate_expiration_timestamp_seconds{option="tls-cert-file"} 1800000000\n' +
      'clusterpass_tls_certificate_expiration_timestamp_seconds{option="etcd-certfile"} 1900000000\n',
  );
  const fact = (name: string) => facts.find((each) => each.name === name);
  expect(fact('Leader')?.text).toBe('this replica');
  expect(fact('Store, mean response')?.text).toBe('1 ms');
  expect(fact('First certificate ends')?.text).toMatch(/^2027-01-15 /);
  expect(fact('Watch cache, lag')?.state).toBe('bad');
  expect(fact('Audit log')?.state).toBe('good');
  expect(metricFacts('')).not.toContainEqual(expect.objectContaining({ name: 'Leader' }));
});
