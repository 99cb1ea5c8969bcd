/** `node store-writers.ts FILE ROWS WRITERS`: the same rows through the storage engine, each writer waiting for its own. */
import { createCatalog } from '../../src/api/catalog.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { clusterBody } from './fleet.ts';

const [file = '', rows = '', writers = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file });
const { clusters } = createCatalog({ productName: 'orchestrator' });
const value = toStoredBytes(clusters, clusterBody('new-00000000', { env: 'dev' }) as ApiObject);

let begun = 0;
async function write(): Promise<void> {
  while (begun < Number(rows)) {
    begun += 1;
    const key = `/registry/clusters/new-${String(begun).padStart(8, '0')}`;
    const { ok } = await store.write({ key, value, expect: { absent: true } });
    if (!ok) throw new Error(`${key} was there before`);
  }
}

const before = await store.revision();
const from = performance.now();
const used = process.cpuUsage();
await Promise.all(Array.from({ length: Number(writers) }, write));
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ seconds: (performance.now() - from) / 1000, cpu: user + system }));
// Each row that was acknowledged is one revision, and the last of them can be read.
const last = await store.get(`/registry/clusters/new-${rows.padStart(8, '0')}`);
if ((await store.revision()) - before !== Number(rows) || last === undefined) throw new Error('rows are missing');
await store.close();
