import { expect, it } from 'vitest';
import {
  type Client,
  type Cluster,
  type ClusterEvent,
  ConnectionError,
  createClient,
} from '../../../src/client/index.ts';
import { NO_FILTER } from './fleet-filter.ts';
import { FleetStore } from './fleet-store.ts';
import type { RenderScheduler } from './render-scheduler.ts';

/** The clock stands still, and the test runs the frames. */
function manualScheduler(): RenderScheduler & { readonly frames: (() => void)[]; yields: number } {
  const frames: (() => void)[] = [];
  return {
    frames,
    yields: 0,
    now: () => 1_000,
    schedule: (render) => {
      frames.push(render);
      return () => void frames.splice(frames.indexOf(render), 1);
    },
    async yieldToBrowser() {
      this.yields++;
    },
  };
}

const AT = '2026-11-14T00:00:00Z';

const cluster = (name: string, status: string): Cluster => ({
  apiVersion: 'a/v1',
  kind: 'Cluster',
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status, reason: `Is${status}`, lastTransitionTime: AT }] },
});

/** A client whose watch yields the events of the generator. */
function clientWith(watch: (options: Parameters<Client['watchClusters']>[0]) => AsyncGenerator<ClusterEvent>): Client {
  return { ...createClient({ server: 'http://server.example' }), watchClusters: (options) => watch(options) };
}

it('stores the clusters of the watch and records transitions of conditions', async () => {
  const store = new FleetStore(
    clientWith(async function* (options) {
      options?.onConnected?.();
      yield { type: 'ADDED', cluster: cluster('a', 'True') };
      yield { type: 'ADDED', cluster: cluster('b', 'True') };
      options?.onSynced?.();
      yield { type: 'MODIFIED', cluster: cluster('a', 'False') };
      yield { type: 'DELETED', cluster: cluster('b', 'True') };
      options?.onInterruption?.(new ConnectionError('gone'), 500);
    }),
    manualScheduler(),
  );
  await store.run(new AbortController().signal);
  const { size, synced, connection } = store.snapshot();
  expect(size).toBe(1);
  expect(store.select(NO_FILTER).rows.map(({ name, readiness }) => [name, readiness])).toEqual([['a', 'not-ready']]);
  expect([store.names(1, 'a'), store.names(1, 'x')]).toEqual([['a'], []]);
  expect(synced).toBe(true);
  expect(connection).toEqual({ kind: 'lost', retryAt: 1_500, reason: 'gone' });
  expect(store.transitionsOf('a')).toEqual([
    { type: 'Ready', from: 'True', to: 'False', reason: 'IsFalse', at: Date.parse(AT) },
  ]);
  expect(store.transitionsOf('b')).toEqual([]);
});

it('renders many events in one frame and yields to the browser in between', async () => {
  const scheduler = manualScheduler();
  const seen: number[] = [];
  const store = new FleetStore(
    clientWith(async function* (options) {
      options?.onConnected?.();
      options?.onSynced?.();
      for (let index = 0; index < 300; index++) yield { type: 'ADDED', cluster: cluster(`c-${index}`, 'True') };
      for (let index = 0; index < 300; index++) yield { type: 'MODIFIED', cluster: cluster(`c-${index}`, 'False') };
      expect(scheduler.frames).toHaveLength(1);
      for (const render of scheduler.frames.splice(0)) render();
      expect(store.snapshot().membership).toBe(1);
      yield { type: 'MODIFIED', cluster: cluster('c-7', 'True') };
      for (const render of scheduler.frames.splice(0)) render();
      expect(store.snapshot().membership).toBe(1);
    }),
    scheduler,
  );
  store.subscribe(() => seen.push(store.select(NO_FILTER).counts['not-ready']));
  await store.run(new AbortController().signal);
  // One render each: connected, synced, the 600 events, the last event.
  expect(seen).toEqual([0, 0, 300, 299]);
  // Before the first event and after each render.
  expect(scheduler.yields).toBe(5);
  expect(store.totals.environments(3).map(({ counts }) => counts)).toEqual([
    { ready: 1, 'not-ready': 299, unknown: 0 },
  ]);
});

it('renders less often when a render takes long, but at least every 500 ms', async () => {
  let now = 1_000;
  let renderMs = 0;
  const delays: number[] = [];
  const frames: (() => void)[] = [];
  const scheduler: RenderScheduler = {
    now: () => now,
    schedule: (render, delayMs) => {
      delays.push(delayMs);
      frames.push(render);
      return () => {};
    },
    yieldToBrowser: async () => {
      now += renderMs;
    },
  };
  const store = new FleetStore(
    clientWith(async function* () {
      for (renderMs of [60, 400, 0, 0]) {
        yield { type: 'ADDED', cluster: cluster(`c-${renderMs}`, 'True') };
        const before = now;
        for (const render of frames.splice(0)) render();
        // After the measurement the clock is set back, so that the next delay is the whole interval.
        await Promise.resolve();
        now = before;
      }
    }),
    scheduler,
  );
  await store.run(new AbortController().signal);
  expect(delays.slice(1)).toEqual([300, 500, 100]);
});

it('reports the error that ended the watch', async () => {
  const store = new FleetStore(
    // biome-ignore lint/correctness/useYield: the watch fails before the first event
    clientWith(async function* () {
      throw new Error('forbidden');
    }),
    manualScheduler(),
  );
  await store.run(new AbortController().signal);
  expect(store.snapshot().connection).toEqual({ kind: 'failed', reason: 'forbidden' });
});
