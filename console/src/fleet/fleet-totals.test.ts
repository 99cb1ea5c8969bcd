import { expect, it } from 'vitest';
import { type ClusterRow, rowOf } from './cluster-row.ts';
import { FleetTotals } from './fleet-totals.ts';

const row = (name: string, labels: Record<string, string>, ready = 'True'): ClusterRow =>
  rowOf({
    apiVersion: 'a/v1',
    kind: 'Cluster',
    metadata: { name, labels },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });

const totalsOf = (rows: readonly ClusterRow[]): FleetTotals => {
  const totals = new FleetTotals();
  totals.change(rows.map((after) => ({ before: undefined, after })));
  return totals;
};

const rows = [
  row('prod-10', { env: 'prod', region: 'eu' }),
  row('prod-2', { env: 'prod', region: 'us' }, 'False'),
  row('dev-1', { environment: 'dev' }, 'Unknown'),
  row('lone', {}),
];

it('counts clusters by environment', () => {
  expect(
    totalsOf(rows)
      .environments(4)
      .map(({ name, total, counts }) => [name, total, counts]),
  ).toEqual([
    ['prod', 2, { ready: 1, 'not-ready': 1, unknown: 0 }],
    ['', 1, { ready: 1, 'not-ready': 0, unknown: 0 }],
    ['dev', 1, { ready: 0, 'not-ready': 0, unknown: 1 }],
  ]);
});

it('merges the smallest environments beyond the limit', () => {
  const many = ['a', 'b', 'c', 'd', 'e'].map((env) => row(env, { env }));
  expect(
    totalsOf(many)
      .environments(3)
      .map(({ name, total, counts }) => [name, total, counts.ready]),
  ).toEqual([
    ['a', 1, 1],
    ['b', 1, 1],
    ['3 others', 3, 3],
  ]);
});

it('names the environments in which clusters fail before those in which all are ready', () => {
  const large = Array.from({ length: 8 }, (_, index) => row(`${index}`, { env: `large-${index % 4}` }));
  const totals = totalsOf([...large, row('x', { env: 'small' }, 'False')]);
  expect(totals.environments(3).map(({ name, counts }) => [name, counts['not-ready']])).toEqual([
    ['large-0', 0],
    ['small', 1],
    ['3 others', 0],
  ]);
});

it('offers the most common labels, sorted by name', () => {
  expect(totalsOf(rows).commonLabels(2)).toEqual([
    { label: 'env=prod', count: 2 },
    { label: 'environment=dev', count: 1 },
  ]);
  expect(totalsOf(rows).commonLabels(2, 'us')).toEqual([{ label: 'region=us', count: 1 }]);
});

it('returns the same list until its content changes, as React.memo requires', () => {
  const totals = totalsOf(rows);
  const [labels, environments] = [totals.commonLabels(5), totals.environments(5)];
  const [before] = rows;
  totals.change([{ before, after: before && { ...before, reason: 'Other' } }]);
  expect(totals.commonLabels(5)).toBe(labels);
  expect(totals.environments(5)).toBe(environments);
  totals.change([{ before, after: undefined }]);
  expect(totals.commonLabels(5)).not.toBe(labels);
  expect(totals.environments(5)).not.toBe(environments);
});
