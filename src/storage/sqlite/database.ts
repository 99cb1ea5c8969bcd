import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../contract.ts';
import { requireLocalDisk } from './local-disk.ts';
import { isBusy, toStorageError } from './sqlite-errors.ts';

/** "CPas" in ASCII: `file clusterpass.db` and we ourselves know whose database it is. */
const APPLICATION_ID = 0x43506173;
const SCHEMA_VERSION = 1;

/**
 * Before 3.51.3 a WAL that was reset at the wrong moment could corrupt the database:
 * https://sqlite.org/wal.html#walresetbug
 */
const OLDEST_SQLITE = [3, 51, 3] as const;

/**
 * Of a new database; an older one keeps its own. An object is one to three KiB, and of SQLite's default of 4 KiB much would
 * be left at the end of each page.
 */
const PAGE_BYTES = 16 * 1024;

/** After so much in the WAL a commit copies it into the database. */
const WAL_CHECKPOINT_BYTES = 16 * 1024 ** 2;

/**
 * `log` is the whole store: one row for each change, and the row's id is the change's revision. AUTOINCREMENT
 * keeps the highest id ever given in sqlite_sequence, so that a revision is not given twice even when the
 * newest rows are gone. It starts at 1 like etcd's: 0 means "any" to a Kubernetes client, so an empty store
 * must not be at revision 0. `value` is NULL when the change deleted the key, and it is the last column, so
 * that reading the others does not touch its overflow pages.
 *
 * In `meta`, `oldest` is the oldest revision that can be read, and `swept` how far the rows that nobody can
 * read any more have been removed. They differ only while a compaction is under way, or was cut off.
 */
const SCHEMA = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    value BLOB
  ) STRICT;
  CREATE UNIQUE INDEX log_by_key ON log (key, revision);
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta (name, value) VALUES ('oldest', 1), ('swept', 1);
  INSERT INTO sqlite_sequence (name, seq) VALUES ('log', 1);
`;

/** Opens the file for this process alone and makes the schema if the file is new. Throws StorageError. */
export function openDatabase(file: string, maxBytes?: number): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    requireLocalDisk(file);
    createPrivately(file);
    // The timeout bridges the moment in which a predecessor is still on its way out.
    db = new DatabaseSync(file, { timeout: 250, enableForeignKeyConstraints: false, defensive: true });
    prepareDatabase(db, file);
    if (maxBytes !== undefined) limitSize(db, maxBytes);
    return db;
  } catch (error) {
    db?.close();
    throw isBusy(error) ? inUse(file) : toStorageError(error, file);
  }
}

/** SQLite forgets the limit when the file is closed, so it is set each time. It is never below what is there. */
function limitSize(db: DatabaseSync, maxBytes: number): void {
  pragma(db, `PRAGMA max_page_count = ${pagesIn(maxBytes, db)}`);
}

const pagesIn = (bytes: number, db: DatabaseSync): number =>
  Math.max(1, Math.floor(bytes / Number(pragma(db, 'PRAGMA page_size'))));

/**
 * Only for us: what is stored includes credentials. The flag `wx` matters for more than that. POSIX drops
 * every lock a process holds on a file when the process closes any descriptor of it, so a file that may be
 * open in SQLite is never to be opened in another way.
 */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function prepareDatabase(db: DatabaseSync, file: string): void {
  requireSqlite(String(pragma(db, 'SELECT sqlite_version()')));

  // Held from the first access to the end of the process, and released by the kernel however that comes.
  // Two owners would each believe they know the newest revision. It must come before anything reads the file.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');

  const applicationId = Number(pragma(db, 'PRAGMA application_id'));
  const version = Number(pragma(db, 'PRAGMA user_version'));
  const isNew = applicationId === 0 && version === 0 && Number(pragma(db, 'SELECT count(*) FROM sqlite_schema')) === 0;
  if (!isNew && applicationId !== APPLICATION_ID) {
    throw new StorageError('unreadable', `${file} is not a Clusterpass database: choose another --data-dir / --store`);
  }
  if (version > SCHEMA_VERSION) {
    throw new StorageError(
      'unreadable',
      `${file} was written by a newer release (schema ${version}, this one knows ${SCHEMA_VERSION}): ` +
        'start that release again, or restore a backup made before the upgrade',
    );
  }

  // These decide the layout of the file, so they must come before the first page is written.
  if (isNew) db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
  const mode = String(pragma(db, 'PRAGMA journal_mode = WAL'));
  if (mode !== 'wal') throw new StorageError('unavailable', `${file}: no write-ahead log here (journal mode ${mode})`);
  db.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = ${pagesIn(WAL_CHECKPOINT_BYTES, db)};
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -32768;
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
  `);
  if (isNew) {
    // One transaction: a crash leaves either no schema, and we are here again, or all of it.
    db.exec(`BEGIN IMMEDIATE; ${SCHEMA}
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } else {
    const damage = String(pragma(db, 'PRAGMA quick_check(1)'));
    if (damage !== 'ok') throw new StorageError('unreadable', `${file} is damaged: ${damage}`);
    // A file that can only be read is told at the start and not at the first write. It takes a write to find out: SQLite
    // begins any transaction on such a file. This one changes nothing.
    db.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${version}; ROLLBACK`);
  }
  writePid(file);
}

/** All or nothing. Takes the write lock first, so that what `work` reads is what it writes upon. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  // A disk that failed may have kept even the rollback of the last transaction from happening.
  if (db.isTransaction) db.exec('ROLLBACK');
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // Some errors, a full disk among them, have rolled back already.
    if (db.isTransaction) rollBack(db);
    throw error;
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // The error that led here says more; the next transaction tries again.
  }
}

/** The first column of the first row. */
export function pragma(db: DatabaseSync, sql: string): unknown {
  const row = db.prepare(sql).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

function requireSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [i, least] of OLDEST_SQLITE.entries()) {
    const part = parts[i] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new StorageError(
        'unavailable',
        `this Node.js carries SQLite ${version}, which can corrupt a database; ` +
          `use one with SQLite ${OLDEST_SQLITE.join('.')} or newer`,
      );
    }
  }
}

const pidFile = (file: string): string => `${file}.pid`;

/** For the sentence that a second process prints, and for nothing else: the lock is what excludes it. */
function writePid(file: string): void {
  try {
    writeFileSync(pidFile(file), `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // A full disk must not keep a store from opening that can still be read.
  }
}

/** To be called while the lock is still held, or it would remove the successor's. */
export function removePid(file: string): void {
  rmSync(pidFile(file), { force: true });
}

function inUse(file: string): StorageError {
  const pid = readPid(file);
  const who =
    pid === process.pid ? 'this process already' : `another process${pid === undefined ? '' : ` (pid ${pid})`}`;
  return new StorageError('in-use', `${file} is in use by ${who}: stop it, or choose another --data-dir / --store`);
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile(file), 'utf8').trim());
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}
