import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCatalog } from '../../src/api/catalog.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { storageKey } from '../../src/api/object-key.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { seedSqliteRevision } from '../../src/storage/sqlite/database.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { importStore } from '../../src/transfer/import-store.ts';
import { CREATED, clusterBody, type FleetObject } from './objects.ts';

/** A caller with a static token (`--token-auth-file`). */
export interface Caller {
  readonly name: string;
  readonly token: string;
  readonly groups?: readonly string[];
}

/** The objects that a server starts with, and its callers. */
export interface Fleet {
  readonly objects: () => Iterable<FleetObject>;
  readonly callers: readonly Caller[];
}

const catalog = createCatalog({ productName: 'orchestrator' });

type ImportTarget = Parameters<typeof importStore>[0];
type ImportItem = Parameters<typeof importStore>[1]['items'] extends Iterable<infer Item> ? Item : never;

function toItem({ kind: kindName, cluster, namespace, body }: FleetObject, createRevision: number): ImportItem {
  const kind = catalog[kindName];
  const { metadata, ...rest } = body as ApiObject;
  const generation = kind.countsGenerations ? { generation: 1 } : {};
  const full = { ...rest, metadata: { ...metadata, uid: randomUUID(), creationTimestamp: CREATED, ...generation } };
  return {
    key: storageKey(kind, { cluster, namespace, name: metadata.name ?? '' }),
    value: toStoredBytes(kind, full as ApiObject),
    createRevision,
  };
}

/** Fills an empty store, as `clusterpass store import` does. */
export async function fillStore(target: ImportTarget, fleet: Fleet): Promise<void> {
  let revision = 1;
  const items: ImportItem[] = [];
  for (const object of fleet.objects()) items.push(toItem(object, ++revision));
  await importStore(target, { revision: 1, items });
}

/** Fills an empty data directory. */
export async function writeFleet(dataDir: string, fleet: Fleet): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'clusterpass.db');
  const target = {
    open: () => openSqliteStore({ file }),
    seedRevision: async (revision: number) => seedSqliteRevision(file, revision),
  };
  await fillStore(target, fleet);
}

/** The bytes of a cluster in the store. */
export const storedCluster = (name: string): Uint8Array =>
  toStoredBytes(catalog.clusters, clusterBody(name, { env: 'dev' }) as ApiObject);
