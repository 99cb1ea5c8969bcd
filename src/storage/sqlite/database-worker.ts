/** The entry of the thread that owns the database, so that an fsync never blocks the event loop. */
import { statSync } from 'node:fs';
import { type Rpc, serveStarter, Transferred } from '../../lib/worker-rpc.ts';
import { StorageError } from '../contract.ts';
import { STORAGE_ERRORS, serializeError } from '../serialize-error.ts';
import { BackupSocket } from './backup-socket.ts';
import { continueBackup, openDatabase } from './database.ts';
import type {
  DatabaseMethods,
  DatabaseSettings,
  RowsResult,
  StoreMethods,
  WriteRequest,
  Written,
} from './database-methods.ts';
import { LogTable } from './log-table.ts';
import { toStorageError, toWriteError } from './sqlite-errors.ts';
import { Sweeper } from './sweeper.ts';

function open({ file, ...settings }: DatabaseSettings, store: Rpc<StoreMethods>): DatabaseMethods {
  const db = openDatabase(file, settings);
  if (settings.restoresBackup) continueBackup(db, Date.now());
  const log = new LogTable(db);
  const sweeper = new Sweeper(db);
  const backups = new BackupSocket(db, file, (error) => store.tell('noBackups', error.message));
  let { revision } = log;

  const { ino } = statSync(file);
  /**
   * SQLite keeps writing to a file that was unlinked, and the next start would not find the data. Checked by name
   * once for each request: opening the file would drop the lock.
   */
  function requireFile(): void {
    if (statSync(file, { throwIfNoEntry: false })?.ino === ino) return;
    throw new StorageError(
      'unavailable',
      `${file} was removed or replaced while it was in use: put it back, or restart`,
    );
  }

  /** A call that is not a write. */
  function withFile<I extends unknown[], O>(act: (...input: I) => O): (...input: I) => O {
    return (...input) => {
      try {
        requireFile();
        return act(...input);
      } catch (error) {
        throw toStorageError(error, file);
      }
    };
  }
  const rows = (result: RowsResult): Transferred<RowsResult> => new Transferred(result, [result.rows.values.buffer]);

  return {
    open: () => revision,
    write({ writes, values }): Written {
      try {
        requireFile();
        const outcomes = log.append(JSON.parse(writes) as WriteRequest[], values);
        revision = log.revision;
        return { outcomes, revision };
      } catch (error) {
        const before = revision;
        let isRolledBack = false;
        try {
          revision = log.revision;
          isRolledBack = revision === before;
        } catch {
          // The disk fails reads as well. The next request tries again.
        }
        return { error: serializeError(toWriteError(error, file, { isRolledBack })), revision };
      }
    },
    get: withFile(({ key, revision: at }) => rows(log.get(key, at))),
    list: withFile((request) => rows(log.list(request))),
    changes: withFile(({ prefix, after }) => rows(log.changes(prefix, after))),
    compactBegin: withFile((at) => {
      sweeper.begin(at, log.revision);
      return log.oldest;
    }),
    compactSweep: withFile(() => sweeper.sweep()),
    compactVacuum: withFile(() => sweeper.vacuum()),
    compactCheckpoint: withFile(() => sweeper.checkpoint()),
    async close() {
      // A backup reads the database in another thread. It must have ended before the database is closed.
      await backups.close();
      db.close();
    },
  };
}

serveStarter<DatabaseSettings, StoreMethods>(
  (settings, store) => {
    try {
      return open(settings, store);
    } catch (error) {
      const refused = toStorageError(error, settings.file);
      return {
        open() {
          throw refused;
        },
      };
    }
  },
  // At once: a long list must not delay the acknowledgement of a committed write.
  { schedule: (flush) => flush(), errors: STORAGE_ERRORS },
);
