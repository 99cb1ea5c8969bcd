/** `node sqlite-floor.ts FILE ROWS BATCH`: writes rows to SQLite, durably, one transaction for each batch. */
import type { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { storedCluster } from './fleet.ts';

const [file = '', rows = '', batch = ''] = process.argv.slice(2);
// The same schema, journal and durability as the store of Clusterpass.
const db: DatabaseSync = openDatabase(file);
const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
const value = storedCluster('new-00000000');

const begun = performance.now();
const cpuBefore = process.cpuUsage();
let revision = 1;
for (let done = 0; done < Number(rows); done += Number(batch)) {
  db.exec('BEGIN');
  for (let index = 0; index < Number(batch); index++) {
    revision += 1;
    insert.run(revision, `/registry/clusters/new-${String(revision).padStart(8, '0')}`, revision, value);
  }
  db.exec('COMMIT');
}
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ seconds: (performance.now() - begun) / 1000, cpu: user + system }));
db.close();
