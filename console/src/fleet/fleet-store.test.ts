import { expect, it } from 'vitest';
import {
  type Client,
  type Cluster,
  type ClusterEvent,
  ConnectionError,
  createClient,
} from '../../../src/client/index.ts';
import { timelineOf } from '../cluster/conditions-section.tsx';
import type { Drawing } from './drawing.ts';
import { FleetStore } from './fleet-store.ts';
import { NO_FILTER } from './select-rows.ts';

/** A clock that stands still, and frames that are told when to come. */
function stillDrawing(): Drawing & { readonly frames: (() => void)[]; breaths: number } {
  const frames: (() => void)[] = [];
  return {
    frames,
    breaths: 0,
    now: () => 1_000,
    soon: (draw) => {
      frames.push(draw);
      return () => void frames.splice(frames.indexOf(draw), 1);
    },
    async breathe() {
      this.breaths++;
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

/** A client whose watch tells these, and then ends as it is told to. */
function clientWith(tell: (options: Parameters<Client['watchClusters']>[0]) => AsyncGenerator<ClusterEvent>): Client {
  return { ...createClient({ server: 'http://desk.example' }), watchClusters: (options) => tell(options) };
}

it('keeps what it is told, and notes each change of a condition', async () => {
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
    stillDrawing(),
  );
  await store.run(new AbortController().signal);
  const { size, synced, connection } = store.snapshot();
  expect(size).toBe(1);
  expect(store.select(NO_FILTER).rows.map(({ name, state, fresh }) => [name, state, fresh])).toEqual([
    ['a', 'not-ready', true],
  ]);
  expect(synced).toBe(true);
  expect(connection).toEqual({ kind: 'lost', since: 1_000, retryAt: 1_500, reason: 'gone' });
  expect(store.transitionsOf('a')).toEqual([
    { type: 'Ready', from: 'True', to: 'False', reason: 'IsFalse', at: Date.parse(AT) },
  ]);
  expect(store.transitionsOf('b')).toEqual([]);
});

it('draws many events as one, in a frame, and lets the browser do its work meanwhile', async () => {
  const drawing = stillDrawing();
  const seen: number[] = [];
  const store = new FleetStore(
    clientWith(async function* (options) {
      options?.onConnected?.();
      options?.onSynced?.();
      for (let index = 0; index < 300; index++) yield { type: 'ADDED', cluster: cluster(`c-${index}`, 'True') };
      for (let index = 0; index < 300; index++) yield { type: 'MODIFIED', cluster: cluster(`c-${index}`, 'False') };
      expect(drawing.frames).toHaveLength(1);
      for (const draw of drawing.frames.splice(0)) draw();
      expect(store.snapshot().membership).toBe(1);
      yield { type: 'MODIFIED', cluster: cluster('c-7', 'True') };
      for (const draw of drawing.frames.splice(0)) draw();
      expect(store.snapshot().membership).toBe(1);
    }),
    drawing,
  );
  store.subscribe(() => seen.push(store.select(NO_FILTER).counts['not-ready']));
  await store.run(new AbortController().signal);
  // Connected, all told, the six hundred, the last.
  expect(seen).toEqual([0, 0, 300, 299]);
  // Once before the first event, and once after each drawing.
  expect(drawing.breaths).toBe(5);
  expect(store.totals.environments(3).map(({ counts }) => counts)).toEqual([
    { ready: 1, 'not-ready': 299, unknown: 0 },
  ]);
});

it('rests longer after a drawing that took long, and never so long that a permission would show late', async () => {
  let now = 1_000;
  let takes = 0;
  const waits: number[] = [];
  const frames: (() => void)[] = [];
  const drawing: Drawing = {
    now: () => now,
    soon: (draw, afterMs) => {
      waits.push(afterMs);
      frames.push(draw);
      return () => {};
    },
    breathe: async () => {
      now += takes;
    },
  };
  const store = new FleetStore(
    clientWith(async function* () {
      for (takes of [60, 400, 0, 0]) {
        yield { type: 'ADDED', cluster: cluster(`c-${takes}`, 'True') };
        const before = now;
        for (const draw of frames.splice(0)) draw();
        // The drawing is measured, and the clock put back to its end: what is left of the rest is the wait.
        await Promise.resolve();
        now = before;
      }
    }),
    drawing,
  );
  await store.run(new AbortController().signal);
  expect(waits.slice(1)).toEqual([300, 500, 100]);
});

it('says why it stopped when the server refuses for good', async () => {
  const store = new FleetStore(
    // biome-ignore lint/correctness/useYield: it fails before it has anything to tell
    clientWith(async function* () {
      throw new Error('forbidden');
    }),
    stillDrawing(),
  );
  await store.run(new AbortController().signal);
  expect(store.snapshot().connection).toEqual({ kind: 'ended', reason: 'forbidden' });
});

it('tells a change once, whether it was seen or is remembered', () => {
  const { conditions = [] } = cluster('a', 'False').status ?? {};
  const seen = { type: 'Ready', from: 'True', to: 'False', reason: 'IsFalse', at: Date.parse(AT) };
  const titles = (transitions: (typeof seen)[]): string[] =>
    timelineOf(conditions, transitions, '2026-01-01T00:00:00Z').map(({ title }) => title);
  expect(titles([seen])).toEqual(['Ready: True → False', 'Registered']);
  expect(titles([])).toEqual(['Ready: False', 'Registered']);
});
