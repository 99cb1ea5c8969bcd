import { StorageError } from '../contract.ts';

/** Primary result codes, https://sqlite.org/rescode.html */
const BUSY = 5;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;

/** The primary result code of an error thrown by node:sqlite, or undefined for any other error. */
function sqliteCode(error: unknown): number | undefined {
  if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number') {
    // An extended code has the primary code in its lowest byte.
    return error.errcode & 0xff;
  }
  return undefined;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/**
 * Damage is `unreadable`, because waiting does not help. A full disk, a read-only file system or an I/O error is
 * `unavailable`: the caller may try again.
 */
export function toStorageError(error: unknown, file: string): StorageError {
  if (error instanceof StorageError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = sqliteCode(error);
  if (code === CORRUPT || code === NOTADB) {
    return new StorageError('unreadable', `${file} is damaged: ${message}`, { cause: error });
  }
  const advice = ADVICE.get(code);
  return new StorageError('unavailable', `${file}: ${message}${advice === undefined ? '' : `: ${advice}`}`, {
    cause: error,
  });
}

/** What an operator can do. */
const ADVICE: ReadonlyMap<number | undefined, string> = new Map([
  [FULL, 'make room on the disk, or choose another --data-dir / --store'],
  [IOERR, 'check the disk, its free space and its quota, or choose another --data-dir / --store'],
]);
