import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createCatalog } from '../../src/api/catalog.ts';
import { type ApiObject, type Kind, type ObjectKey, REGISTRY_PREFIX } from '../../src/api/kind.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import { createDeletionPropagation, type DeletionPropagation } from '../../src/objects/deletion-propagation.ts';
import { ObjectReader } from '../../src/objects/reader.ts';
import { cacheOptionsOf, type StoredObject } from '../../src/objects/stored-object.ts';
import { createObjectWriter, type ObjectWriter } from '../../src/objects/writer.ts';
import { StorageError, type Store, type Write, type WriteResult } from '../../src/storage/contract.ts';
import { Freshness } from '../../src/storage/freshness.ts';
import { Reflector } from '../../src/storage/reflector.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { WatchCache } from '../../src/storage/watch-cache.ts';

export const catalog = createCatalog({ productName: 'orchestrator' });

/** Objects over a real database, with a gate for writes. */
export interface Objects {
  readonly store: Store;
  readonly reflector: Reflector<StoredObject>;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  /** The writer of another process: it does not wait for the writes of others, so a gate can use it. */
  otherWriter(): ObjectWriter;
  readonly propagation: DeletionPropagation;
  /** Every key under the registry, in order. */
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

export type Gate = (write: Write, next: () => Promise<WriteResult>) => Promise<WriteResult>;

/** Until the end of the test. */
export async function openObjects(...options: Parameters<typeof openDatabase>): Promise<Objects> {
  const objects = await openDatabase(...options);
  onTestFinished(objects.close);
  return objects;
}

export async function openDatabase(
  file = newDatabase(),
  gate: Gate = (_, next) => next(),
  now: () => number = Date.now,
): Promise<Objects> {
  const sqlite = await openSqliteStore({ file });
  const store: Store = {
    get: (key, revision) => sqlite.get(key, revision),
    list: (request) => sqlite.list(request),
    write: (write) => gate(write, () => sqlite.write(write)),
    watch: (prefix, after, signal) => sqlite.watch(prefix, after, signal),
    revision: () => sqlite.revision(),
    compact: (revision) => sqlite.compact(revision),
    close: () => sqlite.close(),
  };
  const { stop, ...objects } = await openReplica(store, now);
  let closed: Promise<void> | undefined;
  return {
    ...objects,
    store,
    keys: async () => (await sqlite.list({ prefix: '/registry/' })).items.map(({ key }) => key),
    close: () => {
      closed ??= stop().then(() => sqlite.close());
      return closed;
    },
  };
}

/** A replica on a shared store, with its own caches. */
export async function openReplica(store: Store, now: () => number = Date.now) {
  const caches = new Map(catalog.storedKinds.map((kind) => [kind, new WatchCache<StoredObject>(cacheOptionsOf(kind))]));
  const reflector = new Reflector<StoredObject>({
    store,
    prefix: REGISTRY_PREFIX,
    caches: [...caches.values()],
    historyRevisions: 1_000,
    delay: async (ms) => delay(ms),
    onError: (error) => {
      // The reflector leaves out what it cannot decode, and continues.
      if (!(error instanceof StorageError && error.code === 'unreadable')) throw error;
    },
    work: lonelyWork(),
  });
  await reflector.start();
  const reader = new ObjectReader(reflector, caches, new Freshness({ store, parts: [reflector] }));
  const options = {
    store,
    reader,
    catalog,
    now,
    randomUUID: randomUUID,
    randomSuffix: () => 'xxxxx',
    computedAnnotations: [],
  };
  const writer = createObjectWriter(options);
  const otherWriter = () => createObjectWriter(options);
  const propagation = createDeletionPropagation({ store, reader, writer, catalog, work: lonelyWork() });
  return { reflector, reader, writer, otherWriter, propagation, stop: () => reflector.stop() };
}

export const object = (metadata: ApiObject['metadata'] = {}): ApiObject => ({ apiVersion: '', kind: '', metadata });

export const at = (cluster: string, namespace: string, name: string): ObjectKey => ({ cluster, namespace, name });

export const make = ({ writer }: Objects, kind: Kind, objectKey: ObjectKey, metadata: ApiObject['metadata'] = {}) =>
  writer.create(kind, objectKey, object({ ...metadata, name: objectKey.name }), { dryRun: false });
