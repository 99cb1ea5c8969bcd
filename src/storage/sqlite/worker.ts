/** The thread that owns the database, so that an fsync never blocks the event loop. */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { StorageError } from '../contract.ts';
import { type SerializedError, serializeError } from '../serialize-error.ts';
import { BackupSocket } from './backup-socket.ts';
import { continueBackup, openDatabase, removePid } from './database.ts';
import { LogTable } from './log-table.ts';
import { toStorageError, toWriteError } from './sqlite-errors.ts';
import { Sweeper } from './sweeper.ts';
import type {
  Call,
  CallResult,
  WorkerMessage,
  WorkerRequest,
  WorkerSettings,
  WriteRequest,
} from './worker-protocol.ts';

const port = parentPort;
if (port === null) throw new Error('worker.ts is started by openSqliteStore');
const { file, maxBytes, existing, restoresBackup } = workerData as WorkerSettings;

function send(message: WorkerMessage, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

function toError(error: unknown): SerializedError {
  return serializeError(toStorageError(error, file));
}

function serve(): void {
  const db = openDatabase(file, { maxBytes, existing, restoresBackup });
  if (restoresBackup) continueBackup(db, Date.now());
  const log = new LogTable(db);
  const sweeper = new Sweeper(db);
  const backups = new BackupSocket(db, file, (error) => send({ type: 'no-backups', error: toError(error) }));

  let revision = log.revision;

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

  function write(request: WorkerRequest): void {
    try {
      requireFile();
      const outcomes = log.append(JSON.parse(request.writes) as WriteRequest[], request.values);
      revision = log.revision;
      send({ type: 'written', outcomes, error: undefined, revision });
    } catch (error) {
      const before = revision;
      let isRolledBack = false;
      try {
        revision = log.revision;
        isRolledBack = revision === before;
      } catch {
        // The disk fails reads as well. The next request tries again.
      }
      const failure = serializeError(toWriteError(error, file, { isRolledBack }));
      send({ type: 'written', outcomes: undefined, error: failure, revision });
    }
  }

  function answer(call: Call): CallResult {
    if (call.op !== 'close') requireFile();
    switch (call.op) {
      case 'get':
        return log.get(call.key, call.revision);
      case 'list':
        return log.list(call);
      case 'changes':
        return log.changes(call.prefix, call.after);
      case 'compact-begin':
        sweeper.begin(call.revision, log.revision);
        return { more: true, oldest: log.oldest };
      case 'compact-sweep':
        return { more: sweeper.sweep(), oldest: log.oldest };
      case 'compact-vacuum':
        return { more: sweeper.vacuum(), oldest: log.oldest };
      case 'compact-checkpoint':
        sweeper.checkpoint();
        return { more: false, oldest: log.oldest };
      case 'close':
        removePid(file);
        db.close();
        return { more: false, oldest: 0 };
    }
  }

  function answerAll(calls: readonly Call[]): void {
    const results = calls.map((call): CallResult => {
      try {
        return answer(call);
      } catch (error) {
        return { error: toError(error) };
      }
    });
    const transfer = results.flatMap((result) => ('rows' in result ? [result.rows.values.buffer] : []));
    send({ type: 'answered', results }, transfer);
  }

  port?.on('message', async (request: WorkerRequest) => {
    // Acknowledged before the calls run: a long list must not delay the acknowledgement of a committed write.
    if (request.writes !== '') write(request);
    if (request.calls.length === 0) return;
    if (!request.calls.some(({ op }) => op === 'close')) return answerAll(request.calls);
    // A backup reads the database in another thread. It must have ended before the database is closed.
    await backups.close();
    answerAll(request.calls);
    port?.close();
  });
  send({ type: 'opened', revision, oldest: log.oldest });
}

try {
  serve();
} catch (error) {
  send({ type: 'refused', error: toError(error) });
  port.close();
}
