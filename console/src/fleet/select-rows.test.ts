import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../../src/client/index.ts';
import { type ClusterRow, rowOf } from './cluster-row.ts';
import { FleetTotals } from './fleet-totals.ts';
import { type FleetFilter, matcherFor, NO_FILTER, orderFor } from './select-rows.ts';

function cluster(name: string, labels: Record<string, string> = {}, ready?: string, version = 'v1.36.4'): Cluster {
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready, reason: `Because${ready}` }];
  return {
    apiVersion: 'a/v1',
    kind: 'Cluster',
    metadata: { name, labels },
    status: { type: 'k3s', version, conditions },
  };
}

const rows = [
  cluster('prod-10', { env: 'prod', region: 'eu' }, 'True'),
  cluster('prod-2', { env: 'prod', region: 'us' }, 'False', 'v1.9.0'),
  cluster('dev-1', { environment: 'dev' }, 'Unknown', 'v1.37.0-rc.1'),
  cluster('lone'),
].map((each) => rowOf(each, false));
const matchingRows = (from: readonly ClusterRow[], filter: Pick<FleetFilter, 'search' | 'labels'>): ClusterRow[] =>
  from.filter(matcherFor(filter));
const sortRows = (from: readonly ClusterRow[], filter: FleetFilter): ClusterRow[] => from.toSorted(orderFor(filter));
const totalsOf = (from: readonly ClusterRow[]): FleetTotals => {
  const totals = new FleetTotals();
  totals.change(from.map((after) => ({ before: undefined, after })));
  return totals;
};
const names = (selected: readonly { name: string }[]): string[] => selected.map(({ name }) => name);

describe('the rows of the fleet', () => {
  it('know state, environment and region from what clusters say of themselves', () => {
    expect(rows.map(({ state, environment, region }) => [state, environment, region])).toEqual([
      ['ready', 'prod', 'eu'],
      ['not-ready', 'prod', 'us'],
      ['unknown', 'dev', ''],
      ['unknown', '', ''],
    ]);
  });

  it('take a label for what it is, whatever its name', () => {
    const odd = rowOf(cluster('odd', JSON.parse('{"__proto__":"x","constructor":"y"}')), false);
    expect([odd.environment, odd.region]).toEqual(['', '']);
    expect(names(matchingRows([odd], { search: '', labels: ['constructor=y'] }))).toEqual(['odd']);
    expect(names(matchingRows(rows, { search: '', labels: ['constructor=y'] }))).toEqual([]);
  });

  it('are found when every word occurs somewhere', () => {
    const found = (search: string): string[] => names(matchingRows(rows, { search, labels: [] }));
    expect(found('PROD eu')).toEqual(['prod-10']);
    expect(found('env=prod')).toEqual(['prod-10', 'prod-2']);
    expect(found('becausefalse')).toEqual(['prod-2']);
    expect(found('  ')).toHaveLength(4);
    expect(found('prod dev')).toEqual([]);
  });

  it('match one value of each chosen label', () => {
    const found = (...labels: string[]): string[] => names(matchingRows(rows, { search: '', labels }));
    expect(found('env=prod', 'region=eu')).toEqual(['prod-10']);
    expect(found('region=eu', 'region=us')).toEqual(['prod-10', 'prod-2']);
    expect(found('env=prod', 'environment=dev')).toEqual([]);
  });

  it('are sorted as people count, and by name where they are equal', () => {
    expect(names(sortRows(rows, NO_FILTER))).toEqual(['dev-1', 'lone', 'prod-2', 'prod-10']);
    expect(names(sortRows(rows, { ...NO_FILTER, descending: true }))).toEqual(['prod-10', 'prod-2', 'lone', 'dev-1']);
    expect(names(sortRows(rows, { ...NO_FILTER, sort: 'version' }))).toEqual(['prod-2', 'lone', 'prod-10', 'dev-1']);
    expect(names(sortRows(rows, { ...NO_FILTER, sort: 'state' }))).toEqual(['dev-1', 'lone', 'prod-2', 'prod-10']);
  });
});

describe('the counts', () => {
  it('by environment', () => {
    const environments = totalsOf(rows).environments(4);
    expect(environments.map(({ name, total, label }) => [name, total, label])).toEqual([
      ['prod', 2, 'env=prod'],
      ['', 1, undefined],
      ['dev', 1, 'environment=dev'],
    ]);
  });

  it('name no label for an environment that is found by several', () => {
    const mixed = [cluster('a', { env: 'prod' }), cluster('b', { stage: 'prod' })].map((each) => rowOf(each, false));
    expect(totalsOf(mixed).environments(4)).toMatchObject([{ name: 'prod', total: 2, label: undefined }]);
  });

  it('put together what is too much to show', () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((env) => rowOf(cluster(env, { env }, 'True'), false));
    const shown = totalsOf(many).environments(3);
    expect(shown.map(({ name, total, counts }) => [name, total, counts.ready])).toEqual([
      ['a', 1, 1],
      ['b', 1, 1],
      ['3 others', 3, 3],
    ]);
  });

  it('the commonest labels are offered, in the order of the alphabet', () => {
    expect(totalsOf(rows).commonLabels(2)).toEqual([
      { label: 'env=prod', count: 2 },
      { label: 'environment=dev', count: 1 },
    ]);
  });
});
