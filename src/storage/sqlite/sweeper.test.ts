import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCompactor } from '../compactor.ts';
import { openDatabase } from './database.ts';
import { LogTable } from './log-table.ts';
import { Sweeper } from './sweeper.ts';

/**
 * In the program no other connection can lock the file, because it is locked exclusively. These tests open it without
 * that lock and use a second connection.
 */
let directory: string;
let db: DatabaseSync;
let other: DatabaseSync;
let log: LogTable;
let sweeper: Sweeper;
const WRITES = 50;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'clusterpass-sweep-'));
  const file = join(directory, 'store.db');
  openDatabase(file).close();
  db = new DatabaseSync(file, { timeout: 0 });
  other = new DatabaseSync(file, { timeout: 0 });
  log = new LogTable(db);
  sweeper = new Sweeper(db);
  for (let i = 0; i < WRITES; i += 1) {
    const expect = i === 0 ? ({ absent: true } as const) : { modRevision: log.revision };
    log.append([{ key: '/a/x', size: 1, expect }], new Uint8Array(1));
  }
});
afterEach(() => {
  db.close();
  other.close();
});

const rows = (): unknown => Object.values(db.prepare('SELECT count(*) FROM log').get() ?? {})[0];

function compact(revision: number): void {
  sweeper.begin(revision, log.revision);
  while (sweeper.sweep());
  while (sweeper.vacuum());
  sweeper.checkpoint();
}

describe('B17: a database that is locked', () => {
  it('by a writer: the compaction fails, and the next one does its work too', async () => {
    const warnings: string[] = [];
    let now = 0;
    let wake: (() => void) | undefined;
    const rounds: number[] = [];
    const compactor = startCompactor({
      store: {
        revision: async () => log.revision,
        compact: async (revision) => compact(revision),
      },
      clock: {
        now: () => now,
        pause: (_, signal) =>
          new Promise((resolve) => {
            if (signal?.aborted) resolve();
            signal?.addEventListener('abort', () => resolve());
            wake = resolve;
            rounds.push(Number(rows()));
          }),
      },
      retainMs: 60_000,
      retainRevisions: 0,
      intervalMs: 60_000,
      logger: { warn: (fields, message) => warnings.push(`${message} ${String((fields as { err: unknown }).err)}`) },
    });
    const round = async (): Promise<void> => {
      const before = rounds.length;
      now += 60_000;
      wake?.();
      await expect.poll(() => rounds.length).toBe(before + 1);
    };
    await expect.poll(() => rounds).toEqual([WRITES]);
    other.exec('BEGIN IMMEDIATE');
    await round();
    expect(warnings).toEqual([expect.stringMatching(/tried again.*database is locked/)]);
    other.exec('ROLLBACK');
    await round();
    expect([rounds, warnings.length]).toEqual([[WRITES, WRITES, 1], 1]);
    await compactor.stop();
  });

  it('by a reader: rows are removed, the WAL is emptied by the next compaction', () => {
    other.exec('BEGIN');
    other.prepare('SELECT count(*) FROM log').get();
    expect(() => compact(log.revision)).toThrow('the write-ahead log could not be emptied');
    expect(rows()).toBe(1);
    other.exec('COMMIT');
    compact(log.revision);
    expect(rows()).toBe(1);
  });
});
