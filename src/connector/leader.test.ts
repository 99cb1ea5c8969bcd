import { afterEach, beforeEach, expect, it } from 'vitest';
import { Transport } from '../client/transport.ts';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { HUB_TOKEN } from '../sync/hub.fixture.ts';
import { FakeCluster } from './cluster.fixture.ts';
import { whileLeading } from './leader.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/cp/leases/clusterpass-connector';

let cluster: FakeCluster;
let stops: AbortController[];
let runs: Promise<void>[];
/** Added to the clock of all. */
let skippedMs: number;

beforeEach(async () => {
  cluster = await new FakeCluster().start();
  [stops, runs, skippedMs] = [[], [], 0];
});
afterEach(async () => {
  for (const stop of stops) stop.abort();
  await Promise.all(runs);
  await cluster.stop();
});

/** Pauses take no time. */
const timing: Timing = {
  now: () => Date.now() + skippedMs,
  pause: (_, signal) => realTiming.pause(5, signal),
  random: () => 0,
};

/** A process that is leading or not. */
function start(holder: string) {
  const stop = new AbortController();
  const state = { isLeading: false, terms: 0, stop: () => stop.abort(), fail: (_: Error) => {}, log: [] as string[] };
  const api = new Transport({
    ...{ server: cluster.url, tokenProvider: () => HUB_TOKEN, fetch: globalThis.fetch, timing },
    ...{ userAgent: undefined, onWarning: undefined },
  });
  const run = whileLeading(
    { api, namespace: 'cp', holder, timing, log: (line) => state.log.push(line) },
    stop.signal,
    async (signal) => {
      state.isLeading = true;
      state.terms++;
      const ended = new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => resolve());
        state.fail = reject;
      });
      await ended.finally(() => {
        state.isLeading = false;
      });
    },
  );
  stops.push(stop);
  runs.push(run);
  return state;
}

const specOf = () => cluster.objects('coordination.k8s.io/leases').get('cp/clusterpass-connector')?.spec as object;

it('A56: one of two leads, and the other one when the first is stopped', async () => {
  const first = start('first');
  await expect.poll(() => first.isLeading).toBe(true);
  const second = start('second');
  await expect.poll(() => cluster.requests.filter((line) => line === `GET ${LEASE}`).length).toBeGreaterThan(3);
  expect(second.terms).toBe(0);
  expect(specOf()).toMatchObject({
    holderIdentity: 'first',
    leaseDurationSeconds: 15,
    renewTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
  });
  first.stop();
  await expect.poll(() => second.isLeading).toBe(true);
  expect(first.isLeading).toBe(false);
  expect(specOf()).toMatchObject({ holderIdentity: 'second' });
});

it('a leader that cannot renew stops before another one begins', async () => {
  const first = start('first');
  await expect.poll(() => first.isLeading).toBe(true);
  cluster.fault = (method) => (method === 'PUT' ? { code: 503 } : undefined);
  await expect.poll(() => first.log).toEqual(['the Lease cp/clusterpass-connector: refused']);
  const second = start('second');
  expect([first.isLeading, second.terms]).toEqual([true, 0]);
  skippedMs = 10_000;
  await expect.poll(() => first.isLeading).toBe(false);
  expect(second.terms).toBe(0);
  cluster.fault = () => undefined;
  skippedMs = 60_000;
  await expect.poll(() => first.isLeading !== second.isLeading).toBe(true);
});

it('leads again after it could not go on', async () => {
  const first = start('first');
  await expect.poll(() => first.isLeading).toBe(true);
  first.fail(new Error('it is not known'));
  await expect.poll(() => [first.terms, first.isLeading]).toEqual([2, true]);
  expect(first.log).toEqual(['it is not known']);
});
