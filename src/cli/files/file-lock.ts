import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { CliError, type Output } from '../command.ts';

interface LockOptions {
  /** How long to wait for the lock before failing. */
  readonly waitMs: number;
  /** Ends the wait, too. */
  readonly signal?: AbortSignal | undefined;
  /** Called while waiting; true ends the wait without the lock. */
  readonly done?: () => Promise<boolean>;
  /** Gets one message if the wait is longer than `noticeAfterMs`. */
  readonly err: Pick<Output, 'write'>;
  readonly noticeAfterMs?: number;
}

const POLL_MS = 50;
const NOTICE_AFTER_MS = 1_000;

/**
 * Runs a task while holding a lock between processes. The lock is the file `<path>.lock`, created as kubectl creates
 * the lock of a kubeconfig, so that kubectl and this program exclude each other. Returns undefined when `done` ended
 * the wait.
 */
export async function withLock<T>(path: string, options: LockOptions, task: () => Promise<T>): Promise<T | undefined> {
  const lock = `${path}.lock`;
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new CliError(`cannot create ${dirname(lock)}: ${fileProblem(error)}`);
  });
  const owner = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const start = performance.now();
  let noticed = false;
  while (!(await acquire(lock, owner))) {
    if ((await options.done?.()) === true) return undefined;
    if (await removeStale(lock, owner)) continue;
    const waited = performance.now() - start;
    if (waited > options.waitMs || options.signal?.aborted === true) {
      throw new CliError(`${path} is locked by another process; if none is running, remove ${await lockFiles(lock)}`);
    }
    if (!noticed && waited > (options.noticeAfterMs ?? NOTICE_AFTER_MS)) {
      noticed = true;
      options.err.write(`Waiting for another process that has locked ${path}...\n`);
    }
    await delay(POLL_MS);
  }
  try {
    return await task();
  } finally {
    if ((await ownerOf(lock)) === owner) await rm(lock, { force: true });
  }
}

/** Held while a stale lock is removed. */
const takeoverOf = (lock: string): string => `${lock}.takeover`;

/** The files that the user has to remove. The takeover file remains if a process was killed during a takeover. */
async function lockFiles(lock: string): Promise<string> {
  return (await ownerOf(takeoverOf(lock))) === undefined ? lock : `${lock} and ${takeoverOf(lock)}`;
}

async function acquire(lock: string, owner: string): Promise<boolean> {
  try {
    const handle = await open(lock, 'wx', 0o600);
    try {
      await handle.writeFile(owner);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw new CliError(`cannot create ${lock}: ${fileProblem(error)}`);
  }
}

/** The content of a lock; undefined when it is gone or unreadable (kubectl creates its lock with mode 0). */
async function ownerOf(lock: string): Promise<string | undefined> {
  try {
    return await readFile(lock, 'utf8');
  } catch {
    return undefined;
  }
}

/** Removes the lock of a process that no longer runs. Returns true if the lock may be free now. */
async function removeStale(lock: string, owner: string): Promise<boolean> {
  const found = await ownerOf(lock);
  const pid = Number(/^(\d{1,10}) [0-9a-f]{16}$/.exec(found ?? '')?.[1] ?? Number.NaN);
  if (!Number.isInteger(pid) || isRunning(pid)) return false;
  // Two processes may find the same stale lock. The second must not remove the lock that the first then acquires. So
  // one process at a time removes it, after reading it again.
  const takeover = takeoverOf(lock);
  if (!(await acquire(takeover, owner))) return false;
  try {
    if ((await ownerOf(lock)) === found) await rm(lock, { force: true });
  } finally {
    await rm(takeover, { force: true });
  }
  return true;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
