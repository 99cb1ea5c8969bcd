/** What must be true of the files of a database before SQLite opens them. */
import { closeSync, openSync, readSync, realpathSync, type StatsFs, statfsSync, statSync } from 'node:fs';
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

interface Found {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** The user and the groups of a process. */
interface Identity {
  readonly uid: number;
  readonly groups: readonly number[];
}

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');

/** A group of this process is allowed: a volume of Kubernetes can be written by its `fsGroup`. */
const isOfOurGroup = ({ gid }: Found, { uid, groups }: Identity): boolean => uid === 0 || groups.includes(gid);

const isWritableByOthers = (found: Found, self: Identity): boolean =>
  (found.mode & 0o002) !== 0 || ((found.mode & 0o020) !== 0 && !isOfOurGroup(found, self));

/**
 * What is wrong with the mode of the directory of a database. Only a directory of our own is judged: some volumes of
 * Kubernetes belong to root and can be written by every user, and a process that is not root could not change that.
 * In a directory with the sticky bit, such as /tmp, others cannot replace our files.
 */
export function directoryProblem(path: string, found: Found, self: Identity): string | undefined {
  if (found.uid !== self.uid || (found.mode & 0o1000) !== 0 || !isWritableByOthers(found, self)) return undefined;
  return `other users can replace files in ${path} (mode ${octal(found.mode)}), which holds the database: chmod 700 ${path}`;
}

/**
 * What is wrong with the owner or the mode of a file of a database. A file that our group can write may belong to
 * another user: the uid of a Pod can change, its `fsGroup` stays. Root works on the databases of other users.
 */
export function fileProblem(path: string, found: Found, self: Identity): string | undefined {
  const isShared = (found.mode & 0o060) === 0o060 && isOfOurGroup(found, self);
  if (self.uid !== 0 && ![self.uid, 0].includes(found.uid) && !isShared) {
    return `${path} belongs to another user (uid ${found.uid}): chown ${self.uid} ${path}`;
  }
  if (!isWritableByOthers(found, self)) return undefined;
  return `${path} can be written by other users (mode ${octal(found.mode)}): chmod 600 ${path}`;
}

/**
 * Rejects a database that other users can change or replace. SQLite reads its write-ahead log and its journal too, so
 * the same holds for these.
 */
export function requireOwnFiles(file: string): void {
  const uid = process.geteuid?.();
  if (uid === undefined) return;
  const self = { uid, groups: [...(process.getgroups?.() ?? []), process.getegid?.() ?? uid] };
  const found = (path: string): Found | undefined => statSync(path, { throwIfNoEntry: false });
  // SQLite follows a symbolic link, and its other files are where it leads to.
  const database = found(file) === undefined ? file : realpathSync(file);
  const folder = dirname(database);
  const directory = found(folder);
  const problems = [directory && directoryProblem(folder, directory, self)];
  for (const path of [database, `${database}-wal`, `${database}-journal`]) {
    const stats = found(path);
    if (stats !== undefined) problems.push(fileProblem(path, stats, self));
  }
  const problem = problems.find((text) => text !== undefined);
  if (problem !== undefined) throw new StorageError('refused', problem);
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
