/** `node store-writers.ts FILE ROWS WRITERS`: writes rows with the storage engine; each writer awaits its own row. */
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { storedCluster } from './fleet.ts';

const [file = '', rows = '', writers = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file });
const value = storedCluster('new-00000000');

let begun = 0;
async function write(): Promise<void> {
  while (begun < Number(rows)) {
    begun += 1;
    const key = `/registry/clusters/new-${String(begun).padStart(8, '0')}`;
    const { ok } = await store.write({ key, value, expect: { absent: true } });
    if (!ok) throw new Error(`${key} exists already`);
  }
}

const before = await store.revision();
const from = performance.now();
const cpuBefore = process.cpuUsage();
await Promise.all(Array.from({ length: Number(writers) }, write));
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ seconds: (performance.now() - from) / 1000, cpu: user + system }));
// Each acknowledged row is one revision, and the last row can be read.
const last = await store.get(`/registry/clusters/new-${rows.padStart(8, '0')}`);
if ((await store.revision()) - before !== Number(rows) || last === undefined) throw new Error('rows are missing');
await store.close();
