import { describe, expect, it } from 'vitest';
import { isLater, KnownClusters } from './known-clusters.ts';
import { cluster } from './script-server.fixture.ts';
import type { Cluster, ClusterEvent } from './types.ts';

const brief = (events: Iterable<ClusterEvent>): string[] =>
  [...events].map(({ type, cluster: { metadata } }) => `${type} ${metadata.name}@${metadata.resourceVersion}`);

const of = (name: string, version: number, uid?: string): Cluster => cluster(name, version, uid);

describe('what is new to a watcher', () => {
  it('once ADDED, then MODIFIED, whatever the server calls it', () => {
    const known = new KnownClusters();
    expect(brief(known.put(of('a', 5)))).toEqual(['ADDED a@5']);
    expect(brief(known.put(of('a', 5)))).toEqual([]);
    expect(brief(known.put(of('a', 7)))).toEqual(['MODIFIED a@7']);
    expect(brief(known.put(of('a', 6)))).toEqual([]);
    expect(brief(known.delete(of('a', 9)))).toEqual(['DELETED a@7']);
    expect(brief(known.delete(of('a', 9)))).toEqual([]);
    // Became visible again by permission, with its own old version.
    expect(brief(known.put(of('a', 7)))).toEqual(['ADDED a@7']);
  });

  it('another object of the same name is not the same object', () => {
    const known = new KnownClusters();
    expect(brief(known.put(of('a', 5)))).toEqual(['ADDED a@5']);
    expect(brief(known.put(of('a', 8, 'uid-2')))).toEqual(['DELETED a@5', 'ADDED a@8']);
  });

  it('the difference between what was known and the whole state', () => {
    const list = { apiVersion: '', kind: '', metadata: { resourceVersion: '5', continue: '' } };
    const known = new KnownClusters({ ...list, items: [of('a', 1), of('b', 2), of('c', 3)] });
    known.beginState();
    expect(brief(known.put(of('a', 1)))).toEqual([]);
    expect(brief(known.put(of('c', 9)))).toEqual(['MODIFIED c@9']);
    expect(brief(known.put(of('d', 10)))).toEqual(['ADDED d@10']);
    expect(brief(known.endState())).toEqual(['DELETED b@2']);
    expect(brief(known.endState())).toEqual([]);
  });
});

it('versions are numbers of any length', () => {
  expect(isLater('10', '9')).toBe(true);
  expect(isLater('9', '10')).toBe(false);
  expect(isLater('9', '9')).toBe(false);
  expect(isLater('18446744073709551615', '18446744073709551614')).toBe(true);
});
