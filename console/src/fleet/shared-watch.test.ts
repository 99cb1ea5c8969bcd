import { afterEach, expect, it } from 'vitest';
import { type Cluster, type ClusterEvent, ConnectionError, type WatchOptions } from '../../../src/client/index.ts';
import { SharedWatch } from './shared-watch.ts';

const cluster = (name: string, version: number): Cluster => ({
  apiVersion: 'a/v1',
  kind: 'Cluster',
  metadata: { name, uid: name, resourceVersion: String(version) },
});

/** A watch that the test drives. */
class DrivenWatch {
  options: WatchOptions | undefined;
  #next = Promise.withResolvers<ClusterEvent>();

  async *watchClusters(options: WatchOptions = {}): AsyncGenerator<ClusterEvent> {
    this.options = options;
    options.onConnected?.();
    const ended = new Promise<undefined>((resolve) =>
      options.signal?.addEventListener('abort', () => resolve(undefined)),
    );
    for (;;) {
      const event = await Promise.race([this.#next.promise, ended]);
      if (event === undefined) return;
      this.#next = Promise.withResolvers();
      yield event;
    }
  }

  yields(event: ClusterEvent): void {
    this.#next.resolve(event);
  }

  fails(error: Error): void {
    this.#next.reject(error);
  }
}

interface OpenTab {
  readonly server: DrivenWatch;
  readonly seen: string[];
  readonly shared: SharedWatch;
  retries: number;
  close(): void;
  readonly ended: Promise<unknown>;
}

const tabs: OpenTab[] = [];
afterEach(async () => {
  for (const tab of tabs) tab.close();
  await Promise.allSettled(tabs.splice(0).map(({ ended }) => ended));
});

function open(username: string): OpenTab {
  const server = new DrivenWatch();
  const seen: string[] = [];
  const controller = new AbortController();
  const shared = new SharedWatch({
    client: { watchClusters: (options) => server.watchClusters(options) },
    user: { username, extra: { 'authentication.kubernetes.io/credential-id': [crypto.randomUUID()] } },
    retryNow: () => {
      tab.retries += 1;
    },
    checkSession: async () => {},
  });
  const read = async (): Promise<void> => {
    const events = shared.watchClusters({
      signal: controller.signal,
      onConnected: () => seen.push('connected'),
      onSynced: () => seen.push('synced'),
      onInterruption: (cause) => seen.push(`interrupted: ${(cause as Error | undefined)?.message}`),
    });
    for await (const { type, cluster: changed } of events) {
      seen.push(`${type} ${changed.metadata.name}@${changed.metadata.resourceVersion}`);
    }
  };
  const ended = read().catch((error: unknown) => seen.push(`failed: ${(error as Error).message}`));
  const tab: OpenTab = { server, seen, shared, retries: 0, close: () => controller.abort(), ended };
  tabs.push(tab);
  return tab;
}

const sees = (tab: OpenTab, ...expected: string[]) => expect.poll(() => tab.seen).toEqual(expected);

async function leaderWithTwo(name: string): Promise<OpenTab> {
  const leader = open(name);
  await sees(leader, 'connected');
  leader.server.yields({ type: 'ADDED', cluster: cluster('a', 1) });
  await sees(leader, 'connected', 'ADDED a@1');
  leader.server.yields({ type: 'ADDED', cluster: cluster('b', 2) });
  await sees(leader, 'connected', 'ADDED a@1', 'ADDED b@2');
  leader.server.options?.onSynced?.();
  return leader;
}

const RESTORED = ['ADDED a@1', 'ADDED b@2', 'connected', 'synced'];

it('the first tab watches, and the others see the same', async () => {
  const leader = await leaderWithTwo('jane');
  const other = open('jane');
  await sees(other, ...RESTORED);
  expect(other.server.options).toBeUndefined();
  leader.server.yields({ type: 'MODIFIED', cluster: cluster('a', 3) });
  await sees(other, ...RESTORED, 'MODIFIED a@3');
  leader.server.options?.onInterruption?.(new ConnectionError('gone'), 500);
  await sees(other, ...RESTORED, 'MODIFIED a@3', 'interrupted: gone');
  other.shared.retryNow();
  await expect.poll(() => leader.retries).toBe(1);
  leader.server.options?.onInterruption?.(undefined, 0);
  await sees(other, ...RESTORED, 'MODIFIED a@3', 'interrupted: gone', 'interrupted: undefined');
});

it('the next tab continues where the first one ended', async () => {
  const leader = await leaderWithTwo('joe');
  const [second, third] = [open('joe'), open('joe')];
  await sees(second, ...RESTORED);
  await sees(third, ...RESTORED);
  leader.close();
  await sees(second, ...RESTORED, 'connected');
  expect(second.server.options?.from?.metadata.resourceVersion).toBe('2');
  expect(second.server.options?.from?.items).toHaveLength(2);
  second.server.yields({ type: 'DELETED', cluster: cluster('b', 4) });
  await expect.poll(() => third.seen.at(-1)).toBe('DELETED b@2');
  expect(third.server.options).toBeUndefined();
});

it('a tab whose token is rejected ends alone', async () => {
  const leader = await leaderWithTwo('ada');
  const other = open('ada');
  await sees(other, ...RESTORED);
  leader.server.fails(new Error('unauthorized'));
  await expect.poll(() => leader.seen.at(-1)).toBe('failed: unauthorized');
  await sees(other, ...RESTORED, 'connected');
});

it('a tab of another user opens another watch', async () => {
  await leaderWithTwo('eve');
  const other = open('mallory');
  await sees(other, 'connected');
  expect(other.server.options?.from).toBeUndefined();
});
