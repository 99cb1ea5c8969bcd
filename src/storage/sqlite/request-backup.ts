import { randomBytes } from 'node:crypto';
import { copyFile, lstat, open, rename, rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type Revision, StorageError } from '../contract.ts';
import { type BackupAnswer, backupPrefix, backupSocketAddress, backupSocketPath } from './backup-socket.ts';
import { pragma } from './database.ts';

/**
 * Asks the process that has the database open for a backup, and copies it to `target`, a file of mode 0600 that must
 * not exist. The file has this name when it is complete and checked. Resolves with the revision of the backup, or with
 * undefined if no process has the database open.
 */
export async function requestBackup(file: string, target: string): Promise<Revision | undefined> {
  const socket = await connect(file);
  if (socket === undefined) return undefined;
  const partial = `${target}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    // Before the backup is made: a target that cannot be written is reported at once.
    await requireAbsent(target);
    await (await open(partial, 'wx', 0o600)).close();
    await copyFile(await receive(socket, file), partial);
    const copy = await open(partial, 'r+');
    try {
      await copy.sync();
    } finally {
      await copy.close();
    }
    const revision = checkBackup(partial);
    await requireAbsent(target);
    await rename(partial, target);
    return revision;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    socket.destroy();
  }
}

async function requireAbsent(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (found === undefined) return;
  throw new StorageError('unavailable', `${path} exists already: choose another name, or remove it`);
}

/** Undefined when no process listens. */
async function connect(file: string): Promise<Socket | undefined> {
  const { path, release } = backupSocketAddress(file);
  return new Promise((done, reject) => {
    const socket = createConnection(path);
    socket.once('close', release);
    socket.once('connect', () => done(socket));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') done(undefined);
      else
        reject(
          new StorageError(
            'unavailable',
            `no backup: ${backupSocketPath(file)} cannot be connected to: ${error.message}`,
          ),
        );
    });
  });
}

async function receive(socket: Socket, file: string): Promise<string> {
  for await (const line of createInterface({ input: socket })) {
    const answer = JSON.parse(line) as BackupAnswer;
    if ('error' in answer) throw new StorageError('unavailable', `no backup: ${answer.error}`);
    if (!/^[0-9a-f]+$/.test(answer.name.slice(backupPrefix(file).length))) break;
    return join(dirname(resolve(file)), answer.name);
  }
  throw new StorageError('unavailable', 'no backup: the server stopped before the backup was complete');
}

/** Reads the whole file. `immutable`: SQLite then creates no file beside it. */
function checkBackup(target: string): Revision {
  const url = pathToFileURL(target);
  url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    const damage = String(pragma(db, 'PRAGMA integrity_check(1)'));
    if (damage !== 'ok') throw new StorageError('unreadable', `the backup is damaged: ${damage}`);
    return Number(pragma(db, "SELECT seq FROM sqlite_sequence WHERE name = 'log'"));
  } finally {
    db.close();
  }
}
