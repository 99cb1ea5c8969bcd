import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Port, Rpc } from '../../src/lib/worker-rpc.ts';
import { type Guard, LEADER_KEY, type Store } from '../../src/storage/contract.ts';
import { ProxyStore } from '../../src/storage/proxy/proxy-store.ts';
import { type OwnerMethods, StoreOwner } from '../../src/storage/proxy/store-owner.ts';
import { storeCalls } from '../../src/storage/serialize-error.ts';
import { seedSqliteRevision } from '../../src/storage/sqlite/database.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { bytes, create, failure } from './harness.ts';
import { storeConformance } from './store-conformance.ts';

/** A link within the process: messages are serialized, and arrive in a later tick. */
class LinkPair {
  readonly #listeners: ((messages: readonly unknown[]) => void)[][] = [[], []];
  readonly #closers: ((cause: unknown) => void)[] = [];
  #open = true;
  /** The process at this end is stopped: what it sends is sent when it goes on. */
  #stopped: (() => void)[] | undefined;

  end(side: 0 | 1): Port {
    return {
      post: (messages) => {
        const sent = serialize(messages);
        const arrive = (): void => {
          if (!this.#open) return;
          for (const listener of this.#listeners[1 - side] ?? []) listener(deserialize(sent));
        };
        if (this.#stopped !== undefined) this.#stopped.push(arrive);
        else setImmediate(arrive);
      },
      onMessages: (listener) => void this.#listeners[side]?.push(listener),
      onClose: (listener) => void this.#closers.push(listener),
    };
  }

  stop(): void {
    this.#stopped = [];
  }

  goOn(): void {
    for (const arrive of this.#stopped ?? []) setImmediate(arrive);
    this.#stopped = undefined;
  }

  close(): void {
    this.#open = false;
    for (const close of this.#closers) close(undefined);
  }
}

const CALLS = storeCalls('the process that has the store open has ended');

function connect(owner: StoreOwner): { store: ProxyStore; ends: LinkPair } {
  const ends = new LinkPair();
  const client = new Rpc(ends.end(0), CALLS);
  client.serve(owner.methodsFor(client));
  const remote = new Rpc<OwnerMethods>(ends.end(1), CALLS);
  const store = new ProxyStore(remote);
  return { store, ends };
}

interface Opened {
  readonly directory: string;
  readonly engine: Store;
}
const opened = new WeakMap<Store, Opened>();

async function openIn(directory: string): Promise<ProxyStore> {
  const engine = await openSqliteStore({ file: join(directory, 'store.db') });
  const { store } = connect(new StoreOwner(engine));
  opened.set(store, { directory, engine });
  return store;
}

async function closed(store: Store): Promise<string> {
  await store.close();
  const { directory, engine } = opened.get(store) as Opened;
  await engine.close();
  return directory;
}

const temporary = (): string => mkdtempSync(join(tmpdir(), 'clusterpass-proxy-'));

storeConformance('A store in another process', {
  open: () => openIn(temporary()),
  reopen: async (store) => openIn(await closed(store)),
  async seedRevision(store, revision) {
    const directory = await closed(store);
    seedSqliteRevision(join(directory, 'store.db'), revision);
    return openIn(directory);
  },
  destroy: async (store) => rmSync(await closed(store), { recursive: true }),
});

describe('processes that share a store', () => {
  const shared = async (test: (owner: StoreOwner) => Promise<void>): Promise<void> => {
    const directory = temporary();
    const engine = await openSqliteStore({ file: join(directory, 'store.db') });
    try {
      await test(new StoreOwner(engine));
    } finally {
      await engine.close();
    }
  };

  it('a read at one process sees an acknowledged write of another', () =>
    shared(async (owner) => {
      const [one, other] = [connect(owner).store, connect(owner).store];
      for (let i = 0; i < 100; i++) {
        const revision = await create(one, `/a/${i}`, 'x');
        expect(await other.revision()).toBeGreaterThanOrEqual(revision);
        expect((await other.get(`/a/${i}`))?.modRevision).toBe(revision);
      }
      const write = { key: '/a/contended', value: bytes('x'), expect: { absent: true } } as const;
      const results = await Promise.all([one, other, one, other].map((store) => store.write(write)));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    }));

  const campaigning = (owner: StoreOwner, count: number) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const lent = Array.from({ length: count }, () => {
      const { store, ends } = connect(owner);
      return { store, ends, leadership: store.campaign() };
    });
    onTestFinished(async () => {
      for (const { leadership } of lent) await leadership.close();
      vi.useRealTimers();
    });
    const leaders = (): number[] => lent.flatMap(({ leadership }, i) => (leadership.leads() ? [i] : []));
    /** Lets the time pass until it leads, and no other at any moment. */
    const takesOver = (who: number): Promise<void> =>
      vi.waitFor(
        () => {
          vi.advanceTimersByTime(250);
          expect(leaders().length).toBeLessThan(2);
          expect(leaders()).toEqual([who]);
        },
        { timeout: 30_000 },
      );
    return { lent, leaders, takesOver };
  };

  it('one process leads: the first, and the next when it resigns or ends, and never two', () =>
    shared(async (owner) => {
      const { lent, takesOver } = campaigning(owner, 3);
      await takesOver(0);
      lent[0]?.ends.close();
      await takesOver(1);
      await lent[1]?.leadership.close();
      await takesOver(2);
    }));

  it('a leader that is stopped leads until its lease expires, and a write that it had begun is refused', () =>
    shared(async (owner) => {
      const { lent, takesOver, leaders } = campaigning(owner, 2);
      await takesOver(0);
      const [leader] = lent;
      const guards = [leader?.leadership.fence() as Guard];
      const write = { key: '/a/x', value: bytes('x'), expect: { absent: true }, guards } as const;
      expect(await leader?.store.write({ ...write, key: '/a/y' })).toMatchObject({ ok: true });
      leader?.ends.stop();
      const late = leader?.store.write(write);
      await takesOver(1);
      leader?.ends.goOn();
      expect(await late).toMatchObject({ ok: false, key: LEADER_KEY });
      expect(leaders()).toEqual([1]);
    }));

  it('after its link is closed, requests fail with unavailable, but for writes that were sent, and so does its watch', () =>
    shared(async (owner) => {
      const { store, ends } = connect(owner);
      const watching = (async () => {
        for await (const _ of store.watch('/a/', await store.revision(), new AbortController().signal));
      })();
      const failed = failure(watching);
      await store.revision();
      const asking = failure(store.get('/a/x'));
      const writing = failure(create(store, '/a/x', 'one'));
      ends.close();
      expect([(await failed).code, (await asking).code]).toEqual(['unavailable', 'unavailable']);
      expect((await writing).code).toBe('unknown-outcome');
      expect((await failure(store.revision())).code).toBe('unavailable');
      expect((await failure(create(store, '/a/x', 'one'))).code).toBe('unavailable');
    }));

  it('a watch keeps nothing of the batches that it has delivered', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    let deliver: (messages: readonly unknown[]) => void = () => {};
    let revision = 1;
    const port: Port = {
      post(messages) {
        const calls = (messages as readonly (readonly number[])[]).flatMap(([id = 0]) => (id > 0 ? [id] : []));
        deliver(calls.map((id) => [-id, { changes: [], revision: revision++ }]));
      },
      onMessages(listener) {
        deliver = listener;
      },
      onClose() {},
    };
    const store = new ProxyStore(new Rpc(port, CALLS));
    const batches = store.watch('/a/', 0, new AbortController().signal)[Symbol.asyncIterator]();
    const take = async (count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken += 1) await batches.next();
    };
    await take(1_000);
    const before = used();
    await take(20_000);
    expect(used() - before).toBeLessThan(1_000_000);
    await batches.return?.();
  });
});
