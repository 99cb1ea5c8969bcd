import { expect, it } from 'vitest';
import {
  type Client,
  type Cluster,
  type ClusterEvent,
  ConnectionError,
  createClient,
} from '../../../src/client/index.ts';
import { timelineOf } from '../cluster/conditions-section.tsx';
import { FleetStore } from './fleet-store.ts';

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
    () => 1_000,
  );
  await store.run(new AbortController().signal);
  const { rows, synced, connection } = store.snapshot();
  expect(rows.map(({ name, state, fresh }) => [name, state, fresh])).toEqual([['a', 'not-ready', true]]);
  expect(synced).toBe(true);
  expect(connection).toEqual({ kind: 'lost', since: 1_000, retryAt: 1_500, reason: 'gone' });
  expect(store.transitionsOf('a')).toEqual([
    { type: 'Ready', from: 'True', to: 'False', reason: 'IsFalse', at: Date.parse(AT) },
  ]);
  expect(store.transitionsOf('b')).toEqual([]);
});

it('says why it stopped when the server refuses for good', async () => {
  const store = new FleetStore(
    // biome-ignore lint/correctness/useYield: it fails before it has anything to tell
    clientWith(async function* () {
      throw new Error('forbidden');
    }),
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
