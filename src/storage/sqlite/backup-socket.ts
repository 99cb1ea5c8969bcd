import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { copyFile, lstat, open, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type Revision, StorageError } from '../contract.ts';
import { markBackup, pragma } from './database.ts';

/** One line of JSON, the only thing that the server says. `name` is a file beside the database. */
type BackupAnswer = { readonly name: string } | { readonly error: string };

const backupSocketPath = (file: string): string => `${file}.sock`;

const backupPrefix = (file: string): string => `${basename(file)}.backup-`;

/**
 * Pages of one step. A step holds the mutex of the connection, so a write waits for one step at most: with pages of
 * 16 KiB, the copy of one MiB.
 */
const STEP_PAGES = 64;
/** Disk space that a backup leaves free for the writes of the server. */
const RESERVE_BYTES = 64 * 1024 ** 2;

/**
 * Makes backups for other processes on this machine. The owner of the database has locked it exclusively, so no other
 * process can read it. A client connects to the socket beside the database, gets the name of a finished copy, copies
 * that file and disconnects; then the file is removed. The mode of the socket (0600) is the authentication: its peers
 * can read the database file anyway.
 */
export class BackupSocket {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #server: Server;
  #running: Promise<void> | undefined;
  #client: Socket | undefined;

  /**
   * The database must be locked by this process: files that an earlier process left are removed. Without the socket
   * there are no backups; the store works without it.
   */
  constructor(db: DatabaseSync, file: string, onError: (error: Error) => void) {
    this.#db = db;
    this.#file = file;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.on('error', onError);
    const path = backupSocketPath(file);
    attempt(() => {
      rmSync(path, { force: true });
      for (const name of readdirSync(dirname(file))) {
        if (name.startsWith(backupPrefix(file))) rmSync(join(dirname(file), name), { force: true });
      }
    });
    this.#server.listen(path, () => attempt(() => chmodSync(path, 0o600)));
  }

  /** Ends a running backup. The database may be closed afterwards. */
  async close(): Promise<void> {
    this.#server.close();
    this.#client?.destroy();
    await this.#running;
  }

  #accept(socket: Socket): void {
    // The client has left: `close` follows.
    socket.on('error', () => {});
    if (this.#running !== undefined) {
      refuse(socket, `another backup of ${this.#file} is running`);
      return;
    }
    this.#client = socket;
    this.#running = this.#serve(socket).finally(() => {
      this.#running = undefined;
      this.#client = undefined;
    });
  }

  async #serve(socket: Socket): Promise<void> {
    const left = new Promise((resolve) => socket.once('close', resolve));
    // Read, so that the end of the connection is noticed.
    socket.resume();
    const name = `${backupPrefix(this.#file)}${randomBytes(8).toString('hex')}`;
    const copy = join(dirname(this.#file), name);
    try {
      this.#requireSpace();
      await this.#copyTo(copy, socket);
      // Here and not by the client: SQLite cannot open a database on every file system to which a file can be copied.
      markBackup(copy);
      answer(socket, { name });
    } catch (error) {
      refuse(socket, error instanceof Error ? error.message : String(error));
    }
    await left;
    // A file that cannot be removed now is removed at the next start.
    attempt(() => {
      for (const path of [copy, `${copy}-journal`, `${copy}-wal`]) rmSync(path, { force: true });
    });
  }

  async #copyTo(copy: string, client: Socket): Promise<void> {
    const file = await open(copy, 'wx', 0o600);
    let flushing: Promise<void> | undefined;
    try {
      await backup(this.#db, copy, {
        rate: STEP_PAGES,
        progress: () => {
          // The only way to end a backup.
          if (client.destroyed) throw new Error('the client of the backup has disconnected');
          // SQLite flushes the copy at the end, and writes wait for that. This leaves it little to flush.
          flushing ??= file
            .datasync()
            .catch(() => {})
            .then(() => {
              flushing = undefined;
            });
        },
      });
    } finally {
      await flushing;
      await file.close();
    }
  }

  #requireSpace(): void {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    const bytes = Number(pragma(this.#db, 'PRAGMA page_count')) * Number(pragma(this.#db, 'PRAGMA page_size'));
    if (bavail * bsize >= bytes + RESERVE_BYTES) return;
    const mebibytes = Math.ceil((bytes + RESERVE_BYTES) / 1024 ** 2);
    throw new Error(`a backup needs ${mebibytes} MiB of free space in ${dirname(this.#file)}: make room there`);
  }
}

/** Ignores errors: an exception would end the thread of the store. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The file system refuses it.
  }
}

function answer(socket: Socket, message: BackupAnswer): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
}

/** Without waiting for the client, which may be stopped: its connection would keep the thread of the store alive. */
function refuse(socket: Socket, error: string): void {
  answer(socket, { error });
  socket.destroySoon();
}

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
  return new Promise((done, reject) => {
    const socket = createConnection(backupSocketPath(file));
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
