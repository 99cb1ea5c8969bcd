import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Expectation, type KeyValue, type Revision, StorageError } from '../contract.ts';
import { inTransaction } from './database.ts';
import {
  NO_VALUE,
  packValues,
  type WireOutcomes,
  type WireResult,
  type WireRows,
  type WireWrite,
} from './worker-protocol.ts';

/** How much of the log one step of a watcher that catches up reads at most, in rows, bytes and revisions. */
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
 * Reads and appends to the log. This thread is the only one that has the database, and each method runs to
 * its end without letting another begin, so what a method reads is one state: that of `revision`.
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
    // Beside a single max() SQLite takes the other columns from the row that has it, and promises so:
    // https://sqlite.org/lang_select.html#bareagg. The index is in the order of the result, so nothing is sorted
    // and the walk ends where the reader stops. Text is compared by its UTF-8 bytes, also by the max() of two.
    this.#list = db.prepare(`
      SELECT max(revision) AS revision, key, created, value FROM log
      WHERE key >= max(:prefix, :after) AND key < :end AND key > :after AND revision <= :revision
      GROUP BY key HAVING value IS NOT NULL ORDER BY key`);
    // NOT INDEXED: by revision, whatever the planner thinks of the index on key.
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

  /** All writes of the batch in one transaction and so with one fsync. A write whose expectation fails writes nothing. */
  append(writes: readonly WireWrite[], values: Uint8Array): WireOutcomes {
    const outcomes: WireOutcomes = { revisions: [], created: [], failures: new Map() };
    let revision = this.revision;
    let offset = 0;
    // Until the commit has succeeded, what the database holds is for the database to say.
    this.#revision = undefined;
    // The revision is given inside the transaction that holds the write lock, so the order of revisions
    // is the order of commits, and no reader can see a later one before an earlier one.
    inTransaction(this.#db, () => {
      for (const [index, write] of writes.entries()) {
        const value = write.size === NO_VALUE ? null : values.subarray(offset, offset + write.size);
        offset += value === null ? 0 : write.size;
        const head = this.#headOf(write.key);
        const failedKey = holds(write.expect, head) ? this.#failedGuard(write.guards) : write.key;
        if (failedKey !== undefined) {
          outcomes.failures.set(index, { failedKey, current: this.#read(failedKey, revision), revision });
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

  get(key: string, at: Revision | undefined): WireResult {
    const revision = this.#readable(at);
    const found = this.#read(key, revision);
    const rows = new RowBlock();
    if (found !== undefined) rows.add({ ...found, revision: found.modRevision, created: found.createRevision });
    return { rows: rows.finish(), revision, more: false };
  }

  list(request: {
    prefix: string;
    revision: Revision | undefined;
    after: string | undefined;
    limit: number | undefined;
  }): WireResult {
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

  /** The next changes after a revision; complete up to the revision that is returned. */
  changes(prefix: string, after: Revision): WireResult {
    const { oldest } = this;
    if (oldest > 1 && after < oldest) throw compacted(after, oldest);
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
    if (at > this.revision) {
      throw new StorageError('future', `revision ${at} has not happened yet: the store is at ${this.revision}`, {
        revision: this.revision,
      });
    }
    const { oldest } = this;
    if (at < oldest) throw compacted(at, oldest);
    return at;
  }

  #read(key: string, revision: Revision): KeyValue | undefined {
    const row = this.#at.get(key, revision) as unknown as Row | undefined;
    if (row === undefined || row.value === null) return undefined;
    return { key: row.key, value: row.value, modRevision: row.revision, createRevision: row.created };
  }

  #headOf(key: string): Head | undefined {
    const head = this.#head.get(key) as unknown as Head | undefined;
    // A deleted key is an absent key: whether its tombstone has been compacted must not make a difference.
    return head === undefined || head.gone === 1 ? undefined : head;
  }

  #failedGuard(guards: readonly { key: string; expect: Expectation }[] | undefined): string | undefined {
    return guards?.find(({ key, expect }) => !holds(expect, this.#headOf(key)))?.key;
  }
}

function holds(expect: Expectation, head: Head | undefined): boolean {
  if ('absent' in expect) return head === undefined;
  if ('modRevision' in expect) return head?.revision === expect.modRevision;
  return head?.created === expect.createRevision;
}

/** The smallest string greater than every key with the prefix: prefixes end in `/`, and `0` is the next byte. */
function prefixEnd(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

function compacted(asked: Revision, oldest: Revision): StorageError {
  return new StorageError('compacted', `revision ${asked} has been compacted: the oldest kept is ${oldest}`, {
    revision: oldest - 1,
  });
}

class RowBlock {
  readonly #rows: Omit<WireRows, 'values'> = { keys: [], revisions: [], created: [], sizes: [] };
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

  finish(): WireRows {
    return { ...this.#rows, values: packValues(this.#values) };
  }
}
