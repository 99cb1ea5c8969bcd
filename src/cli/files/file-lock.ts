import { rmSync } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { pause } from '../../lib/backoff.ts';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { CliError, type Output } from '../command.ts';

interface LockOptions<T> {
  /** How long to wait for the lock before failing. */
  readonly waitMs?: number;
  /** Ends the wait, too. */
  readonly signal?: AbortSignal | undefined;
  /** What another process may have made: a result is returned in place of that of the task, without the lock too. */
  readonly read?: () => Promise<T | undefined>;
  /** Gets one message if the wait is longer than `noticeAfterMs`. */
  readonly err: Pick<Output, 'write'>;
  readonly noticeAfterMs?: number;
}

const WAIT_MS = 10_000;
const POLL_MS = 50;
const NOTICE_AFTER_MS = 1_000;
const STALE_MS = 120_000;

/**
 * Runs a task while holding a lock between processes, also of several machines with the same home directory. The lock
 * is the file `<path>.lock`, as for kubectl, so that kubectl and this program exclude each other.
 */
export async function withLock<T>(path: string, options: LockOptions<T>, task: () => Promise<T>): Promise<T> {
  const { waitMs = WAIT_MS, noticeAfterMs = NOTICE_AFTER_MS, signal, read, err } = options;
  const lock = `${path}.lock`;
  const start = performance.now();
  let isNoticed = false;
  while (!(await acquire(lock))) {
    const found = await read?.();
    if (found !== undefined) return found;
    if (await removeStale(lock)) continue;
    const waited = performance.now() - start;
    if (waited > waitMs || signal?.aborted === true) {
      throw new CliError(`${path} is locked by another process; if none is running, remove ${lock}`);
    }
    if (!isNoticed && waited > noticeAfterMs) {
      isNoticed = true;
      err.write(`Waiting for another process that has locked ${path}...\n`);
    }
    await pause(POLL_MS);
  }
  const release = releaseAtExit(lock);
  try {
    return (await read?.()) ?? (await task());
  } finally {
    release();
  }
}

async function acquire(lock: string): Promise<boolean> {
  const failed = (error: unknown): never => {
    throw new CliError(`cannot create ${lock}: ${fileProblem(error)}`);
  };
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 }).catch(failed);
  try {
    await writeFile(lock, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    return codeOf(error) === 'EEXIST' ? false : failed(error);
  }
}

/** Longer than any task takes: its process was killed. A lock of kubectl has no permissions, and stays. */
async function removeStale(lock: string): Promise<boolean> {
  const { mode, mtimeMs } = await stat(lock).catch(() => ({ mode: 0, mtimeMs: 0 }));
  const isStale = (mode & 0o777) !== 0 && mtimeMs + STALE_MS < Date.now();
  if (isStale) await rm(lock, { force: true });
  return isStale;
}

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Returns a function that removes the lock. An interrupt in between must not leave it. */
function releaseAtExit(lock: string): () => void {
  const remove = (): void => rmSync(lock, { force: true });
  const interrupted = SIGNALS.filter((name) => process.listenerCount(name) === 0);
  const end = (name: (typeof SIGNALS)[number]) => process.exit(128 + constants.signals[name]);
  process.once('exit', remove);
  for (const name of interrupted) process.once(name, end);
  return () => {
    remove();
    process.off('exit', remove);
    for (const name of interrupted) process.off(name, end);
  };
}
