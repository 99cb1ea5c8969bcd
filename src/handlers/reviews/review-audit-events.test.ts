import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiRequest } from '../../api/request.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { RecentEvents } from '../../observability/audit/recent-events.ts';
import type { ReviewParts } from './review.ts';
import { reviewAuditEvents } from './review-audit-events.ts';

const catalog = createCatalog({ productName: 'orchestrator' });

function recorded(...times: string[]): RecentEvents {
  const recentEvents = new RecentEvents({ instance: 'i', startedAt: 0 });
  for (const stageTimestamp of times) {
    const annotations = { 'clusterpass.dev/cluster': 'alpha' };
    recentEvents.add(JSON.stringify({ verb: 'create', stageTimestamp, annotations }), 'security');
  }
  return recentEvents;
}

/** The times of the events that a review shows. `created`: of the cluster alpha, if there is one. */
async function shown(recentEvents: RecentEvents, created: string | undefined, pathCluster?: string): Promise<unknown> {
  const value = Buffer.from(JSON.stringify({ metadata: { name: 'alpha', creationTimestamp: created } }));
  const stored = { key: '/registry/clusters/alpha', value, modRevision: 1, createRevision: 1 };
  const exists = (name: string): boolean => name === 'alpha' && created !== undefined;
  const find = (_: unknown, { name }: { name: string }) =>
    exists(name) ? new StoredObject(catalog.clusters, stored) : undefined;
  const parts = { recentEvents, catalog, reader: { find } } as unknown as ReviewParts;
  const request = { target: { cluster: pathCluster }, signal: new AbortController().signal } as ApiRequest;
  const sent = { apiVersion: '', kind: '', metadata: {}, spec: { cluster: 'alpha' } };
  const { status } = await reviewAuditEvents(parts, request, sent);
  return (status as { events: { time: string }[] }).events.map(({ time }) => time);
}

describe('events of an earlier cluster of the same name', () => {
  const OLD = '2026-08-01T11:59:59.999999Z';
  const CREATION = '2026-08-01T12:00:00.400000Z';
  const LATER = '2026-08-01T12:00:01.000000Z';
  const events = recorded(OLD, CREATION, LATER);
  const CREATED = '2026-08-01T12:00:00Z';

  it('are not shown below the path of the cluster', async () => {
    expect(await shown(events, CREATED, 'alpha')).toEqual([LATER, CREATION]);
  });

  it('are shown to those who see the events of the fleet, and while no cluster has the name', async () => {
    expect(await shown(events, CREATED)).toEqual([LATER, CREATION, OLD]);
    expect(await shown(events, undefined, 'alpha')).toEqual([LATER, CREATION, OLD]);
  });
});
