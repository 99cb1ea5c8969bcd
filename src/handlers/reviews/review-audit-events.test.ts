import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiRequest } from '../../api/request.ts';
import { lonelyWork } from '../../lib/work-queue.fixture.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { RecentEvents } from '../../observability/audit/recent-events.ts';
import type { ReviewParts } from './review.ts';
import { reviewAuditEvents } from './review-audit-events.ts';

const catalog = createCatalog({ productName: 'orchestrator' });

function recordedLines(...lines: object[]): RecentEvents {
  const recentEvents = new RecentEvents({ instance: 'i', now: () => 0 });
  for (const line of lines) recentEvents.add(JSON.stringify(line), 'security');
  return recentEvents;
}

const recorded = (...times: string[]): RecentEvents =>
  recordedLines(
    ...times.map((stageTimestamp) => ({
      verb: 'create',
      stageTimestamp,
      annotations: { 'clusterpass.dev/cluster': 'alpha' },
    })),
  );

interface Status {
  readonly events: readonly { readonly time: string }[];
  readonly since: string;
}

/** The times of the events that a review shows. `created`: of the cluster alpha, if there is one. */
async function shown(...review: Parameters<typeof statusOf>): Promise<unknown> {
  return (await statusOf(...review)).events.map(({ time }) => time);
}

async function statusOf(
  recentEvents: RecentEvents,
  created: string | undefined,
  pathCluster?: string,
  spec: object = { cluster: 'alpha' },
): Promise<Status> {
  const value = Buffer.from(JSON.stringify({ metadata: { name: 'alpha', creationTimestamp: created } }));
  const stored = { key: '/registry/clusters/alpha', value, modRevision: 1, createRevision: 1 };
  const exists = (name: string): boolean => name === 'alpha' && created !== undefined;
  const find = (_: unknown, { name }: { name: string }) =>
    exists(name) ? new StoredObject(catalog.clusters, stored) : undefined;
  const parts = { recentEvents, catalog, reader: { find } } as unknown as ReviewParts;
  const request = { target: { cluster: pathCluster }, work: lonelyWork() } as ApiRequest;
  const sent = { apiVersion: '', kind: '', metadata: {}, spec };
  const { status } = await reviewAuditEvents(parts, request, sent);
  return status as Status;
}

it('A9: names the second from which on no event is forgotten', async () => {
  let now = Date.parse('2026-08-01T12:00:00.900Z');
  const events = new RecentEvents({ instance: 'i', now: () => now });
  expect((await statusOf(events, undefined)).since).toBe('2026-08-01T12:00:01Z');
  for (let index = 0; index < 9; index++) {
    now += 1_000;
    events.add(JSON.stringify({ verb: 'create', userAgent: 'x'.repeat(500_000) }), 'security');
  }
  expect((await statusOf(events, undefined)).since).toBe('2026-08-01T12:00:04Z');
});

describe('events of an earlier cluster of the same name', () => {
  const OLD = '2026-08-01T11:59:59.999999Z';
  const CREATION = '2026-08-01T12:00:00.000000Z';
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

describe('events of a user or of a token', () => {
  const ID = '5a4dbbd4-2f39-4a38-8f0a-6cb5ec1f8d2e';
  const by = (username: string, stageTimestamp: string, more: object = {}): object => ({
    verb: 'create',
    stageTimestamp,
    user: { username },
    ...more,
  });

  it('of a user are what it did, and what others did as that user', async () => {
    const events = recordedLines(
      by('jane', '1'),
      by('root', '2', { impersonatedUser: { username: 'jane' } }),
      by('kim', '3', { userAgent: '"username":"jane"' }),
    );
    expect(await shown(events, undefined, undefined, { user: 'jane' })).toEqual(['2', '1']);
  });

  it('of a token are its requests, its creation and its revocation, not those that name it elsewhere', async () => {
    const extra = { 'authentication.kubernetes.io/credential-id': [`JTI=${ID}`] };
    const events = recordedLines(
      by('jane', '1', { annotations: { 'authentication.kubernetes.io/issued-credential-id': `JTI=${ID}` } }),
      { verb: 'get', stageTimestamp: '2', user: { username: 'bot', extra } },
      by('mallory', '3', { userAgent: `JTI=${ID}` }),
      by('root', '4', { annotations: { 'clusterpass.dev/revoked-credential-id': `JTI=${ID}` } }),
    );
    expect(await shown(events, undefined, undefined, { credentialID: ID })).toEqual(['4', '2', '1']);
  });
});

describe('D6: a list of passes is one line', () => {
  const [FIRST, SECOND] = ['2b1f7f0e-52a4-4f0a-9c37-000000000001', '2b1f7f0e-52a4-4f0a-9c37-000000000002'];
  const groups = [
    {
      code: 201,
      annotations: { 'authorization.k8s.io/reason': 'by x' },
      passes: ` alpha/ci/x=${FIRST} beta/userpass=${SECOND}`,
    },
    { code: 403, reason: 'Forbidden', annotations: {}, passes: ' alpha/ci/y' },
  ];
  const line = (code: number) => ({
    verb: 'create',
    stageTimestamp: '2026-08-01T12:00:00.000000Z',
    user: { username: 'jane' },
    objectRef: { resource: 'passes', apiGroup: 'clusterpass.dev' },
    responseStatus: { code },
    annotations: { 'clusterpass.dev/passes': JSON.stringify(groups) },
  });
  const events = recordedLines(line(200));
  const found = async (spec: object, recentEvents = events, pathCluster?: string) =>
    (await statusOf(recentEvents, undefined, pathCluster, spec)).events as readonly unknown[];

  it('and each of its passes is shown as an event', async () => {
    const common = { verb: 'create', time: '2026-08-01T12:00:00.000000Z', user: 'jane' };
    const account = { ...common, cluster: 'alpha', resource: 'serviceaccounts/token', namespace: 'ci' };
    const passes = [
      { ...account, name: 'x', code: 201, decision: 'by x', issuedCredentialID: FIRST },
      {
        ...common,
        ...{ cluster: 'beta', group: 'clusterregistry.k8s.io', resource: 'clusters/userpass', name: 'beta' },
        ...{ code: 201, decision: 'by x', issuedCredentialID: SECOND },
      },
      { ...account, name: 'y', code: 403, reason: 'Forbidden' },
    ];
    expect(await found({})).toEqual(passes);
    expect(await found({ cluster: 'alpha', user: 'jane' })).toEqual([passes[0], passes[2]]);
    expect(await found({}, events, 'beta')).toEqual([passes[1]]);
    expect(await found({ credentialID: SECOND })).toEqual([passes[1]]);
    expect(await found({ failuresOnly: true })).toEqual([passes[2]]);
    expect(await found({ cluster: 'gamma' })).toEqual([]);
  });

  it('of which a review may show a part', async () => {
    const status = async (limit: number) => {
      const { events: shownEvents, incomplete } = (await statusOf(events, undefined, undefined, {
        limit,
      })) as Status & {
        incomplete: boolean;
      };
      return [shownEvents.length, incomplete];
    };
    expect([await status(2), await status(3)]).toEqual([
      [2, true],
      [3, false],
    ]);
  });

  it('and what a list that failed has issued was not released', async () => {
    const failed = await found({ cluster: 'alpha' }, recordedLines(line(503)));
    expect(failed).toMatchObject([{ code: 503 }, { code: 403 }]);
  });
});
