import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { codeOf } from '../../lib/file-problem.ts';
import { type Revision, StorageError } from '../contract.ts';
import { requireContent, requireLocalDisk, requireOwnFiles, requireOwnLog } from './database-files.ts';
import { isBusy, toStorageError } from './sqlite-errors.ts';

/** "CPas" in ASCII: identifies the database, also to file(1). */
const APPLICATION_ID = 0x43506173;
const SCHEMA_VERSION = 1;

/** Before 3.51.3 a reset of the WAL could corrupt the database: https://sqlite.org/wal.html#walresetbug */
const OLDEST_SQLITE = '3.51.3';

/**
 * For new databases; an existing one keeps its page size. Objects have one to three KiB, and with SQLite's default of
 * 4 KiB much of each page would stay unused.
 */
const PAGE_BYTES = 16 * 1024;

/** A commit that makes the WAL larger copies it into the database. */
const WAL_CHECKPOINT_BYTES = 16 * 1024 ** 2;

/**
 * Pages in SQLite's own cache. Enough for the pages that writes change. Reads happen at the start and for past states,
 * and find the others in the cache of the system: 32 MiB made no write faster.
 */
const CACHE_KIB = 8 * 1024;

/** A commit is on the disk when it is acknowledged. */
const DURABLE = 'PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;';

/**
 * `log` is the whole store: one row for each change, and the row's id is the change's revision. AUTOINCREMENT keeps the
 * highest id in sqlite_sequence, so that no revision is used twice, even when the newest rows have been removed. An
 * empty store is at revision 1, as in etcd: 0 means "any" to a Kubernetes client. `value` is NULL when the change
 * deleted the key. It is the last column, so that reading the others does not touch its overflow pages.
 *
 * In `meta`, `oldest` is the oldest readable revision, and `swept` the revision up to which unreadable rows have been
 * removed. They differ during a compaction, after one was interrupted, and after an import or a restore until the next
 * one. `backup` is in a backup until a server has opened it.
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

interface DatabaseOptions {
  readonly maxBytes?: number | undefined;
  /** Rejects a file that does not exist. Otherwise a new database is created. */
  readonly existing?: boolean;
  /** Makes a store of a backup. Otherwise a backup stays one. */
  readonly restoresBackup?: boolean;
}

/** Opens and locks the file. Throws StorageError. */
export function openDatabase(
  file: string,
  { maxBytes, existing = false, restoresBackup = false }: DatabaseOptions = {},
): DatabaseSync {
  let db: DatabaseSync | undefined;
  let release: (() => void) | undefined;
  try {
    requireLocalDisk(file);
    requireOwnFiles(file);
    if (!existing && statSync(file, { throwIfNoEntry: false }) === undefined) createDatabase(file);
    requireContent(file);
    release = requireOwnLog(file);
    // The timeout waits for a previous process that is just ending.
    db = new DatabaseSync(file, { timeout: 250, enableForeignKeyConstraints: false, defensive: true });
    prepareDatabase(db, file, restoresBackup);
    if (maxBytes !== undefined) limitSize(db, maxBytes);
    return db;
  } catch (error) {
    db?.close();
    if (isBusy(error)) {
      throw new StorageError(
        'in-use',
        `${file} is in use by another process: stop it, or choose another --data-dir / --store`,
      );
    }
    release?.();
    throw toStorageError(error, file);
  }
}

/** SQLite does not store the limit, so each opening sets it. It is never below the current size. */
function limitSize(db: DatabaseSync, maxBytes: number): void {
  pragma(db, `PRAGMA max_page_count = ${pagesIn(maxBytes, db)}`);
}

const pagesIn = (bytes: number, db: DatabaseSync): number =>
  Math.max(1, Math.floor(bytes / Number(pragma(db, 'PRAGMA page_size'))));

/**
 * The database is made under another name and then linked. A crash leaves no incomplete one, so an empty file is never
 * a new database. Mode 0600: the store holds credentials.
 */
function createDatabase(file: string): void {
  const created = `${file}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    closeSync(openSync(created, 'wx', 0o600));
    fillDatabase(created);
    // The link fails if another process was faster: that one's database is used.
    linkSync(created, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    for (const suffix of ['', '-wal', '-journal']) rmSync(`${created}${suffix}`, { force: true });
  }
}

function fillDatabase(file: string): void {
  const db = new DatabaseSync(file);
  try {
    requireSqlite(String(pragma(db, 'SELECT sqlite_version()')));
    // The first three set the layout of the file, so they come before the first page is written.
    db.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      ${DURABLE}
      BEGIN IMMEDIATE;
      ${SCHEMA}
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${SCHEMA_VERSION};
      COMMIT;
    `);
  } finally {
    db.close();
  }
}

function prepareDatabase(db: DatabaseSync, file: string, restoresBackup: boolean): void {
  requireSqlite(String(pragma(db, 'SELECT sqlite_version()')));

  // Held from the first access until the process ends, when the kernel releases it. With two owners each would assign
  // the same revisions. It must come before the first read of the file.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');

  const applicationId = Number(pragma(db, 'PRAGMA application_id'));
  const version = Number(pragma(db, 'PRAGMA user_version'));
  if (applicationId !== APPLICATION_ID) {
    throw new StorageError('unreadable', `${file} is not a Clusterpass database: choose another --data-dir / --store`);
  }
  if (version > SCHEMA_VERSION) {
    throw new StorageError(
      'unreadable',
      `${file} was written by a newer release (schema ${version}, this one knows ${SCHEMA_VERSION}): ` +
        'start that release again, or restore a backup made before the upgrade',
    );
  }

  const isKept = !restoresBackup && pragma(db, "SELECT 1 FROM meta WHERE name = 'backup'") !== undefined;
  const mode = isKept ? 'wal' : String(pragma(db, 'PRAGMA journal_mode = WAL'));
  if (mode !== 'wal') throw new StorageError('unavailable', `${file}: no write-ahead log here (journal mode ${mode})`);
  db.exec(`
    ${DURABLE}
    PRAGMA wal_autocheckpoint = ${pagesIn(WAL_CHECKPOINT_BYTES, db)};
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
  `);
  const damage = String(pragma(db, 'PRAGMA quick_check(1)'));
  if (damage !== 'ok') throw new StorageError('unreadable', `${file} is damaged: ${damage}`);
  // Fails now if the file is read-only, and not at the first write. It takes a write to find out, because SQLite begins
  // a transaction on a read-only file too. This one changes nothing.
  db.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${version}; ROLLBACK`);
}

/** Takes the write lock first, so that nothing changes between the reads and the writes of `work`. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  // After a disk error, the rollback of the last transaction may have failed too.
  if (db.isTransaction) db.exec('ROLLBACK');
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite rolls back by itself after some errors, e.g. a full disk.
    if (db.isTransaction) rollBack(db);
    throw error;
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // The original error is thrown; the next transaction rolls back again.
  }
}

/** The first column of the first row. */
export function pragma(db: DatabaseSync, sql: string): unknown {
  const row = db.prepare(sql).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

function requireSqlite(version: string): void {
  if (version.localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) >= 0) return;
  throw new StorageError(
    'unavailable',
    `this Node.js carries SQLite ${version}, which can corrupt a database; ` +
      `use one with SQLite ${OLDEST_SQLITE} or newer`,
  );
}

/**
 * Marks a copy of a database as a backup, and makes it a database without a write-ahead log, so that `requireOwnLog`
 * notices one that belongs to another database. It is not durable afterwards, and must be on a local disk.
 */
export function markBackup(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA synchronous = OFF;
      INSERT OR REPLACE INTO meta (name, value) VALUES ('backup', 1);
      PRAGMA journal_mode = DELETE;
    `);
  } finally {
    db.close();
  }
}

/**
 * The first server on a backup continues after all revisions that others have had since: the store that the backup is
 * from, and servers that were restored from the same file before. So it adds the time in milliseconds: since the other
 * started, it has made less than one write in each of them, on average. The history is unreadable, and clients from
 * before list again.
 */
export function continueBackup(db: DatabaseSync, now: number): void {
  inTransaction(db, () => {
    if (Number(db.prepare("DELETE FROM meta WHERE name = 'backup'").run().changes) === 0) return;
    db.prepare("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'log'").run(now);
    db.exec(FORGET_HISTORY);
  });
}

const FORGET_HISTORY =
  "UPDATE meta SET value = (SELECT seq FROM sqlite_sequence WHERE name = 'log') WHERE name = 'oldest'";

/**
 * Seeds the revision of a database: every later one is greater than this one, and those before the seed are
 * unreadable. No process may have the database open.
 */
export function seedSqliteRevision(file: string, revision: Revision): void {
  const db = openDatabase(file);
  try {
    inTransaction(db, () => {
      db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'log'").run(revision + 1);
      db.exec(FORGET_HISTORY);
    });
  } finally {
    db.close();
  }
}
