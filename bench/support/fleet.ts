import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCatalog } from '../../src/api/catalog.ts';
import { type ApiObject, storageKey } from '../../src/api/kind.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { seedSqliteRevision } from '../../src/storage/sqlite/database.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { importStore } from '../../src/transfer/import-store.ts';
import { CREATED, type FleetObject } from './objects.ts';

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

/** Fills an empty data directory, as `clusterpass store import` does. */
export async function writeFleet(dataDir: string, fleet: Fleet): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'clusterpass.db');
  const items = [...fleet.objects()].map(({ cluster, body }, index) => {
    const { metadata, ...rest } = body as ApiObject;
    const kind = catalog.findKind(rest.apiVersion ?? '', rest.kind ?? '');
    if (kind === undefined) throw new Error(`there is no kind ${rest.kind}`);
    const generation = kind.countsGenerations ? { generation: 1 } : {};
    const full = { ...rest, metadata: { uid: randomUUID(), ...metadata, creationTimestamp: CREATED, ...generation } };
    const { name = '', namespace = '' } = metadata;
    const value = toStoredBytes(kind, full as ApiObject);
    return { key: storageKey(kind, { cluster, namespace, name }), value, createRevision: index + 2 };
  });
  const seedRevision = async (revision: number): Promise<void> => seedSqliteRevision(file, revision);
  await importStore({ open: () => openSqliteStore({ file }), seedRevision }, { revision: 1, items });
}
