import { describe, expect, it } from 'vitest';
import { KnownClusters } from './known-clusters.ts';
import { cluster } from './script-server.fixture.ts';
import type { Cluster, ClusterEvent } from './types.ts';

const brief = (events: Iterable<ClusterEvent>): string[] =>
  [...events].map(({ type, cluster: { metadata } }) => `${type} ${metadata.name}@${metadata.resourceVersion}`);

const of = (name: string, version: number, uid?: string): Cluster => cluster(name, version, uid);

describe('the clusters that a watch has reported', () => {
  it('yield ADDED once, then MODIFIED, whatever type the server sends', () => {
    const known = new KnownClusters();
    expect(brief(known.put(of('a', 5)))).toEqual(['ADDED a@5']);
    expect(brief(known.put(of('a', 5)))).toEqual([]);
    expect(brief(known.put(of('a', 7)))).toEqual(['MODIFIED a@7']);
    expect(brief(known.put(of('a', 6)))).toEqual([]);
    expect(brief(known.delete(of('a', 9)))).toEqual(['DELETED a@7']);
    expect(brief(known.delete(of('a', 9)))).toEqual([]);
    // Visible again after a change of permissions, with the old resourceVersion.
    expect(brief(known.put(of('a', 7)))).toEqual(['ADDED a@7']);
  });

  it('yield DELETED and ADDED for another object of the same name', () => {
    const known = new KnownClusters();
    expect(brief(known.put(of('a', 5)))).toEqual(['ADDED a@5']);
    expect(brief(known.put(of('a', 8, 'uid-2')))).toEqual(['DELETED a@5', 'ADDED a@8']);
  });

  it('yield the difference to the initial events', () => {
    const list = { apiVersion: '', kind: '', metadata: { resourceVersion: '5', continue: '' } };
    const known = new KnownClusters({ ...list, items: [of('a', 1), of('b', 2), of('c', 3)] });
    known.beginInitialEvents();
    expect(brief(known.put(of('a', 1)))).toEqual([]);
    expect(brief(known.put(of('c', 9)))).toEqual(['MODIFIED c@9']);
    expect(brief(known.put(of('d', 10)))).toEqual(['ADDED d@10']);
    expect(brief(known.endInitialEvents())).toEqual(['DELETED b@2']);
    expect(brief(known.endInitialEvents())).toEqual([]);
  });
});
