import { StorageError } from '../contract.ts';

/** Primary result codes, https://sqlite.org/rescode.html */
const BUSY = 5;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;
/** An extended code: the write-ahead log was written, and fsync failed. */
const IOERR_FSYNC = 1034;

/** The extended result code of an error thrown by node:sqlite, or undefined for any other error. */
const extendedCode = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;

/** An extended code has the primary code in its lowest byte. */
function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
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

/**
 * The error of a transaction. After a failed fsync its commit may be in the write-ahead log, from which SQLite restores
 * it after a crash, also when the transaction was rolled back.
 */
export function toWriteError(
  error: unknown,
  file: string,
  { isRolledBack }: { readonly isRolledBack: boolean },
): StorageError {
  const failure = toStorageError(error, file);
  if (failure.code !== 'unavailable' || (isRolledBack && extendedCode(error) !== IOERR_FSYNC)) return failure;
  return new StorageError('unknown-outcome', failure.message, { cause: error });
}

/** What an operator can do. */
const ADVICE: ReadonlyMap<number | undefined, string> = new Map([
  [CANTOPEN, 'it and its folder must be readable and writable for the user of this process'],
  [FULL, 'make room on the disk, or choose another --data-dir / --store'],
  [IOERR, 'check the disk, its free space and its quota, or choose another --data-dir / --store'],
]);
