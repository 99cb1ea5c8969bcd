import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { type ApiObject, kindPrefix, REGISTRY_PREFIX, storageKey } from '../../src/api/kind.ts';
import { ApiError, type Status } from '../../src/api/status.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import { ObjectReader } from '../../src/objects/reader.ts';
import { StoredObject } from '../../src/objects/stored-object.ts';
import { createObjectWriter } from '../../src/objects/writer.ts';
import type { Store } from '../../src/storage/contract.ts';
import { Freshness } from '../../src/storage/freshness.ts';
import { Reflector } from '../../src/storage/reflector.ts';
import { openTestStore } from '../../src/storage/sqlite/test-store.fixture.ts';
import { WatchCache } from '../../src/storage/watch-cache.ts';
import { at, catalog } from './object-store.ts';

const { clusters } = catalog;

/** A real store whose watch is delivered only while the gate is open. */
interface DelayedWatch {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly reflector: Reflector<StoredObject>;
  put(name: string): Promise<void>;
  hold(): void;
  release(): void;
}

async function openDelayedWatch(): Promise<DelayedWatch> {
  const sqlite = await openTestStore();
  let gate = Promise.resolve();
  let open = (): void => {};
  const store: Store = {
    get: (key, revision) => sqlite.get(key, revision),
    list: (request) => sqlite.list(request),
    write: (write) => sqlite.write(write),
    async *watch(prefix, after, signal) {
      for await (const batch of sqlite.watch(prefix, after, signal)) {
        await gate;
        yield batch;
      }
    },
    revision: () => sqlite.revision(),
    compact: (revision) => sqlite.compact(revision),
    close: () => sqlite.close(),
  };
  const cache = new WatchCache<StoredObject>({
    prefix: kindPrefix(clusters),
    project: (stored) => new StoredObject(clusters, stored),
  });
  const reflector = new Reflector<StoredObject>({
    store,
    prefix: REGISTRY_PREFIX,
    caches: [cache],
    historyRevisions: 1_000,
    delay: async (ms) => delay(ms),
    onError: (error) => {
      throw error;
    },
    work: lonelyWork(),
  });
  onTestFinished(async () => {
    open();
    await reflector.stop();
  });
  return {
    store,
    reader: new ObjectReader(reflector, new Map([[clusters, cache]]), new Freshness({ store, parts: [reflector] })),
    reflector,
    put: async (name) => {
      const value = Buffer.from(JSON.stringify({ metadata: { name, uid: `uid-of-${name}` } }));
      const key = storageKey(clusters, at('', '', name));
      expect((await sqlite.write({ key, value, expect: { absent: true } })).ok).toBe(true);
    },
    hold: () => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release: () => open(),
  };
}

async function statusOf(work: Promise<unknown>): Promise<Status> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('it was not refused', { cause: error });
  return error.status;
}

describe('K-25: an object that the cache does not have', () => {
  it('is found after catching up', async () => {
    const { reader, reflector, put, hold, release } = await openDelayedWatch();
    await reflector.start();
    hold();
    await put('new');
    const objectKey = at('', '', 'new');
    expect(reader.find(clusters, objectKey)).toBeUndefined();
    const found = reader.findFresh(clusters, objectKey);
    release();
    expect((await found)?.name).toBe('new');
  });

  it('is not reported as absent by a cache that stays behind', async () => {
    const { reader, reflector, put, hold } = await openDelayedWatch();
    await reflector.start();
    hold();
    await put('new');
    expect(await statusOf(Promise.resolve(reader.findFresh(clusters, at('', '', 'new'))))).toMatchObject({
      code: 503,
      reason: 'ServiceUnavailable',
      details: { retryAfterSeconds: 1 },
    });
  });

  it('is absent when the store does not have it either', async () => {
    const { reader, reflector } = await openDelayedWatch();
    await reflector.start();
    expect(await reader.findFresh(clusters, at('', '', 'gone'))).toBeUndefined();
  });
});

describe('L-38: while the caches are filled', () => {
  it('every read fails with 429 and Retry-After', async () => {
    const { reader, reflector, put } = await openDelayedWatch();
    await put('old');
    const warming = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'storage is (re)initializing',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 1 },
      code: 429,
    };
    expect(reader.ready).toBe(false);
    expect(await statusOf(reader.catchUp())).toEqual(warming);
    expect(await statusOf(reader.waitFor(1))).toEqual(warming);
    expect(await statusOf(Promise.resolve(reader.findFresh(clusters, at('', '', 'old'))))).toEqual(warming);
    await reflector.start();
    expect(reader.ready).toBe(true);
    expect((await reader.findFresh(clusters, at('', '', 'old')))?.name).toBe('old');
  });
});

describe('B30: a write that this process does not act on yet', () => {
  const newCluster = (name: string): ApiObject => ({ ...CLUSTER_TYPE, metadata: { name } });

  it('is not acknowledged: 504, and it has happened', async () => {
    const { store, reader, reflector, hold, release } = await openDelayedWatch();
    const writer = createObjectWriter({
      store,
      reader,
      catalog,
      now: Date.now,
      randomUUID: randomUUID,
      randomSuffix: () => 'xxxxx',
      computedAnnotations: [],
    });
    await reflector.start();
    const none = { dryRun: false };
    await writer.create(clusters, { cluster: '', namespace: '' }, newCluster('kept'), none);
    hold();
    const writes = [
      writer.create(clusters, { cluster: '', namespace: '' }, newCluster('made'), none),
      writer.remove(clusters, at('', '', 'kept'), none),
    ];
    for (const write of writes) {
      const status = await statusOf(write);
      expect(status).toMatchObject({ code: 504, reason: 'Timeout' });
      expect(status.message).toContain('the change is stored');
      // A client that repeats by itself would report a conflict with its own write.
      expect(status.details).toEqual({});
    }
    release();
    await reader.catchUp();
    expect(reader.find(clusters, at('', '', 'made'))?.name).toBe('made');
    expect(reader.find(clusters, at('', '', 'kept'))?.deletionTimestamp).toBeDefined();
  });
});
