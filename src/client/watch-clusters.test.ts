import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from './create-client.ts';
import { StatusError } from './errors.ts';
import {
  bookmark,
  cluster,
  fakeTiming,
  type Responder,
  scriptServer,
  status,
  stream,
} from './script-server.fixture.ts';
import type { ClusterEvent, WatchOptions } from './types.ts';

const added = (name: string, version: number) => ({ type: 'ADDED', object: cluster(name, version) });
const modified = (name: string, version: number) => ({ type: 'MODIFIED', object: cluster(name, version) });
const deleted = (name: string, version: number) => ({ type: 'DELETED', object: cluster(name, version) });
const expired = {
  type: 'ERROR',
  object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 5 (120)' },
};

const brief = ({ type, cluster: { metadata } }: ClusterEvent): string =>
  `${type} ${metadata.name}@${metadata.resourceVersion}`;

/** Collects `count` events, and the requests to the server. */
async function follow(
  responders: Responder[],
  count: number,
  options: WatchOptions & { idleMs?: number; timing?: ReturnType<typeof fakeTiming> } = {},
) {
  const server = await scriptServer(responders);
  onTestFinished(server.close);
  const { idleMs, timing = fakeTiming(), ...watch } = options;
  const client = createClient({
    server: server.url,
    token: 'token-1',
    timing,
    ...(idleMs === undefined ? {} : { watchIdleMs: idleMs }),
  });
  const stop = new AbortController();
  const events: string[] = [];
  let error: unknown;
  try {
    for await (const event of client.watchClusters({ ...watch, signal: stop.signal })) {
      events.push(brief(event));
      if (events.length === count) stop.abort();
    }
  } catch (caught) {
    error = caught;
  }
  return { events, error, requests: server.requests, delays: timing.delays };
}

describe('a watch', () => {
  it('starts with the initial events and resumes at the newest resourceVersion, of what it selects', async () => {
    const { events, requests } = await follow(
      [
        stream([added('a', 3), added('b', 4), bookmark(7, true), modified('a', 9), bookmark(12)]),
        stream([modified('b', 13)]),
        stream([deleted('a', 15)], { stays: true }),
      ],
      5,
      { labelSelector: 'env=prod' },
    );
    expect(events).toEqual(['ADDED a@3', 'ADDED b@4', 'MODIFIED a@9', 'MODIFIED b@13', 'DELETED a@9']);
    expect(requests.map(({ query }) => query.labelSelector)).toEqual(['env=prod', 'env=prod', 'env=prod']);
    expect(
      requests.map(({ query }) => [query.resourceVersion, query.sendInitialEvents, query.allowWatchBookmarks]),
    ).toEqual([
      [undefined, 'true', 'true'],
      ['12', undefined, 'true'],
      ['13', undefined, 'true'],
    ]);
  });

  it('continues from a list without repeating it', async () => {
    const from = {
      apiVersion: '',
      kind: '',
      metadata: { resourceVersion: '20', continue: '' },
      items: [cluster('a', 5)],
    };
    const { events, requests } = await follow([stream([modified('a', 21)], { stays: true })], 1, { from });
    expect(events).toEqual(['MODIFIED a@21']);
    expect(requests[0]?.query.resourceVersion).toBe('20');
  });

  it('does not resume at the older version of a cluster that became visible', async () => {
    const { requests } = await follow(
      [stream([added('a', 3), bookmark(30, true), added('b', 5)]), stream([modified('a', 31)], { stays: true })],
      3,
    );
    expect(requests[1]?.query.resourceVersion).toBe('30');
  });

  it('requests the initial events again after an interruption, and yields no event twice', async () => {
    const { events, requests } = await follow(
      [stream([added('a', 3)]), stream([added('a', 3), added('b', 4), bookmark(7, true)], { stays: true })],
      2,
    );
    expect(events).toEqual(['ADDED a@3', 'ADDED b@4']);
    expect(requests[1]?.query.resourceVersion).toBeUndefined();
  });

  it.each<[string, Responder]>([
    ['as an event', stream([expired])],
    ['as the HTTP status', status(410, 'Expired')],
  ])('yields the difference to the current state after a 410 %s', async (_, responder) => {
    let synced = 0;
    const { events, requests } = await follow(
      [
        stream([added('a', 3), added('b', 4), added('c', 5), bookmark(7, true)]),
        responder,
        stream([added('a', 3), added('c', 50), added('d', 51), bookmark(60, true)], { stays: true }),
      ],
      6,
      { onSynced: () => synced++ },
    );
    expect(events).toEqual(['ADDED a@3', 'ADDED b@4', 'ADDED c@5', 'MODIFIED c@50', 'ADDED d@51', 'DELETED b@4']);
    expect(requests.map(({ query }) => query.resourceVersion)).toEqual([undefined, '7', undefined]);
    expect(synced).toBe(2);
  });

  it('reconnects after a time without data', async () => {
    const { events } = await follow(
      [stream([added('a', 3), bookmark(7, true)], { stays: true }), stream([modified('a', 9)], { stays: true })],
      2,
      { idleMs: 100 },
    );
    expect(events).toEqual(['ADDED a@3', 'MODIFIED a@9']);
  });
});

describe('a watch ends', () => {
  it('when the token has expired and is not replaced', async () => {
    const unauthorized = { type: 'ERROR', object: { kind: 'Status', code: 401, reason: 'Unauthorized' } };
    const { events, error, requests } = await follow(
      [stream([added('a', 3), bookmark(7, true), unauthorized]), status(401, 'Unauthorized')],
      99,
    );
    expect(events).toEqual(['ADDED a@3']);
    expect(error).toBeInstanceOf(StatusError);
    expect((error as StatusError).code).toBe(401);
    expect(requests).toHaveLength(2);
  });

  it.each([400, 403, 422])('on the status %i', async (code) => {
    const { error, requests } = await follow([status(code, 'X', 'why')], 1);
    expect((error as StatusError).status).toMatchObject({ code, message: 'why' });
    expect(requests).toHaveLength(1);
  });

  it('when the signal is aborted', async () => {
    const { events, error } = await follow([stream([added('a', 3), bookmark(7, true)], { stays: true })], 1);
    expect(events).toEqual(['ADDED a@3']);
    expect(error).toBeUndefined();
  });
});

it('continues with a new token after the old one has expired', async () => {
  const unauthorized = { type: 'ERROR', object: { kind: 'Status', code: 401, reason: 'Unauthorized' } };
  const server = await scriptServer([
    stream([added('a', 3), bookmark(7, true), unauthorized]),
    stream([modified('a', 8)], { stays: true }),
  ]);
  onTestFinished(server.close);
  let count = 0;
  const client = createClient({
    server: server.url,
    tokenProvider: () => `token-${++count}`,
    timing: fakeTiming(),
  });
  const events: string[] = [];
  for await (const event of client.watchClusters()) {
    events.push(brief(event));
    if (events.length === 2) break;
  }
  expect(events).toEqual(['ADDED a@3', 'MODIFIED a@8']);
  expect(server.requests.map(({ authorization }) => authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
});
