/** What must be true of the files of a database before SQLite opens them. */
import { closeSync, openSync, readSync, type StatsFs, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageError } from '../contract.ts';

/** Network file systems, by their magic numbers in Linux (statfs(2)). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
]);

/**
 * B19: a file lock excludes a second process, and an fsync makes a write durable. Neither is reliable over a network
 * (https://sqlite.org/wal.html: "does not work over a network filesystem").
 */
export function requireLocalDisk(file: string, statfs: (path: string) => Pick<StatsFs, 'type'> = statfsSync): void {
  let type: number;
  try {
    type = statfs(dirname(file)).type >>> 0;
  } catch {
    // Opening the file gives a better error.
    return;
  }
  const name = NETWORK_FILE_SYSTEMS.get(type);
  if (name === undefined) return;
  throw new StorageError(
    'unavailable',
    `${file} is on a network file system (${name}): put --data-dir on a disk of this machine, or use etcd (--store)`,
  );
}

/** An empty file is a failed copy: a new database is linked when it is complete. */
export function requireContent(file: string): void {
  if (statSync(file).size > 0) return;
  throw new StorageError(
    'unreadable',
    `${file} is empty, as a failed copy leaves it: restore a backup, or remove the file to begin with a new store`,
  );
}

/** https://sqlite.org/fileformat.html#file_format_version_numbers: the first byte of two, and its value for no WAL. */
const WRITE_VERSION_OFFSET = 18;
const WITHOUT_LOG = 1;

/**
 * Rejects a backup beside the write-ahead log of another database: SQLite would replace the pages of the backup with
 * those of the log. A backup has no log (`markBackup`), and a database gets one only after its header says so.
 *
 * POSIX drops all locks of a process on a file when the process closes any descriptor of it, and this process may have
 * the database open already. So the descriptor stays open; the function that is returned closes it.
 */
export function requireOwnLog(file: string): (() => void) | undefined {
  const log = `${file}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  const descriptor = openSync(file, 'r');
  const release = (): void => closeSync(descriptor);
  const version = Buffer.alloc(1);
  readSync(descriptor, version, 0, 1, WRITE_VERSION_OFFSET);
  if (version[0] !== WITHOUT_LOG) return release;
  release();
  throw new StorageError(
    'unreadable',
    `${log} belongs to another database than ${file}, which is a backup: move ${log} away`,
  );
}
