/** `node sqlite-floor.ts FILE ROWS BATCH`: the same rows, durable, with one transaction for each batch. */
import type { DatabaseSync } from 'node:sqlite';
import { createCatalog } from '../../src/api/catalog.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { clusterBody } from './fleet.ts';

const [file = '', rows = '', batch = ''] = process.argv.slice(2);
// The same file with the same settings: its schema, its log, its way of being durable.
const db: DatabaseSync = openDatabase(file);
const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
const { clusters } = createCatalog({ productName: 'orchestrator' });
const value = toStoredBytes(clusters, clusterBody('new-00000000', { env: 'dev' }) as ApiObject);

const begun = performance.now();
const used = process.cpuUsage();
let revision = 1;
for (let done = 0; done < Number(rows); done += Number(batch)) {
  db.exec('BEGIN');
  for (let index = 0; index < Number(batch); index++) {
    revision += 1;
    insert.run(revision, `/registry/clusters/new-${String(revision).padStart(8, '0')}`, revision, value);
  }
  db.exec('COMMIT');
}
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ seconds: (performance.now() - begun) / 1000, cpu: user + system }));
db.close();
