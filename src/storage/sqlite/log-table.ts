import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  compactedError,
  type Expectation,
  futureError,
  type Guard,
  type KeyValue,
  type Revision,
  StorageError,
} from '../contract.ts';
import { prefixEnd } from '../scan.ts';
import { inTransaction } from './database.ts';
import {
  type ListCall,
  NO_VALUE,
  packValues,
  type Rows,
  type RowsResult,
  type WriteOutcomes,
  type WriteRequest,
} from './database-methods.ts';

/** Limits of one page of the log, for a watch that catches up. */
const CHANGES_ROWS = 1000;
const CHANGES_BYTES = 4 * 1024 * 1024;
const CHANGES_REVISIONS = 20_000;

interface Head {
  readonly revision: Revision;
  readonly created: Revision;
  readonly gone: number;
}

interface Row {
  readonly revision: Revision;
  readonly key: string;
  readonly created: Revision;
  readonly value: Uint8Array | null;
}

/**
 * Reads and appends to the log. Only this thread has the database open and its methods are synchronous, so each method
 * reads one state: that of `revision`.
 */
export class LogTable {
  readonly #db: DatabaseSync;
  readonly #head: StatementSync;
  readonly #at: StatementSync;
  readonly #list: StatementSync;
  readonly #changes: StatementSync;
  readonly #insert: StatementSync;
  readonly #sequence: StatementSync;
  readonly #oldest: StatementSync;
  #revision: Revision | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#head = db.prepare(
      'SELECT revision, created, value IS NULL AS gone FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1',
    );
    this.#at = db.prepare(
      'SELECT revision, key, created, value FROM log WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1',
    );
    // Beside a single max(), SQLite promises to take the other columns from the row that has the maximum:
    // https://sqlite.org/lang_select.html#bareagg. The index has the order of the result, so nothing is sorted and
    // reading stops at the limit. Text is compared by its UTF-8 bytes, also by the max() of two values.
    this.#list = db.prepare(`
      SELECT max(revision) AS revision, key, created, value FROM log
      WHERE key >= max(:prefix, :after) AND key < :end AND key > :after AND revision <= :revision
      GROUP BY key HAVING value IS NOT NULL ORDER BY key`);
    // NOT INDEXED: a scan by revision. The planner must not choose the index on key.
    this.#changes = db.prepare(`
      SELECT revision, key, created, value FROM log NOT INDEXED
      WHERE revision > :after AND revision <= :end AND key >= :prefix AND key < :prefixEnd
      ORDER BY revision`);
    this.#insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
    this.#sequence = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'log'");
    this.#oldest = db.prepare("SELECT value FROM meta WHERE name = 'oldest'");
  }

  get revision(): Revision {
    if (this.#revision === undefined) {
      const row = this.#sequence.get() as { seq: number } | undefined;
      if (row === undefined) throw new StorageError('unreadable', 'the database has lost its revision counter');
      this.#revision = row.seq;
    }
    return this.#revision;
  }

  get oldest(): Revision {
    const row = this.#oldest.get() as { value: number } | undefined;
    if (row === undefined) throw new StorageError('unreadable', 'the database has lost its compaction state');
    return row.value;
  }

  /** All writes in one transaction, so with one fsync. A write whose expectation fails has no effect. */
  append(writes: readonly WriteRequest[], values: Uint8Array): WriteOutcomes {
    const outcomes: WriteOutcomes = { revisions: [], created: [], failures: new Map() };
    let revision = this.revision;
    let offset = 0;
    // Read from the database again unless the commit succeeds.
    this.#revision = undefined;
    // Revisions are assigned inside the transaction, under the write lock, so their order is the order of commits.
    inTransaction(this.#db, () => {
      for (const [index, write] of writes.entries()) {
        const value = write.size === NO_VALUE ? null : values.subarray(offset, offset + write.size);
        offset += value === null ? 0 : write.size;
        const head = this.#headOf(write.key);
        const failed = holds(write.expect, head) ? this.#failedGuard(write.guards, revision) : write;
        if (failed !== undefined) {
          outcomes.failures.set(index, { failedKey: failed.key, current: this.#found(failed, revision), revision });
          outcomes.revisions.push(0);
          outcomes.created.push(0);
          continue;
        }
        revision += 1;
        const created = head?.created ?? revision;
        this.#insert.run(revision, write.key, created, value);
        outcomes.revisions.push(revision);
        outcomes.created.push(created);
      }
    });
    this.#revision = revision;
    return outcomes;
  }

  get(key: string, at: Revision | undefined): RowsResult {
    const revision = this.#readable(at);
    const found = this.#read(key, revision);
    const rows = new RowBlock();
    if (found !== undefined) rows.add({ ...found, revision: found.modRevision, created: found.createRevision });
    return { rows: rows.finish(), revision, more: false };
  }

  list(request: ListCall): RowsResult {
    const revision = this.#readable(request.revision);
    const { limit } = request;
    const rows = new RowBlock();
    const found = this.#list.iterate({
      prefix: request.prefix,
      end: prefixEnd(request.prefix),
      after: request.after ?? '',
      revision,
    });
    for (const row of found) {
      if (rows.length === limit) return { rows: rows.finish(), revision, more: true };
      rows.add(row as unknown as Row);
    }
    return { rows: rows.finish(), revision, more: false };
  }

  /** The next changes after a revision; complete up to the returned revision. */
  changes(prefix: string, after: Revision): RowsResult {
    const { oldest } = this;
    if (oldest > 1 && after < oldest) throw compactedError(after);
    const newest = this.revision;
    const end = Math.min(newest, after + CHANGES_REVISIONS);
    const rows = new RowBlock();
    const found = this.#changes.iterate({ after, end, prefix, prefixEnd: prefixEnd(prefix) });
    for (const row of found) {
      const { revision } = row as unknown as Row;
      rows.add(row as unknown as Row);
      if (rows.length >= CHANGES_ROWS || rows.bytes >= CHANGES_BYTES) {
        return { rows: rows.finish(), revision, more: revision < newest };
      }
    }
    return { rows: rows.finish(), revision: end, more: end < newest };
  }

  #readable(at: Revision | undefined): Revision {
    if (at === undefined) return this.revision;
    if (at > this.revision) throw futureError(at);
    const { oldest } = this;
    if (at < oldest) throw compactedError(at);
    return at;
  }

  #read(key: string, revision: Revision): KeyValue | undefined {
    const row = this.#at.get(key, revision) as unknown as Row | undefined;
    if (row === undefined || row.value === null) return undefined;
    return { key: row.key, value: row.value, modRevision: row.revision, createRevision: row.created };
  }

  #headOf(key: string): Head | undefined {
    const head = this.#head.get(key) as unknown as Head | undefined;
    // A deleted key is absent, whether or not its tombstone has been compacted.
    return head === undefined || head.gone === 1 ? undefined : head;
  }

  #failedGuard(guards: readonly Guard[] | undefined, revision: Revision): Guard | undefined {
    return guards?.find(({ key, expect }) =>
      'empty' in expect ? this.#first(key, revision) !== undefined : !holds(expect, this.#headOf(key)),
    );
  }

  #found({ key, expect }: Guard, revision: Revision): KeyValue | undefined {
    return 'empty' in expect ? this.#first(key, revision) : this.#read(key, revision);
  }

  #first(prefix: string, revision: Revision): KeyValue | undefined {
    for (const row of this.#list.iterate({ prefix, end: prefixEnd(prefix), after: '', revision })) {
      const { key, value, created, revision: modRevision } = row as unknown as Row & { value: Uint8Array };
      return { key, value, modRevision, createRevision: created };
    }
    return undefined;
  }
}

function holds(expect: Expectation, head: Head | undefined): boolean {
  if ('absent' in expect) return head === undefined;
  if ('modRevision' in expect) return head?.revision === expect.modRevision;
  return head?.created === expect.createRevision;
}

/** Collects rows in columns. */
class RowBlock {
  readonly #rows: Omit<Rows, 'values'> = { keys: [], revisions: [], created: [], sizes: [] };
  readonly #values: Uint8Array[] = [];
  bytes = 0;

  get length(): number {
    return this.#rows.keys.length;
  }

  add(row: Row): void {
    this.#rows.keys.push(row.key);
    this.#rows.revisions.push(row.revision);
    this.#rows.created.push(row.created);
    this.#rows.sizes.push(row.value === null ? NO_VALUE : row.value.byteLength);
    if (row.value === null) return;
    this.#values.push(row.value);
    this.bytes += row.value.byteLength;
  }

  finish(): Rows {
    return { ...this.#rows, values: packValues(this.#values) };
  }
}
