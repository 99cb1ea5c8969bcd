import type { DatabaseSync } from 'node:sqlite';
import { futureError, type Revision, StorageError } from '../contract.ts';
import { inTransaction, pragma } from './database.ts';

/** Limits of one step, of a few milliseconds: rows to sweep, and pages to free. */
const SWEEP_ROWS = 1000;
const VACUUM_PAGES = 64;

/**
 * Compaction in small steps, each its own transaction, so that writes go in between.
 *
 * `begin` records the new oldest revision: from then on reads of older ones fail with `compacted`. `sweep` removes the
 * rows that no read can reach. It may be interrupted after any step, and continues from there.
 */
export class Sweeper {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  begin(revision: Revision, newest: Revision): void {
    if (revision > newest) throw futureError(revision);
    this.#db.prepare("UPDATE meta SET value = max(value, ?) WHERE name = 'oldest'").run(revision);
  }

  /**
   * The rows up to `swept` hold at most one row for each key and no tombstone. One step advances `swept`: each row that
   * it passes makes the previous row of the same key removable, and a tombstone is itself removable. Because it goes
   * upwards, no tombstone is removed before the rows that it hides: a deleted key stays deleted.
   */
  sweep(): boolean {
    const swept = this.#meta('swept');
    const oldest = this.#meta('oldest');
    if (swept >= oldest) return false;
    // By rows: revisions that continue after those of another store leave a gap of any size.
    const last = this.#db
      .prepare('SELECT revision FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT 1 OFFSET ?')
      .get(swept, oldest, SWEEP_ROWS - 1) as { revision: Revision } | undefined;
    const end = last?.revision ?? oldest;
    inTransaction(this.#db, () => {
      this.#db
        .prepare(`
          DELETE FROM log WHERE revision IN (
            SELECT (SELECT max(revision) FROM log AS older WHERE older.key = newer.key AND older.revision < newer.revision)
            FROM log AS newer WHERE newer.revision > ? AND newer.revision <= ?)`)
        .run(swept, end);
      this.#db.prepare('DELETE FROM log WHERE revision > ? AND revision <= ? AND value IS NULL').run(swept, end);
      this.#db.prepare("UPDATE meta SET value = ? WHERE name = 'swept'").run(end);
    });
    return end < oldest;
  }

  /** Moves free pages to the end of the file and cuts them off. */
  vacuum(): boolean {
    const before = Number(pragma(this.#db, 'PRAGMA freelist_count'));
    if (before === 0) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
    const after = Number(pragma(this.#db, 'PRAGMA freelist_count'));
    return after > 0 && after < before;
  }

  /** The database file shrinks only when the WAL is copied into it. */
  checkpoint(): void {
    const row = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number } | undefined;
    if (row?.busy !== 0) throw new StorageError('unavailable', 'the write-ahead log could not be emptied');
  }

  #meta(name: 'oldest' | 'swept'): Revision {
    const row = this.#db.prepare('SELECT value FROM meta WHERE name = ?').get(name) as { value: number } | undefined;
    if (row === undefined) throw new StorageError('unreadable', 'the database has lost its compaction state');
    return row.value;
  }
}
