import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../../src/client/index.ts';
import { createAuthority } from '../../../src/clusters/upstream/certificates.fixture.ts';
import { toBundle } from '../certificates/certificates.ts';
import { type ClusterRow, rowOf } from './cluster-row.ts';
import { type FleetFilter, matcherFor, NO_FILTER, orderFor } from './fleet-filter.ts';

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
].map(rowOf);
const matchingRows = (from: readonly ClusterRow[], filter: Pick<FleetFilter, 'search' | 'labels'>): ClusterRow[] =>
  from.filter(matcherFor(filter));
const sortRows = (from: readonly ClusterRow[], filter: FleetFilter): ClusterRow[] => from.toSorted(orderFor(filter));
const names = (selected: readonly { name: string }[]): string[] => selected.map(({ name }) => name);

describe('a row', () => {
  it('has readiness from the Ready condition, environment and region from labels', () => {
    expect(rows.map(({ readiness, environment, region }) => [readiness, environment, region])).toEqual([
      ['ready', 'prod', 'eu'],
      ['not-ready', 'prod', 'us'],
      ['unknown', 'dev', ''],
      ['unknown', '', ''],
    ]);
  });

  it('of a cluster that is being deleted says so instead of the reason of its condition', () => {
    const leaving = cluster('leaving', {}, 'True');
    leaving.metadata.deletionTimestamp = '2026-09-02T12:00:00Z';
    const row = rowOf(leaving);
    expect([rows[0]?.reason, row.reason]).toEqual(['BecauseTrue', 'Terminating']);
    expect([rows[0]?.isTerminating, row.isTerminating]).toEqual([false, true]);
    expect(names(matchingRows([row], { search: 'terminating', labels: [] }))).toEqual(['leaving']);
  });

  it('treats a label named like a property of Object as a label', () => {
    const odd = rowOf(cluster('odd', JSON.parse('{"__proto__":"x","constructor":"y"}')));
    expect([odd.environment, odd.region]).toEqual(['', '']);
    expect(names(matchingRows([odd], { search: '', labels: ['constructor=y'] }))).toEqual(['odd']);
    expect(names(matchingRows(rows, { search: '', labels: ['constructor=y'] }))).toEqual([]);
  });

  it('matches a search if it contains every word', () => {
    const found = (search: string): string[] => names(matchingRows(rows, { search, labels: [] }));
    expect(found('PROD eu')).toEqual(['prod-10']);
    expect(found('env=prod')).toEqual(['prod-10', 'prod-2']);
    expect(found('becausefalse')).toEqual(['prod-2']);
    expect(found('  ')).toHaveLength(4);
    expect(found('prod dev')).toEqual([]);
  });

  it('matches facts, which are asked like labels', () => {
    const ending = cluster('ending', { '@reason': 'x' });
    const notAfter = Date.now() + 10 * 86_400_000;
    const serverEndpoints = { caBundle: toBundle(createAuthority('a', { notAfter }).cert) };
    const all = [...rows, rowOf({ ...ending, spec: { orchestratorApiEndpoints: serverEndpoints } })];
    const found = (...labels: string[]): string[] => names(matchingRows(all, { search: '', labels }));
    expect(found('@version=1.9', '@version=1.37')).toEqual(['prod-2', 'dev-1']);
    expect(found('@version=1.3')).toEqual([]);
    expect(found('@reason=BecauseFalse')).toEqual(['prod-2']);
    expect(found('@reason=')).toEqual(['lone', 'ending']);
    expect(found('@ca-ends-within=30d')).toEqual(['ending']);
    expect(found('@ca-ends-within=9d')).toEqual([]);
    expect(found('@other=1')).toEqual([]);
  });

  it('matches one value of each label key', () => {
    const found = (...labels: string[]): string[] => names(matchingRows(rows, { search: '', labels }));
    expect(found('env=prod', 'region=eu')).toEqual(['prod-10']);
    expect(found('region=eu', 'region=us')).toEqual(['prod-10', 'prod-2']);
    expect(found('env=prod', 'environment=dev')).toEqual([]);
  });

  it('sorts numbers by value, and by name where the column is equal', () => {
    expect(names(sortRows(rows, NO_FILTER))).toEqual(['dev-1', 'lone', 'prod-2', 'prod-10']);
    expect(names(sortRows(rows, { ...NO_FILTER, descending: true }))).toEqual(['prod-10', 'prod-2', 'lone', 'dev-1']);
    expect(names(sortRows(rows, { ...NO_FILTER, sort: 'version' }))).toEqual(['prod-2', 'lone', 'prod-10', 'dev-1']);
    expect(names(sortRows(rows, { ...NO_FILTER, sort: 'readiness' }))).toEqual(['dev-1', 'lone', 'prod-2', 'prod-10']);
  });
});
